// What can be set from the environment: one table, and the only place that reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace coda {

enum class Option : uint8_t {
#define CODA_OPTION(id, name, fallback, meaning) id,
#include "runtime/options.def"
#undef CODA_OPTION
};

struct OptionInfo {
  std::string_view name, fallback, meaning;
};
std::span<const OptionInfo> option_table();

/// The variable's value; its default if it is unset or empty. Read anew each time.
std::string option(Option id);
/// As a number from 0 to `most`; its default if it is not one.
int64_t option_number(Option id, int64_t most);

}  // namespace coda
