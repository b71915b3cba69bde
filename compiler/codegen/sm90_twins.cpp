#include "compiler/codegen/sm90_twins.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "compiler/codegen/sm90_layout.h"

namespace coda {
namespace {

/// Comparing in any order may take long; then regions have code of their own.
constexpr int kMostSteps = 20000;

/// Walks what two regions compute in step, and notes what would have to be called otherwise.
class Comparison {
 public:
  Comparison(const EpilogueProgram& epilogue, const Sm90Plan& plan, int leader, int other)
      : e_(epilogue), graph_(epilogue.program.graph), plan_(plan), leader_(leader), other_(other) {}

  std::optional<Sm90Likeness> run() {
    for (const NamedDim& row : e_.rows) {
      if (!names(row, row)) return std::nullopt;
    }
    return regions() && stores() ? settle() : std::nullopt;
  }

 private:
  const Region& region(int r) const { return e_.regions[static_cast<size_t>(r)]; }

  bool regions() {
    const Region &a = region(leader_), &b = region(other_);
    const Sm90RegionPlan &p = plan_.regions[static_cast<size_t>(leader_)],
                         &q = plan_.regions[static_cast<size_t>(other_)];
    if (a.granule != b.granule || a.segments.size() != b.segments.size() || p.step != q.step || p.width != q.width ||
        p.exchanged != q.exchanged) {
      return false;
    }
    extents(a.extent, b.extent);
    for (size_t s = 1; s < a.segments.size(); ++s)
      extents(a.segments[s] - a.segments[0], b.segments[s] - b.segments[0]);
    return !reduced(leader_) && !reduced(other_);
  }

  bool reduced(int r) const {
    const auto here = [&](const auto& part) { return part.region == r; };
    return std::any_of(e_.finish_stores.begin(), e_.finish_stores.end(), here) ||
           std::any_of(e_.statistics.begin(), e_.statistics.end(), [&](const Statistic& statistic) {
             return std::any_of(statistic.parts.begin(), statistic.parts.end(), here);
           });
  }

  std::vector<const Store*> stores_of(int r) const {
    std::vector<const Store*> found;
    for (const Store& store : e_.stores) {
      if (store.region == r) found.push_back(&store);
    }
    return found;
  }

  bool stores() {
    const auto a = stores_of(leader_), b = stores_of(other_);
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Store* x, const Store* y) { return stores(*x, *y); });
  }

