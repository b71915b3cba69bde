#include "compiler/codegen/sm90_rowwise_plan.h"

#include <algorithm>
#include <bit>
#include <set>

#include "compiler/epilogue/reads.h"

namespace coda {
namespace {

constexpr int kAccessBytes = 16;
constexpr int kCtaThreads = 256;
constexpr int kMostRowThreads = 512;
constexpr int kMostChunks = 4;

/// Elements of 16 bytes of the narrowest tensor, at most 8.
int vector_of(const EpilogueProgram& epilogue) {
  int bytes = kAccessBytes;
  for (const Param& param : epilogue.program.params) {
    if (!param.dims.empty()) bytes = std::min(bytes, std::max(1, info(param.dtype).bits / 8));
  }
  return std::clamp(kAccessBytes / bytes, 1, 8);
}

/// Is something reduced within an element, each time for all of a thread's slots?
bool reduces_within_elements(const EpilogueProgram& epilogue) {
  const Graph& graph = epilogue.program.graph;
  std::set<NodeId> seen;
  std::vector<NodeId> open;
  for (const Statistic& statistic : epilogue.statistics) {
    seen.insert(statistic.node);
    for (const Statistic::Part& part : statistic.parts) open.push_back(part.body);
  }
  for (const Store& store : epilogue.stores) open.push_back(store.value);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    if (is_reduction(graph[id])) return true;
    open.insert(open.end(), graph[id].args.begin(), graph[id].args.end());
  }
  return false;
}

/// How many chunks of values the registers hold: an element of each tensor and state that has columns, and coordinates
/// where a column is taken apart.
int most_chunks(const EpilogueProgram& epilogue, int vector) {
  constexpr int kWords = 96, kCoordinates = 6, kShort = 8;
  const auto is_row = [&](const NamedDim& dim) {
    return std::find(epilogue.rows.begin(), epilogue.rows.end(), dim) != epilogue.rows.end();
  };
  int words = 0;
  for (const Param& param : epilogue.program.params) {
    words += std::all_of(param.dims.begin(), param.dims.end(), is_row) ? 0 : 1;
  }
  bool taken_apart = false;
  const auto visit = [&](const ColumnSpace& columns) {
    const auto inner = columns.digits.empty() ? std::nullopt : columns.digits.back().extent.constant();
    taken_apart = taken_apart || (columns.digits.size() > 1 && !(inner && *inner <= kShort));
  };
  for (const Store& store : epilogue.stores) visit(store.columns);
  for (const Statistic& statistic : epilogue.statistics) {
    for (const Statistic::Part& part : statistic.parts) visit(part.columns);
    if (statistic.scope == StatScope::Column) words += statistic.reduction->state_size;
  }
  if (reduces_within_elements(epilogue)) return 1;
  words = vector * (std::max(words, 1) + (taken_apart ? kCoordinates : 0));
  return std::clamp(kWords / words, 1, kMostChunks);
}

/// Whether neighbours in memory are mostly neighbouring rows: then each thread takes a row of its own.
bool rows_are_neighbours(const EpilogueProgram& epilogue) {
  std::set<std::string> rows;
  for (const NamedDim& row : epilogue.rows) rows.insert(row.name);
  const auto any_row = [&](const AffineMap& map, bool wanted) {
    return std::any_of(map.terms.begin(), map.terms.end(),
                       [&](const auto& t) { return rows.contains(t.dim.name) == wanted; });
  };
  int along_rows = 0, along_columns = 0;
  const auto visit = [&](NodeId value) {
    UseCollector collector(epilogue.program.graph, kNoNode);
    for (const Read& read : collector.collect(value).inputs) {
      const auto& dims = epilogue.program.params[static_cast<size_t>(epilogue.program.graph[read.leaf].param)].dims;
      const bool columns =
          std::any_of(read.at.begin(), read.at.end(), [&](const auto& at) { return any_row(at.second, false); });
      if (dims.size() < 2 || !columns) continue;
      ++(any_row(read.at.at(dims.back().name), true) ? along_rows : along_columns);
    }
  };
  for (const Statistic& statistic : epilogue.statistics) {
    for (const Statistic::Part& part : statistic.parts) visit(part.body);
  }
  for (const Store& store : epilogue.stores) {
    visit(store.value);
    ++(any_row(store.index.back(), true) ? along_rows : along_columns);
  }
  return along_rows > along_columns;
}

/// Columns of each region, as far as they are known: all or none.
std::vector<int64_t> known_columns(const EpilogueProgram& epilogue, std::optional<int64_t> widest,
                                   std::span<const int64_t> hints) {
  std::vector<int64_t> columns;
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    auto extent = epilogue.regions[r].extent.constant();
    if (!extent && r < hints.size()) extent = hints[r];
    if (!extent && epilogue.regions.size() == 1) extent = widest;
    if (!extent) return {};
    columns.push_back(*extent);
  }
  return columns;
}

/// Does a value that is stored or reduced wait for a statistic of its own row? In-place updates count as if: a
/// statistic may be of what was there before.
bool waits_for_statistics(const EpilogueProgram& epilogue) {
  const Program& program = epilogue.program;
  std::set<NodeId> statistics, seen;
  std::vector<NodeId> open;
  for (const Statistic& statistic : epilogue.statistics) {
    if (statistic.scope == StatScope::Row) statistics.insert(statistic.node);
    for (const Statistic::Part& part : statistic.parts) open.push_back(part.body);
  }
  for (const Store& store : epilogue.stores) {
    open.push_back(store.value);
    if (program.params[static_cast<size_t>(store.param)].role == Param::Role::InOut) return true;
  }
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (statistics.contains(id)) return true;
    if (!seen.insert(id).second) continue;
    open.insert(open.end(), program.graph[id].args.begin(), program.graph[id].args.end());
  }
  return statistics.empty();  // then there is no walk to join
}

