#include "compiler/epilogue/verify.h"

#include <algorithm>
#include <set>

#include "compiler/epilogue/layout.h"
#include "compiler/epilogue/operand.h"
#include "compiler/epilogue/reads.h"

namespace coda {

namespace {

class Verifier {
 public:
  explicit Verifier(const EpilogueProgram& epilogue)
      : e_(epilogue), graph_(epilogue.program.graph), collector_(graph_, epilogue.accumulator) {}

  std::vector<std::string> run() {
    const std::vector<GemmTerm> terms = e_.terms();
    for (const GemmTerm& term : terms) {
      operand("a", term.a);
      operand("b", term.b);
      expect(term.scale == kNoNode || graph_[term.scale].dims.empty(), "a product is scaled by more than a number");
    }
    if (!broken_.empty()) return std::move(broken_);  // what follows relies on them
    for (const GemmTerm& term : terms) {
      const DType a = e_.operand_dtype(term.a), b = e_.operand_dtype(term.b);
      expect(can_multiply(a, b) && a == e_.operand_dtype(e_.a) && b == e_.operand_dtype(e_.b),
             "the operands' types don't go together");
    }
    expect(e_.batch >= 0 && e_.batch < static_cast<int>(e_.rows.size()), "the batch is all rows");
    expect(e_.kept >= 0 && e_.kept <= e_.batch, "kept rows are not of the batch");
    accumulator();
    for (size_t i = 0; i < e_.regions.size(); ++i) region(e_.regions[i], "region " + std::to_string(i));
    if (!broken_.empty()) return std::move(broken_);  // what follows relies on these
    for (const auto& s : e_.statistics) statistics_.insert(s.node);
    for (const auto& s : e_.stores) store(s);
    for (const auto& s : e_.statistics) statistic(s);
    for (const auto& s : e_.finish_stores) finish(s);
    for (size_t p = 0; p < e_.program.params.size(); ++p) {
      const Param& param = e_.program.params[p];
      if (param.role == Param::Role::Out && !written_.contains(static_cast<int>(p)))
        broken(param.name + " is never stored");
    }
    return std::move(broken_);
  }

 private:
  void broken(std::string what) { broken_.push_back(std::move(what)); }
  bool expect(bool holds, const std::string& what) {
    if (!holds) broken(what);
    return holds;
  }

  void operand(const std::string& name, const GemmOperand& operand) {
    const auto count = static_cast<int>(e_.program.params.size());
    if (!expect(operand.param >= 0 && operand.param < count, "operand " + name + " is no parameter")) return;
    const Param& param = e_.program.params[static_cast<size_t>(operand.param)];
    std::vector<int> axes = operand.outer_axes;
    axes.push_back(operand.depth_axis);
    axes.insert(axes.end(), operand.batch_axes.begin(), operand.batch_axes.end());
    axes.insert(axes.end(), operand.outer_depth_axes.begin(), operand.outer_depth_axes.end());
    std::sort(axes.begin(), axes.end());
    bool each_once = axes.size() == param.dims.size();
    for (size_t i = 0; each_once && i < axes.size(); ++i) each_once = axes[i] == static_cast<int>(i);
    expect(each_once, "operand " + name + " does not use each axis of " + param.name + " once");
    expect(!operand.outer_axes.empty(), "operand " + name + " has no outer axis");
    if (!operand.gathered()) return;
    expect(operand.outer_axes.size() == 1 && operand.batch_axes.empty(), "operand " + name + " is gathered in a batch");
    if (!expect(operand.index_param < count, "the index of operand " + name + " is no parameter")) return;
    const Param& index = e_.program.params[static_cast<size_t>(operand.index_param)];
    expect(info(index.dtype).num_class == NumClass::Int, "the index of operand " + name + " is no whole number");
    expect(operand.index_axes.size() == index.dims.size(), "the index of operand " + name + " lacks axes");
  }

  void accumulator() {
    const Node& node = graph_[e_.accumulator];
    std::vector<NamedDim> dims = e_.rows;
    dims.push_back(e_.column);
    std::sort(dims.begin(), dims.end());
    const bool is_product = node.kind == NodeKind::Contract && node.over.size() == 1 && node.args.size() <= 2;
    const bool is_sum = node.kind == NodeKind::Sum && node.args.size() == 2 && !e_.earlier.empty();
    expect((is_product || is_sum) && node.dims == dims,
           "the accumulator is no product with dimensions rows and column");
  }