  bool stores(const Store& a, const Store& b) {
    if (!params(a.param, b.param) || a.columns.phase != b.columns.phase ||
        a.columns.digits.size() != b.columns.digits.size()) {
      return false;
    }
    for (size_t i = 0; i < a.columns.digits.size(); ++i) {
      const ColumnDigit &x = a.columns.digits[i], &y = b.columns.digits[i];
      if (!names(x.dim, y.dim)) return false;
      extents(x.extent, y.extent);
      extents(x.stride, y.stride);
      extents(x.offset, y.offset);
    }
    return std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                      [&](const AffineMap& x, const AffineMap& y) { return maps(x, y); }) &&
           nodes(a.value, b.value);
  }

  /// To be equal once symbols are called as the other region's.
  void extents(const Dim& a, const Dim& b) { noted_.extents.emplace_back(a, b); }

  bool names(const NamedDim& a, const NamedDim& b) {
    extents(a.extent, b.extent);
    return noted_.names.emplace(a.name, b.name).first->second == b.name;
  }

  /// Sets of dimensions: those of the same name belong together, and one that is left over on either side.
  bool names(std::vector<NamedDim> a, std::vector<NamedDim> b) {
    if (a.size() != b.size()) return false;
    const auto settle = [&](const auto& wanted) {
      for (auto x = a.begin(); x != a.end();) {
        const std::optional<std::string> name = wanted(x->name);
        const auto y = std::find_if(b.begin(), b.end(), [&](const NamedDim& dim) { return name && dim.name == *name; });
        if (y == b.end()) {
          ++x;
          continue;
        }
        if (!names(*x, *y)) return false;
        x = a.erase(x);
        b.erase(y);
      }
      return true;
    };
    const auto known = [&](const std::string& name) -> std::optional<std::string> {
      const auto found = noted_.names.find(name);
      return found == noted_.names.end() ? std::nullopt : std::optional(found->second);
    };
    if (!settle(known) || !settle([](const std::string& name) { return std::optional(name); })) return false;
    return a.empty() || (a.size() == 1 && names(a[0], b[0]));
  }

  bool maps(const AffineMap& a, const AffineMap& b) {
    extents(a.offset, b.offset);
    return terms(a, b);
  }

  bool terms(const AffineMap& a, const AffineMap& b) {
    const auto dims = [](const AffineMap& map) {
      std::vector<NamedDim> dims;
      for (const AffineMap::Term& term : map.terms) dims.push_back(term.dim);
      return dims;
    };
    if (!names(dims(a), dims(b))) return false;
    for (const AffineMap::Term& x : a.terms) {
      const auto y = std::find_if(b.terms.begin(), b.terms.end(), [&](const AffineMap::Term& term) {
        return term.dim.name == noted_.names.at(x.dim.name);
      });
      if (y == b.terms.end()) return false;
      extents(x.stride, y->stride);
    }
    return true;
  }

  bool params(int a, int b) {
    const Param &p = e_.program.params[static_cast<size_t>(a)], &q = e_.program.params[static_cast<size_t>(b)];
    if (p.role != q.role || p.dtype != q.dtype || p.layout != q.layout || p.dims.size() != q.dims.size() ||
        plan_.is_constant(a) != plan_.is_constant(b)) {
      return false;
    }
    for (size_t axis = 0; axis < p.dims.size(); ++axis) {
      if (!names(p.dims[axis], q.dims[axis])) return false;
    }
    return noted_.params.emplace(a, b).first->second == b;
  }

  bool nodes(NodeId x, NodeId y) {
    if (noted_.compared.contains({x, y})) return true;
    if (++steps_ > kMostSteps) return false;
    if (x == e_.accumulator || y == e_.accumulator) return false;  // but below a view, see there
    const Node &a = graph_[x], &b = graph_[y];
    if (a.kind != b.kind || a.num_class != b.num_class || a.op != b.op || a.reduction != b.reduction ||
        a.dtype != b.dtype || a.coefficients.size() != b.coefficients.size() ||
        std::bit_cast<uint64_t>(a.value) != std::bit_cast<uint64_t>(b.value)) {
      return false;
    }
    if (!names(a.dims, b.dims) || !names(a.over, b.over) || !parts(a, b)) return false;
    noted_.compared.emplace(x, y);
    return true;
  }

  /// What is particular to a kind, and the arguments.
  bool parts(const Node& a, const Node& b) {
    switch (a.kind) {
      case NodeKind::Input:
        return params(a.param, b.param);
      case NodeKind::Extent:
        return maps(a.map, b.map);
      case NodeKind::View:
        if (a.args[0] == e_.accumulator && b.args[0] == e_.accumulator) return columns(a, b);
        [[fallthrough]];
      case NodeKind::Put:
        return names(a.dim, b.dim) && maps(a.map, b.map) && args(a, b);
      case NodeKind::Index:
      case NodeKind::Gather:
        return names(a.dim, b.dim) && args(a, b);
      default:
        return args(a, b);
    }
  }

  bool args(const Node& a, const Node& b) {
    if (a.args.size() != b.args.size()) return false;
    // The order of factors and summands is that of their making.
    const bool any_order = a.kind == NodeKind::Contract || a.kind == NodeKind::Sum;
    std::vector<size_t> left(b.args.size());
    std::iota(left.begin(), left.end(), 0);
    for (size_t i = 0; i < a.args.size(); ++i) {
      const auto fits = [&](size_t j) {
        return (a.coefficients.empty() || a.coefficients[i] == b.coefficients[j]) && attempt(a.args[i], b.args[j]);
      };
      const auto end = any_order ? left.end() : left.begin() + 1;
      const auto found = std::find_if(left.begin(), end, fits);
      if (found == end) return false;
      left.erase(found);
    }
    return true;
  }

  /// Leaves nothing behind where it fails.
  bool attempt(NodeId x, NodeId y) {
    Noted before = noted_;
    if (nodes(x, y)) return true;
    noted_ = std::move(before);
    return false;
  }

  /// Views of the accumulator: columns counted from where their region begins.
  bool columns(const Node& a, const Node& b) {
    if (a.dim.name != e_.column.name || b.dim.name != e_.column.name) return false;
    extents(a.map.offset - region(leader_).segments[0], b.map.offset - region(other_).segments[0]);
    return terms(a.map, b.map);
  }

  /// Finds which symbol stands for which, and whether that makes all extents equal.
  std::optional<Sm90Likeness> settle() {
    Sm90Likeness likeness{leader_, noted_.params, {}};
    for (const auto& [a, b] : noted_.extents) {
      const std::set<std::string> from = a.symbols(), to = b.symbols();
      if (from.size() != to.size()) return std::nullopt;
      if (from.size() == 1 && likeness.symbols.emplace(*from.begin(), *to.begin()).first->second != *to.begin())
        return std::nullopt;
    }
    const bool equal = std::all_of(noted_.extents.begin(), noted_.extents.end(),
                                   [&](const auto& pair) { return likeness.own(pair.first) == pair.second; });
    return equal ? std::optional(std::move(likeness)) : std::nullopt;
  }

  const EpilogueProgram& e_;
  const Graph& graph_;
  const Sm90Plan& plan_;
  const int leader_, other_;
  int steps_ = 0;
  struct Noted {
    std::map<int, int> params;
    std::map<std::string, std::string> names;
    std::vector<std::pair<Dim, Dim>> extents;
    std::set<std::pair<NodeId, NodeId>> compared;
  };
  Noted noted_;
};

}  // namespace

WordSpec Sm90Likeness::own(WordSpec word) const {
  if (word.kind == WordSpec::Kind::Extent) word.dim = own(word.dim);
  const bool names_param = word.kind == WordSpec::Kind::Pointer || word.kind == WordSpec::Kind::Stride ||
                           word.kind == WordSpec::Kind::Scalar;
  if (const auto found = params.find(word.param); names_param && found != params.end()) word.param = found->second;
  return word;
}

ConditionSpec Sm90Likeness::own(ConditionSpec condition) const {
  if (const auto found = params.find(condition.param); found != params.end()) condition.param = found->second;
  for (Dim& extent : condition.extents) extent = own(extent);
  return condition;
}

std::vector<Sm90Likeness> find_sm90_twins(const EpilogueProgram& epilogue, const Sm90Plan& plan) {
  std::vector<Sm90Likeness> likeness;
  for (int r = 0; r < static_cast<int>(epilogue.regions.size()); ++r) {
    std::optional<Sm90Likeness> found;
    for (int leader = 0; leader < r && !found; ++leader) {
      if (likeness[static_cast<size_t>(leader)].leader == leader) found = Comparison(epilogue, plan, leader, r).run();
    }
    likeness.push_back(found ? *std::move(found) : Sm90Likeness{r, {}, {}});
  }
  return likeness;
}

}  // namespace coda
