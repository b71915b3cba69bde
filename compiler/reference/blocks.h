// Cutting a box of extents into blocks of bounded size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace coda {

/// Starts from the whole box and halves the longest side until `cost` of the block is within the budget.
inline std::vector<int64_t> plan_block(std::vector<int64_t> block, int64_t budget,
                                       const std::function<int64_t(const std::vector<int64_t>&)>& cost) {
  while (cost(block) > budget) {
    const auto longest = std::max_element(block.begin(), block.end());
    if (longest == block.end() || *longest <= 1) break;
    *longest = (*longest + 1) / 2;
  }
  return block;
}

/// Calls body(begin, lengths) for each block in row-major order; not at all if an extent is 0, once for no extents.
inline void for_each_block(
    const std::vector<int64_t>& extents, const std::vector<int64_t>& block,
    const std::function<void(const std::vector<int64_t>& begin, const std::vector<int64_t>& lengths)>& body) {
  int64_t count = 1;
  for (size_t i = 0; i < extents.size(); ++i) count *= extents[i] == 0 ? 0 : (extents[i] + block[i] - 1) / block[i];
  std::vector<int64_t> begin(extents.size()), lengths(extents.size());
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number;
    for (size_t i = extents.size(); i-- > 0;) {
      const int64_t along = (extents[i] + block[i] - 1) / block[i];
      begin[i] = rest % along * block[i];
      lengths[i] = std::min(block[i], extents[i] - begin[i]);
      rest /= along;
    }
    body(begin, lengths);
  }
}

}  // namespace coda
