#include "runtime/arena.h"

#include <algorithm>

namespace coda {

int64_t arrange(std::span<ArenaTensor> tensors, std::vector<int>& order) {
  order.clear();
  for (size_t i = 0; i < tensors.size(); ++i) order.push_back(static_cast<int>(i));
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const ArenaTensor &left = tensors[static_cast<size_t>(a)], &right = tensors[static_cast<size_t>(b)];
    return left.bytes != right.bytes ? left.bytes > right.bytes : a < b;
  });
  int64_t whole = 0;
  for (size_t placed = 0; placed < order.size(); ++placed) {
    ArenaTensor& tensor = tensors[static_cast<size_t>(order[placed])];
    tensor.offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < placed; ++i) {
        const ArenaTensor& other = tensors[static_cast<size_t>(order[i])];
        const bool together = other.first <= tensor.last && tensor.first <= other.last;
        const bool collide = tensor.offset < other.offset + other.bytes && other.offset < tensor.offset + tensor.bytes;
        if (!together || !collide) continue;
        tensor.offset = other.offset + other.bytes;  // only ever upwards, so this ends
        moved = true;
      }
    }
    whole = std::max(whole, tensor.offset + tensor.bytes);
  }
  return whole;
}

}  // namespace coda
