// How the arguments of one launch differ from those of the one before: most launches repeat, or only move.
#pragma once

#include <span>

#include "runtime/bind.h"

namespace coda {

enum class Change : uint8_t {
  None,
  Values,  ///< of addresses or numbers: what was worked out from shapes and strides still holds
  Form,
};
Change change(const Argument& before, const Argument& now);
/// The greatest of all; Form where there are not as many.
Change change(std::span<const Argument> before, std::span<const Argument> now);

}  // namespace coda
