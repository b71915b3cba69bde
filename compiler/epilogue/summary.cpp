#include "compiler/epilogue/summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "compiler/epilogue/affine.h"
#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/reads.h"

namespace coda {

namespace {

Dim bytes_of(const Dim& elements, DType dtype) {
  return (elements * Dim(info(dtype).bits)).divided_by(Dim(8)).value_or(Dim());
}

class Summariser {
 public:
  explicit Summariser(const EpilogueProgram& epilogue)
      : e_(epilogue), graph_(epilogue.program.graph), collector_(graph_, epilogue.accumulator) {}

  KernelSummary run() {
    for (const auto& region : e_.regions)
      s_.columns = s_.columns + region.extent * Dim(static_cast<int64_t>(region.segments.size()));
    const Dim rows = product(e_.rows);
    if (e_.is_rowwise()) {
      s_.flops = rows * s_.columns;
    } else {
      s_.flops = Dim(2) * rows * s_.columns * e_.total_depth();
      for (const GemmTerm& term : e_.terms()) {
        for (const GemmOperand* operand : {&term.a, &term.b}) {
          if (operand->gathered())
            add(s_.loads, operand->index_param, "index", product(param(operand->index_param).dims));
        }
        const auto products = [&](const GemmOperand& o) { return o.batch_axes.empty() ? Dim(1) : e_.batches(); };
        add(s_.loads, term.a.param, "operand", products(term.a) * e_.rows_in_batch() * term.depth);
        add(s_.loads, term.b.param, "operand", products(term.b) * s_.columns * term.depth);
      }
    }
    std::set<NodeId> statistics;
    for (const auto& statistic : e_.statistics) statistics.insert(statistic.node);
    for (const auto& store : e_.stores) {
      inputs(store.value, {});
      add(s_.stores, store.param, "tile", rows * count(store.columns));
    }
    for (const auto& statistic : e_.statistics) {
      KernelSummary::Finish finish{describe(e_.program, graph_, statistic.node), statistic.scope, {}};
      for (const auto& part : statistic.parts) {
        inputs(part.body, {});
        finish.regions.push_back(part.region);
      }
      s_.statistics.push_back(std::move(finish));
    }
    for (const auto& store : e_.finish_stores) {
      inputs(store.value, statistics);
      const Dim elements = store.scope == StatScope::Row      ? rows
                           : store.scope == StatScope::Column ? e_.kept_groups() * count(store.columns)
                                                              : e_.kept_groups();
      add(s_.stores, store.param, "finish", elements);
    }
    for (const auto& stream : s_.loads) s_.read_bytes = s_.read_bytes + stream.bytes;
    for (const auto& stream : s_.stores) s_.written_bytes = s_.written_bytes + stream.bytes;
    return std::move(s_);
  }

 private:
  const Param& param(int index) const { return e_.program.params[static_cast<size_t>(index)]; }

  static Dim count(const ColumnSpace& columns) {
    Dim elements(1);
    for (const auto& digit : columns.digits) elements = elements * digit.extent;
    return elements;
  }

  void add(std::vector<KernelSummary::Stream>& streams, int index, const std::string& role, const Dim& elements) {
    const auto known = std::find_if(streams.begin(), streams.end(),
                                    [&](const auto& stream) { return stream.param == index && stream.role == role; });
    const Dim bytes = bytes_of(elements, param(index).dtype);
    if (known == streams.end()) return streams.push_back({index, role, elements, bytes});
    known->elements = known->elements + elements;
    known->bytes = known->bytes + bytes;
  }

  /// Parameters that the epilogue reads, each once and whole: the parts that different regions read make it up.
  void inputs(NodeId value, const std::set<NodeId>& stops) {
    for (const Read& read : collector_.collect(value, stops).inputs) {
      const int index = graph_[read.leaf].param;
      const Param& p = param(index);
      const bool known = std::any_of(s_.loads.begin(), s_.loads.end(), [&](const auto& stream) {
        return stream.param == index && stream.role != "operand";
      });
      if (known || p.role == Param::Role::Scalar) continue;
      bool rows = false, columns = false;
      for (const auto& [name, map] : read.at) {
        for (const auto& term : map.terms) {
          const bool row =
              std::any_of(e_.rows.begin(), e_.rows.end(), [&](const NamedDim& d) { return d == term.dim; });
          (row ? rows : columns) = true;
        }
      }
      std::vector<NamedDim> dims;
      for (const auto& dim : p.dims) dims.push_back({dim.name, dim.extent.substitute(e_.program.bound)});
      add(s_.loads, index, rows && columns ? "tile" : rows ? "row vector" : "column vector", product(dims));
    }
  }

  const EpilogueProgram& e_;
  const Graph& graph_;
  UseCollector collector_;
  KernelSummary s_;
};

std::string with_value(const Dim& dim, const Bindings& bindings) {
  const auto value = dim.evaluate(bindings);
  return value && !dim.constant() ? dim.text() + " = " + std::to_string(*value) : dim.text();
}

}  // namespace

KernelSummary summarise(const EpilogueProgram& epilogue) { return Summariser(epilogue).run(); }

std::string to_text(const EpilogueProgram& epilogue, const KernelSummary& summary, const Bindings& bindings) {
  Bindings known = bindings;
  known.insert(epilogue.program.bound.begin(), epilogue.program.bound.end());
  std::ostringstream text;
  auto name = [&](int param) { return epilogue.program.params[static_cast<size_t>(param)].name; };
  auto streams = [&](const char* verb, const std::vector<KernelSummary::Stream>& list) {
    for (const auto& s : list) {
      text << "  " << verb << " " << name(s.param) << " (" << s.role << "): " << with_value(s.bytes, known)
           << " bytes\n";
    }
  };
  text << "kernel " << epilogue.program.name << "\n";
  text << "  flops " << with_value(summary.flops, known) << "\n";
  streams("load", summary.loads);
  streams("store", summary.stores);
  text << "  read " << with_value(summary.read_bytes, known) << " bytes, written "
       << with_value(summary.written_bytes, known) << " bytes\n";
  for (size_t i = 0; i < epilogue.regions.size(); ++i) {
    const Region& region = epilogue.regions[i];
    text << "  region " << i << ": " << with_value(region.extent, known) << " columns from";
    for (const auto& segment : region.segments)
      text << " " << with_value(segment, known) << (&segment == &region.segments.back() ? "" : ",");
    if (region.granule > 1) text << ", in granules of " << region.granule;
    text << "\n";
  }
  constexpr const char* kScopes[] = {"row", "column", "whole result"};
  for (const auto& statistic : summary.statistics) {
    text << "  statistic " << statistic.statistic << ": one a " << kScopes[static_cast<size_t>(statistic.scope)]
         << ", partials in regions";
    for (const int region : statistic.regions) text << " " << region;
    text << ", finished in the launch\n";
  }
  for (const auto& law : epilogue.laws) text << "  law " << law.law << ": " << law.detail << "\n";
  return text.str();
}

}  // namespace coda
