#include "compiler/codegen/sm90_stat_layout.h"

#include <algorithm>

#include "compiler/codegen/sm90_single_term.h"

namespace coda {
namespace {

constexpr int kWordBytes = 4;
constexpr int kWarps = 4;  // of a consumer

bool uses_scope(const EpilogueProgram& epilogue, StatScope scope) {
  const auto same = [&](const auto& item) { return item.scope == scope; };
  return std::any_of(epilogue.statistics.begin(), epilogue.statistics.end(), same) ||
         std::any_of(epilogue.finish_stores.begin(), epilogue.finish_stores.end(), same);
}

int add(KernelImage& image, WorkspaceSpec spec) {
  image.workspaces.push_back(std::move(spec));
  return static_cast<int>(image.workspaces.size()) - 1;
}

}  // namespace

int sm90_exchange_bytes(const Statistic& statistic, int tile_n) {
  const int state = kWarps * kWordBytes * statistic.reduction->state_size;
  return statistic.scope == StatScope::Row ? 0 : statistic.scope == StatScope::Column ? state * tile_n : state;
}

int sm90_scratch_bytes(const EpilogueProgram& epilogue, const Sm90Schedule& schedule) {
  const bool has_finish = !epilogue.statistics.empty() || !epilogue.finish_stores.empty();
  if (!has_finish && !schedule.cuts_depth()) return 0;
  int bytes = kSm90ArrivalBytes;
  for (const Statistic& statistic : epilogue.statistics) {
    bytes += static_cast<int>(statistic.parts.size()) * sm90_exchange_bytes(statistic, schedule.tile_n);
  }
  return (bytes + 15) / 16 * 16;
}

Sm90StatLayout make_sm90_stat_layout(const EpilogueProgram& epilogue, const Sm90Plan& plan, const Dim& rows,
                                     KernelImage& image) {
  Sm90StatLayout layout;
  const Sm90Schedule& s = plan.schedule;
  // Of a batch each product has ragged panels of its own.
  const Dim panel_rows = epilogue.batch > 0 ? rows + epilogue.batches() * Dim(s.tile_m * s.cluster) : rows;
  for (const Statistic& statistic : epilogue.statistics) {
    std::vector<int> buffers;
    for (const Statistic::Part& part : statistic.parts) {
      WorkspaceSpec spec;
      spec.rows = statistic.scope == StatScope::Row ? rows : panel_rows;
      spec.columns = epilogue.regions[static_cast<size_t>(part.region)].extent;
      spec.tile_rows = statistic.scope == StatScope::Row ? 1 : s.rows_per_consumer();
      spec.tile_columns =
          statistic.scope == StatScope::Column ? 1 : plan.regions[static_cast<size_t>(part.region)].step;
      spec.tile_bytes = kWordBytes * statistic.reduction->state_size;
      if (sm90_direct_term(epilogue, statistic)) {
        spec.columns = Dim(1);
        spec.tile_columns = 1;
      }
      buffers.push_back(add(image, spec));
    }
    layout.partials.push_back(std::move(buffers));
  }
  // Whole clusters of row tiles arrive, also where their rows lie beyond the last one.
  if (uses_scope(epilogue, StatScope::Row)) {
    WorkspaceSpec spec;
    spec.rows = panel_rows;
    spec.columns = Dim(1);
    spec.tile_rows = s.tile_m * s.cluster;
    spec.tile_columns = 1;
    spec.tile_bytes = kWordBytes * s.sharers() * s.cluster;
    spec.zeroed = true;
    layout.row_counters = add(image, spec);
  }
  if (uses_scope(epilogue, StatScope::Column)) {
    WorkspaceSpec spec;
    spec.rows = epilogue.kept_groups();
    spec.tile_rows = 1;
    // An upper bound of the column tiles over all regions.
    spec.columns = Dim(0);
    int least = s.tile_n;
    for (size_t r = 0; r < epilogue.regions.size(); ++r) {
      spec.columns = spec.columns + epilogue.regions[r].extent;
      least = std::min(least, plan.regions[r].step);
    }
    spec.bytes = epilogue.kept_groups() * Dim(kWordBytes * static_cast<int64_t>(epilogue.regions.size()));
    spec.tile_columns = least;
    spec.tile_bytes = kWordBytes;
    spec.zeroed = true;
    layout.column_counters = add(image, spec);
  }
  if (uses_scope(epilogue, StatScope::All)) {
    WorkspaceSpec spec;
    spec.bytes = epilogue.kept_groups() * Dim(kWordBytes);
    spec.zeroed = true;
    layout.all_counter = add(image, spec);
  }
  return layout;
}

}  // namespace coda
