#include "runtime/options.h"

#include <charconv>
#include <cstdlib>

namespace coda {

namespace {

constexpr OptionInfo kTable[] = {
#define CODA_OPTION(id, name, fallback, meaning) {name, fallback, meaning},
#include "runtime/options.def"
#undef CODA_OPTION
};

bool parse_number(std::string_view text, int64_t most, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
}

}  // namespace

std::span<const OptionInfo> option_table() { return kTable; }

std::string option(Option id) {
  const OptionInfo& info = kTable[static_cast<size_t>(id)];
  const char* value = std::getenv(info.name.data());
  return value && *value ? std::string(value) : std::string(info.fallback);
}

int64_t option_number(Option id, int64_t most) {
  int64_t value = 0;
  if (!parse_number(option(id), most, value)) parse_number(kTable[static_cast<size_t>(id)].fallback, most, value);
  return value;
}

}  // namespace coda
