// Where tensors with lifetimes lie in one piece of memory: those that live at different times share it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace coda {

struct ArenaTensor {
  int first = 0, last = 0;  ///< steps that use it, inclusive
  int64_t bytes = 0;        ///< a multiple of the alignment
  int64_t offset = 0;       ///< found by arrange()
};

/// Gives each tensor an offset, the largest first at the lowest place that is free while it lives. Returns the bytes of
/// the whole. The sum of all bytes must fit. `order` is scratch.
int64_t arrange(std::span<ArenaTensor> tensors, std::vector<int>& order);

}  // namespace coda
