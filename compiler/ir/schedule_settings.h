// What a `schedule` clause and `--schedule NAME=VALUE` may set: the names and what they mean, once for all.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace coda {

struct ScheduleSetting {
  std::string_view name, doc;
};
std::span<const ScheduleSetting> schedule_settings();
const ScheduleSetting* find_schedule_setting(std::string_view name);
/// "did you mean `tile_n`?", or all names.
std::string way_out_of_setting(const std::string& name);

}  // namespace coda
