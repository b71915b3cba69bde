#include "runtime/change.h"

#include <algorithm>
#include <bit>

namespace coda {

Change change(const Argument& before, const Argument& now) {
  if (before.index() != now.index()) return Change::Form;
  if (const auto* a = std::get_if<TensorView>(&before)) {
    const auto& b = std::get<TensorView>(now);
    if (a->dtype != b.dtype || a->device != b.device || !(a->shape == b.shape) || !(a->strides == b.strides)) {
      return Change::Form;
    }
    return a->data == b.data ? Change::None : Change::Values;
  }
  bool same = true;
  if (const auto* real = std::get_if<double>(&before)) {  // by its bits: a NaN is itself, and -0 is not 0
    same = std::bit_cast<uint64_t>(*real) == std::bit_cast<uint64_t>(std::get<double>(now));
  }
  if (const auto* integer = std::get_if<int64_t>(&before)) same = *integer == std::get<int64_t>(now);
  return same ? Change::None : Change::Values;
}

Change change(std::span<const Argument> before, std::span<const Argument> now) {
  if (before.size() != now.size()) return Change::Form;
  Change greatest = Change::None;
  for (size_t i = 0; i < now.size() && greatest != Change::Form; ++i) {
    greatest = std::max(greatest, change(before[i], now[i]));
  }
  return greatest;
}

}  // namespace coda
