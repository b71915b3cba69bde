#include <algorithm>
#include <set>

#include "compiler/epilogue/reads.h"
#include "compiler/epilogue/verify.h"

namespace coda {

namespace {

class RowVerifier {
 public:
  explicit RowVerifier(const EpilogueProgram& epilogue) : e_(epilogue), graph_(epilogue.program.graph) {
    for (const NamedDim& row : e_.rows) rows_.insert(row.name);
  }

  std::vector<std::string> run() {
    for (size_t r = 0; r < e_.regions.size(); ++r) {
      const Region& region = e_.regions[r];
      const bool whole = region.segments.size() == 1 && region.segments[0].is_zero() && region.granule == 1;
      expect(whole, "region " + std::to_string(r) + " is no walk over columns");
    }
    if (!broken_.empty()) return std::move(broken_);
    for (const Statistic& s : e_.statistics) statistic(s);
    for (const Store& s : e_.stores) {
      const std::string& name = param(s.param).name;
      std::set<std::string> known = rows_;
      walk(s.region, s.columns, name, known);
      value(s.value, known, StatScope::Row, name);
      target(s.param, s.index, known, name);
    }
    for (const FinishStore& s : e_.finish_stores) {
      const std::string& name = param(s.param).name;
      std::set<std::string> known = s.scope == StatScope::Row ? rows_ : std::set<std::string>{};
      if (s.scope == StatScope::Column) walk(s.region, s.columns, name, known);
      value(s.value, known, s.scope, name);
      target(s.param, s.index, known, name);
    }
    for (const Param& p : e_.program.params) {
      const bool stored = written_.contains(static_cast<int>(&p - e_.program.params.data()));
      expect(p.role != Param::Role::Out || stored, p.name + " is never stored");
    }
    return std::move(broken_);
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds) broken_.push_back(what);
  }
  const Param& param(int index) const { return e_.program.params[static_cast<size_t>(index)]; }

  void statistic(const Statistic& s) {
    const std::string name = "statistic %" + std::to_string(s.node);
    expect(is_reduction(graph_[s.node]) && s.reduction != nullptr, name + " is no reduction");
    expect(s.scope == StatScope::Row ? !s.parts.empty() : s.parts.size() == 1, name + " has not one part");
    for (const Statistic::Part& part : s.parts) {
      std::set<std::string> known = rows_;
      walk(part.region, part.columns, name, known);
      value(part.body, known, StatScope::Row, name);
    }
    const auto over_rows = std::count_if(graph_[s.node].over.begin(), graph_[s.node].over.end(),
                                         [&](const NamedDim& d) { return rows_.contains(d.name); });
    expect(s.scope == StatScope::Row ? over_rows == 0 : static_cast<size_t>(over_rows) == rows_.size(),
           name + " does not run over what its scope says");
    finished_[s.node] = s.scope;
  }

  /// Uses only statistics of `scope` that come before, and known coordinates.
  void value(NodeId id, const std::set<std::string>& known, StatScope scope, const std::string& name) {
    for (const NamedDim& dim : graph_[id].dims) expect(known.contains(dim.name), name + " depends on " + dim.name);
    std::set<NodeId> seen;
    std::vector<NodeId> open{id};
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      if (!seen.insert(node).second) continue;
      if (const auto it = finished_.find(node); it != finished_.end()) {
        expect(it->second == scope, name + " uses a statistic of another scope");
        continue;
      }
      for (const Statistic& s : e_.statistics) expect(s.node != node, name + " uses a later statistic");
      open.insert(open.end(), graph_[node].args.begin(), graph_[node].args.end());
    }
  }

  void walk(int region, const ColumnSpace& space, const std::string& name, std::set<std::string>& known) {
    const bool exists = region >= 0 && region < static_cast<int>(e_.regions.size());
    expect(exists, name + " lies in no region");
    if (!exists) return;
    Dim stride(1);
    for (size_t i = space.digits.size(); i-- > 0;) {
      const ColumnDigit& digit = space.digits[i];
      known.insert(digit.dim.name);
      expect(digit.stride == stride && digit.offset.is_zero() && digit.extent == digit.dim.extent,
             name + ": " + digit.dim.name + " is no digit in mixed radix");
      stride = stride * digit.extent;
    }
    expect(space.phase == 0 && stride == e_.regions[static_cast<size_t>(region)].extent,
           name + " does not walk all of its region");
  }

  void target(int index, const std::vector<AffineMap>& maps, const std::set<std::string>& known,
              const std::string& name) {
    const Param& p = param(index);
    expect(p.role == Param::Role::Out || p.role == Param::Role::InOut, name + " is no output");
    expect(maps.size() == p.dims.size(), name + ": one index an axis is wanted");
    for (const AffineMap& map : maps) {
      for (const auto& term : map.terms) {
        expect(known.contains(term.dim.name), name + " is indexed by " + term.dim.name);
      }
    }
    written_.insert(index);
  }

  const EpilogueProgram& e_;
  const Graph& graph_;
  std::set<std::string> rows_;
  std::map<NodeId, StatScope> finished_;
  std::set<int> written_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> verify_rowwise(const EpilogueProgram& epilogue) { return RowVerifier(epilogue).run(); }

}  // namespace coda
