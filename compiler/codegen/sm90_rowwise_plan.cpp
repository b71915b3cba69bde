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

std::optional<int64_t> known_columns(const EpilogueProgram& epilogue, std::optional<int64_t> hint) {
  int64_t widest = 0;
  for (const Region& region : epilogue.regions) {
    const auto extent = region.extent.constant();
    if (!extent) return hint;
    widest = std::max(widest, *extent);
  }
  return widest;
}

}  // namespace

Sm90RowPlan plan_sm90_rows(const EpilogueProgram& epilogue, std::optional<int64_t> hint) {
  Sm90RowPlan plan;
  const bool has_totals = std::any_of(epilogue.statistics.begin(), epilogue.statistics.end(),
                                      [](const Statistic& s) { return s.scope != StatScope::Row; });
  plan.vector = reduces_within_elements(epilogue) ? 2 : vector_of(epilogue);
  plan.shares_rows = epilogue.statistics.empty() && !epilogue.regions.empty() && epilogue.finish_stores.empty();
  if (rows_are_neighbours(epilogue) && !has_totals) {
    plan.vector = 4;
    plan.row_threads = 1;
  } else if (const auto columns = known_columns(epilogue, hint)) {
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
  plan.threads = std::max(kCtaThreads, plan.row_threads);
  plan.ctas_per_sm = 2048 / plan.threads;
  // Few states to combine at the end: one CTA an SM.
  if (has_totals) {
    plan.threads = 512;
    plan.ctas_per_sm = 1;
  }
  return plan;
}

}  // namespace coda