/// Does a row statistic wait for another one?
bool is_of_two_rounds(const EpilogueProgram& epilogue) {
  std::set<NodeId> statistics, seen;
  std::vector<NodeId> open;
  for (const Statistic& statistic : epilogue.statistics) {
    if (statistic.scope != StatScope::Row) continue;
    statistics.insert(statistic.node);
    for (const Statistic::Part& part : statistic.parts) open.push_back(part.body);
  }
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (statistics.contains(id)) return true;
    if (!seen.insert(id).second) continue;
    open.insert(open.end(), epilogue.program.graph[id].args.begin(), epilogue.program.graph[id].args.end());
  }
  return false;
}

/// How many threads an SM has room for at least, which limits their registers, and how many CTAs of them the grid has.
/// By measurement (docs/performance.md): fewer threads have too few loads on their way, more too few registers; rows of
/// two rounds of waiting want more of both, and no more CTAs than there is room for, as passes without a statistic do.
void share_processors(Sm90RowPlan& plan, const EpilogueProgram& epilogue) {
  constexpr int kThreadsPerSm = 512, kManyThreadsPerSm = 768, kAllThreads = 2048;
  const bool two_rounds = is_of_two_rounds(epilogue);
  plan.threads_per_sm = plan.streams || two_rounds ? kManyThreadsPerSm : kThreadsPerSm;
  const bool no_more = two_rounds || plan.shares_rows;
  plan.ctas_per_sm = std::max(1, (no_more ? plan.threads_per_sm : kAllThreads) / plan.threads);
}

/// Threads for each row that streams, and the chunks of each region: little idle, and few turns of code.
void share_streamed_rows(Sm90RowPlan& plan, int fewest_threads) {
  constexpr int kMostChunksOfRow = 12;
  double best = 1e30;
  for (int threads = fewest_threads; threads <= kMostRowThreads; threads *= 2) {
    const int64_t chunk = int64_t{threads} * plan.vector;
    int64_t chunks = 0, columns = 0;
    for (const int64_t own : plan.region_columns) {
      chunks += std::max<int64_t>(1, (own + chunk - 1) / chunk);
      columns += own;
    }
    const double idle = static_cast<double>(chunks * chunk) / static_cast<double>(std::max<int64_t>(columns, 1));
    const auto regions = static_cast<double>(plan.region_columns.size());
    const double cost = std::max(1.0, idle) + 0.02 * std::abs(static_cast<double>(chunks) - 2 * regions);
    if (cost >= best || chunks > kMostChunksOfRow) continue;
    best = cost;
    plan.row_threads = threads;
    plan.region_chunks.clear();
    for (const int64_t own : plan.region_columns) {
      plan.region_chunks.push_back(static_cast<int>(std::max<int64_t>(1, (own + chunk - 1) / chunk)));
    }
  }
}

}  // namespace

Sm90RowPlan plan_sm90_rows(const EpilogueProgram& epilogue, std::optional<int64_t> hint,
                           std::span<const int64_t> hints) {
  Sm90RowPlan plan;
  const bool has_totals = std::any_of(epilogue.statistics.begin(), epilogue.statistics.end(),
                                      [](const Statistic& s) { return s.scope != StatScope::Row; });
  plan.vector = reduces_within_elements(epilogue) ? 2 : vector_of(epilogue);
  plan.shares_rows = epilogue.statistics.empty() && !epilogue.regions.empty() && epilogue.finish_stores.empty();
  plan.region_columns = known_columns(epilogue, hint, hints);
  std::optional<int64_t> widest = hint;
  if (!plan.region_columns.empty()) widest = *std::max_element(plan.region_columns.begin(), plan.region_columns.end());
  const bool along_rows = rows_are_neighbours(epilogue) && !has_totals;
  plan.streams = !along_rows && !epilogue.statistics.empty() && !waits_for_statistics(epilogue);
  if (along_rows) {
    plan.vector = 4;
    plan.row_threads = 1;
  } else if (const auto columns = widest) {
    plan.columns = columns;
    plan.vector = std::min<int>(
        plan.vector,
        static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(*columns, 1, plan.vector)))));
    // Little idle, and about two chunks: enough loads on their way, and registers left.
    const int most = most_chunks(epilogue, plan.vector);
    double best = 1e30;
    for (int threads = has_totals ? 32 : 1; threads <= kMostRowThreads; threads *= 2) {
      const int64_t chunk = int64_t{threads} * plan.vector;
      const int64_t chunks = std::clamp<int64_t>((*columns + chunk - 1) / chunk, 1, most);
      const double beyond =
          static_cast<double>(std::max<int64_t>(0, *columns - chunks * chunk)) / static_cast<double>(chunk);
      const double idle = static_cast<double>(chunks * chunk) / static_cast<double>(std::max<int64_t>(*columns, 1));
      const double cost = std::max(1.0, idle) + 0.05 * static_cast<double>(std::abs(chunks - 2)) + beyond;
      if (cost >= best) continue;
      best = cost;
      plan.row_threads = threads;
      plan.chunks = static_cast<int>(chunks);
    }
  }
  plan.chunks = std::min({plan.chunks, most_chunks(epilogue, plan.vector), plan.shares_rows ? 2 : kMostChunks});
  if (plan.streams && !has_totals && !plan.region_columns.empty() && !reduces_within_elements(epilogue)) {
    share_streamed_rows(plan, 1);
  }
  plan.threads = std::max(kCtaThreads, plan.row_threads);
  share_processors(plan, epilogue);
  // Few states to combine at the end: one CTA an SM.
  if (has_totals) {
    plan.threads = 512;
    plan.ctas_per_sm = 1;
  }
  return plan;
}

}  // namespace coda