  void region(const Region& region, const std::string& name) {
    expect(!region.segments.empty(), name + " has no segment");
    expect(region.granule >= 1 && region.granule <= kWidestGranule,
           name + " has granule " + std::to_string(region.granule));
  }

  bool is_row(const std::string& name) const {
    return std::any_of(e_.rows.begin(), e_.rows.end(), [&](const NamedDim& d) { return d.name == name; });
  }

  bool columns(const ColumnSpace& space, const std::string& name, std::set<std::string>& known) {
    int64_t above = 0;
    for (size_t i = 0; i < space.digits.size(); ++i) {
      const auto& digit = space.digits[i];
      known.insert(digit.dim.name);
      const auto stride = digit.stride.constant(), extent = digit.extent.constant();
      if (!expect(stride && *stride >= 1, name + ": the stride of " + digit.dim.name + " is no positive number"))
        return false;
      if (i > 0 && !expect(extent.has_value(), name + ": the extent of " + digit.dim.name + " is not known"))
        return false;
      if (i > 0 &&
          !expect(*stride * std::max<int64_t>(*extent, 1) <= above, name + ": " + digit.dim.name + " overlaps")) {
        return false;
      }
      above = *stride;
    }
    return true;
  }

  void target(int param, const std::vector<AffineMap>& index, const std::set<std::string>& known,
              const std::string& name) {
    const Param& p = e_.program.params[static_cast<size_t>(param)];
    expect(p.role == Param::Role::Out || p.role == Param::Role::InOut, name + " is no output");
    expect(index.size() == p.dims.size(), name + ": one index an axis is wanted");
    for (const auto& map : index) {
      for (const auto& term : map.terms)
        expect(known.contains(term.dim.name), name + " is indexed by " + term.dim.name);
    }
    written_.insert(param);
  }

  void dims_known(NodeId value, const std::set<std::string>& known, const std::string& name) {
    for (const auto& dim : graph_[value].dims) expect(known.contains(dim.name), name + " depends on " + dim.name);
  }

  std::set<std::string> row_names() const {
    std::set<std::string> names;
    for (const auto& row : e_.rows) names.insert(row.name);
    return names;
  }

  void tile_value(NodeId value, int region, const ColumnSpace& space, const std::string& name,
                  std::set<std::string>& known) {
    if (!expect(region >= 0 && region < static_cast<int>(e_.regions.size()), name + " lies in no region")) return;
    if (!columns(space, name, known)) return;
    dims_known(value, known, name);
    const Uses uses = collector_.collect(value);
    expect(uses.foreign.empty(), name + " reduces what does not come from the tile");
    for (const Read& read : uses.accumulator) tile_read(read, e_.regions[static_cast<size_t>(region)], space, name);
  }

  void store(const Store& s) {
    const std::string name = e_.program.params[static_cast<size_t>(s.param)].name;
    std::set<std::string> known = row_names();
    tile_value(s.value, s.region, s.columns, name, known);
    target(s.param, s.index, known, name);
  }

  /// Every element of the accumulator that column c needs must lie in the granule of c, in some segment.
  void tile_read(const Read& read, const Region& region, const ColumnSpace& space, const std::string& name,
                 bool rows_reduced = false) {
    for (const auto& row : e_.rows) {
      expect(rows_reduced || read.at.at(row.name) == affine(row), name + " reads another row");
    }
    std::vector<AffineMap> maps{read.at.at(e_.column.name)};
    for (const auto& term : maps[0].terms) {
      const auto extent = term.dim.extent.constant(), stride = term.stride.constant();
      const bool inner = stride && *stride < region.granule;
      if (!is_bound(term.dim.name) || inner || !extent || *extent > kWidestGranule) continue;
      std::vector<AffineMap> each;
      for (const auto& map : maps) {
        for (int64_t i = 0; i < *extent; ++i)
          each.push_back(substitute(map, {{term.dim.name, affine_constant(Dim(i))}}));
      }
      maps = std::move(each);
    }
    for (const auto& map : maps) {
      const bool found = std::any_of(region.segments.begin(), region.segments.end(), [&](const Dim& segment) {
        // In the granule, or, where the value is not made of whole granules, in a part that divides them.
        for (int64_t part = region.granule; part >= 1; --part) {
          if (region.granule % part == 0 && in_granule(map, read, segment, part, space)) return true;
        }
        return false;
      });
      expect(found, name + " reads column " + formula(map) + ", outside of its granule");
    }
  }

