#include "compiler/ir/schedule_settings.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "dsl/suggest.h"

namespace coda {

namespace {

constexpr ScheduleSetting kSettings[] = {
    {"tile_m", "rows of a tile"},
    {"tile_n", "columns of a tile, at most 256"},
    {"stages", "slices of depth in flight between memory and tensor cores"},
    {"cluster", "blocks of threads that share what they load: 1 or 2"},
    {"consumers", "groups of 128 threads that multiply"},
    {"group_m", "tiles of rows that are worked on together, for the cache"},
    {"promote",
     "1: the tensor cores' sums over a stage are added in f32, as for e4m3 and e5m2; 0: they run over all depth"},
    {"split", "parts that the depth of a tile is cut into, for few rows or great depth; 0: as estimated"},
    {"tail",
     "1: the tiles of a last round that is not full are cut along their depth, so that all processors share it"},
    {"dependent",
     "of a block: each kernel begins, and loads what no kernel writes, before the one in front of it has ended: 1: "
     "from "
     "that one's start, 2: towards its end; 0: not"}};

}  // namespace

std::span<const ScheduleSetting> schedule_settings() { return kSettings; }

const ScheduleSetting* find_schedule_setting(std::string_view name) {
  const ScheduleSetting* found = std::find_if(std::begin(kSettings), std::end(kSettings),
                                              [&](const auto& setting) { return setting.name == name; });
  return found == std::end(kSettings) ? nullptr : found;
}

std::string way_out_of_setting(const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduleSetting& setting : kSettings) names.emplace_back(setting.name);
  return suggestion(name, names, "the settings are", "");
}

}  // namespace coda