  static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

  bool in_granule(const AffineMap& map, const Read& read, const Dim& segment, int64_t granule,
                  const ColumnSpace& space) const {
    // What the value's own outer digits contribute must be the same in n - segment and in c.
    int64_t low = 0, high = 0, c_low = space.phase, c_high = space.phase;
    Dim offset = map.offset - segment;
    std::set<std::string> outer;
    for (const auto& digit : space.digits) {
      const int64_t stride = digit.stride.constant().value_or(0);
      if (stride % granule == 0) {
        outer.insert(digit.dim.name);
        const auto term =
            std::find_if(map.terms.begin(), map.terms.end(), [&](const auto& t) { return t.dim == digit.dim; });
        if (term == map.terms.end() || !(term->stride == digit.stride)) return false;
        offset = offset + digit.offset * digit.stride;
      } else {
        const auto extent = digit.extent.constant();
        if (!extent || !digit.offset.is_zero()) return false;
        c_high += stride * (std::max<int64_t>(*extent, 1) - 1);
      }
    }
    for (const auto& term : map.terms) {
      if (outer.contains(term.dim.name)) continue;
      const auto stride = term.stride.constant(), extent = term.dim.extent.constant();
      if (!stride || !extent) return false;
      const auto limit = read.limits.find(term.dim.name);
      const int64_t first = limit == read.limits.end() ? 0 : limit->second.first;
      const int64_t count = limit == read.limits.end() ? *extent : limit->second.second;
      low += *stride * first;
      high += *stride * (first + std::max<int64_t>(count, 1) - 1);
    }
    const auto constant = offset.constant();
    if (!constant) return false;
    const int64_t place = floor_div(*constant + low, granule);
    return floor_div(*constant + high, granule) == place && floor_div(c_low, granule) == place &&
           floor_div(c_high, granule) == place;
  }

  void statistic(const Statistic& s) {
    const std::string name = "statistic %" + std::to_string(s.node);
    expect(is_reduction(graph_[s.node]), name + " is no reduction");
    expect(s.reduction != nullptr, name + " has no reduction");
    expect(!s.parts.empty(), name + " has no part");
    expect(s.scope != StatScope::Column || s.parts.size() == 1, name + " has several parts");
    for (const auto& part : s.parts) {
      std::set<std::string> known = row_names();
      tile_value(part.body, part.region, part.columns, name, known);
    }
    const bool used = std::any_of(e_.finish_stores.begin(), e_.finish_stores.end(),
                                  [&](const FinishStore& store) { return reaches(store.value, s.node); });
    expect(used, name + " is used by nothing");
  }

  bool reaches(NodeId from, NodeId to) const {
    std::set<NodeId> seen;
    std::vector<NodeId> open{from};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (id == to) return true;
      if (!seen.insert(id).second) continue;
      open.insert(open.end(), graph_[id].args.begin(), graph_[id].args.end());
    }
    return false;
  }

  void finish(const FinishStore& s) {
    const std::string name = e_.program.params[static_cast<size_t>(s.param)].name;
    std::set<std::string> known = row_names();
    if (s.scope != StatScope::Row) {
      known.clear();
      for (int i = 0; i < e_.kept; ++i) known.insert(e_.rows[static_cast<size_t>(i)].name);
    }
    if (s.scope == StatScope::Column && columns(s.columns, name, known)) {
      expect(s.region >= 0 && s.region < static_cast<int>(e_.regions.size()), name + " lies in no region");
    }
    dims_known(s.value, known, name);
    target(s.param, s.index, known, name);
    const Uses uses = collector_.collect(s.value, statistics_);
    expect(uses.accumulator.empty(), name + " uses the tile in the finish stage");
    expect(uses.reductions.empty() && uses.foreign.empty(), name + " reduces in the finish stage");
    for (const auto& statistic : e_.statistics) {
      expect(!reaches(s.value, statistic.node) || statistic.scope == s.scope, name + " mixes scopes");
    }
  }

  const EpilogueProgram& e_;
  const Graph& graph_;
  UseCollector collector_;
  std::set<NodeId> statistics_;
  std::set<int> written_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> verify_epilogue(const EpilogueProgram& epilogue) {
  return epilogue.is_rowwise() ? verify_rowwise(epilogue) : Verifier(epilogue).run();
}

}  // namespace coda
