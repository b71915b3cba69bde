// The graph's constructors: equal nodes are one node, dimensions and classes follow, only exact folding happens; and
// the verifier names what is broken in nodes made otherwise.
#include "compiler/ir/graph.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "compiler/ir/custom_reduction.h"
#include "compiler/ir/verify.h"
#include "random_program.h"

using namespace coda;
using namespace coda::test;

namespace {

NamedDim dim(const char* name) { return {name, Dim::symbol(name)}; }
const NamedDim M = dim("M"), N = dim("N"), K = dim("K");

struct Inputs {
  Graph g;
  NodeId x = g.input(0, {M, K}, NumClass::Real, {}), w = g.input(1, {N, K}, NumClass::Real, {});
  NodeId t = g.input(2, {M}, NumClass::Int, {});
};

}  // namespace

TEST_CASE("equal nodes have equal ids, whatever the order of commuting arguments") {
  Inputs i;
  CHECK(i.g.contract({i.x, i.w}, {K}) == i.g.contract({i.w, i.x}, {K}));
  CHECK(i.g.contract({i.x, i.w}, {K}) != i.g.contract({i.x, i.w}, {}));
  CHECK(i.g.sum({i.x, i.w}, {1, -1}) == i.g.sum({i.w, i.x}, {-1, 1}));
  CHECK(i.g.sum({i.x, i.w}, {1, -1}) != i.g.sum({i.w, i.x}, {1, -1}));
  CHECK(i.g.constant(0.0) != i.g.constant(-0.0));
  CHECK(i.g.constant(NAN) == i.g.constant(NAN));
  CHECK(i.g.constant(1) != i.g.constant(1, NumClass::Int));
  CHECK(i.g.input(0, {K, M}, NumClass::Real, {.file = 1, .begin = 2, .end = 3}) == i.x);
  CHECK(i.g.cast(i.x, DType::BF16) != i.g.cast(i.x, DType::F16));
  CHECK(i.g.apply(find_op("div"), {i.x, i.w}) != i.g.apply(find_op("div"), {i.w, i.x}));
  CHECK(i.g.view(i.x, M, {Dim(0), {{N, Dim(1)}, {K, Dim(2)}}}) ==
        i.g.view(i.x, M, {Dim(0), {{K, Dim(2)}, {N, Dim(1)}}}));
  const NodeId before = i.g.size();
  i.g.contract({i.w, i.x}, {K});
  CHECK(i.g.size() == before);
}

TEST_CASE("dimensions follow from arguments") {
  Inputs i;
  auto dims = [&](NodeId id) {
    std::vector<std::string> names;
    for (const auto& d : i.g[id].dims) names.push_back(d.name);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(dims(i.x) == Names{"K", "M"});
  CHECK(dims(i.g.contract({i.x, i.w}, {K})) == Names{"M", "N"});
  CHECK(dims(i.g.contract({i.x, i.w}, {})) == Names{"K", "M", "N"});
  CHECK(dims(i.g.reduce(find_reduction("max"), i.x, {M, K})).empty());
  CHECK(dims(i.g.view(i.x, K, {Dim(3), {}})) == Names{"M"});
  CHECK(dims(i.g.view(i.x, K, {Dim(0), {{N, Dim(1)}, {M, Dim(1)}}})) == Names{"M", "N"});
  CHECK(dims(i.g.put(i.x, N, {Dim(0), {{M, Dim(1)}}})) == Names{"K", "N"});
  CHECK(dims(i.g.gather(i.w, N, i.t)) == Names{"K", "M"});
  CHECK(dims(i.g.index(N)) == Names{"N"});
}

TEST_CASE("products in products are one product; sums stay as they are") {
  Inputs i;
  const NodeId inner = i.g.contract({i.x, i.w}, {});
  const NodeId outer = i.g.contract({inner, i.x}, {K});
  CHECK(i.g[outer].args == std::vector<NodeId>{i.x, i.x, i.w});
  const NodeId matmul = i.g.contract({i.x, i.w}, {K});
  CHECK(i.g[i.g.contract({matmul, i.t}, {})].args == std::vector<NodeId>{i.t, matmul});
  // A whole-number product inside a Real one is computed as whole numbers first.
  const NodeId whole = i.g.contract({i.t, i.t}, {});
  CHECK(i.g[i.g.contract({whole, i.x}, {})].args == std::vector<NodeId>{i.x, whole});
  const NodeId sum = i.g.sum({i.x, i.w}, {1, 1});
  CHECK(i.g[i.g.sum({sum, i.x}, {1, 1})].args.size() == 2);
  CHECK(i.g[i.g.sum({i.x, i.x}, {1, 1})].args.size() == 2);
}

TEST_CASE("only what keeps every bit is folded") {
  Inputs i;
  CHECK(i.g.contract({i.x}, {}) == i.x);
  CHECK(i.g.contract({i.x, i.g.constant(1)}, {}) == i.x);
  CHECK(i.g.contract({i.t, i.g.constant(1)}, {}) != i.t);  // would stay Int
  CHECK(i.g.contract({i.t, i.g.constant(1, NumClass::Int)}, {}) == i.t);
  CHECK(i.g[i.g.contract({i.x, i.g.constant(0)}, {})].kind == NodeKind::Contract);  // 0 * inf is NaN
  CHECK(i.g[i.g.sum({i.x, i.g.constant(0)}, {1, 1})].kind == NodeKind::Sum);        // -0 + 0 is 0
  CHECK(i.g[i.g.sum({i.x, i.x}, {1, -1})].kind == NodeKind::Sum);                   // inf - inf is NaN
  CHECK(i.g.sum({i.x}, {1}) == i.x);
  CHECK(i.g.view(i.x, K, {Dim(0), {{K, Dim(1)}}}) == i.x);
  CHECK(i.g.view(i.x, K, {Dim(1), {{K, Dim(1)}}}) != i.x);
  CHECK(i.g.put(i.x, K, {Dim(0), {{K, Dim(1)}}}) == i.x);
  CHECK(i.g.extent(Dim(7)) == i.g.constant(7, NumClass::Int));
  const NodeId half = i.g.apply(find_op("div"), {i.g.constant(1, NumClass::Int), i.g.constant(2, NumClass::Int)});
  CHECK(half == i.g.constant(0.5));
  const NodeId by_zero =
      i.g.apply(find_op("floordiv"), {i.g.constant(1, NumClass::Int), i.g.constant(0, NumClass::Int)});
  CHECK(by_zero == i.g.constant(0, NumClass::Int));
  CHECK(i.g.sum({i.g.constant(2), i.g.constant(3)}, {1, -2}) == i.g.constant(-4));
}

TEST_CASE("what constructors build is sound") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto report = verify(random_program(seed, false).program);
    INFO("seed " << seed << ": " << (report.empty() ? "" : report.front()));
    REQUIRE(report.empty());
  }
}

TEST_CASE("each rule of the verifier is broken by some node, and says so") {
  Inputs i;
  const NodeId product = i.g.contract({i.x, i.w}, {K});
  const NodeId max = i.g.reduce(find_reduction("max"), i.x, {K});
  const NodeId shifted = i.g.view(i.x, K, {Dim(1), {{N, Dim(1)}}});
  const NodeId placed = i.g.put(i.x, N, {Dim(1), {{M, Dim(1)}}});
  const NodeId picked = i.g.gather(i.w, N, i.t);
  const NodeId either = i.g.apply(
      find_op("or"), {i.g.reduce(find_reduction("any"), i.x, {K}), i.g.reduce(find_reduction("all"), i.x, {K})});
  auto broken = [&](NodeId id, auto change) {
    Node node = i.g[id];
    CHECK_FALSE(node_violation(i.g, node).has_value());
    change(node);
    return node_violation(i.g, node).value_or("nothing");
  };
  const std::map<std::string, std::string> found = {
      {"attributes", broken(max, [](Node& n) { n.reduction = nullptr; })},
      {"argument count", broken(picked, [](Node& n) { n.args.pop_back(); })},
      {"arguments", broken(product, [](Node& n) { n.args[0] = 1000; })},
      {"one extent a name", broken(shifted, [](Node& n) { n.map.terms[0].dim.extent = Dim(3); })},
      {"repeated dimension", broken(i.x, [](Node& n) { n.dims.push_back(n.dims.back()); })},
      {"summed dimensions", broken(product, [](Node& n) { n.over = {dim("Q")}; })},
      {"indexed dimension", broken(shifted, [](Node& n) { n.dim = dim("Q"); })},
      {"put dimensions", broken(placed, [](Node& n) { n.dim = K; })},
      {"gather index", broken(picked, [&](Node& n) { n.args[1] = i.x; })},
      {"lifted values", broken(max, [](Node& n) { n.reduction = *custom_reduction_from_text("{0;0||0;1|0}"); })},
      {"op classes", broken(either, [&](Node& n) { n.args[0] = i.x; })},
      {"canonical order", broken(product, [](Node& n) { std::swap(n.args[0], n.args[1]); })},
      {"result dimensions", broken(product, [](Node& n) { n.dims.pop_back(); })},
      {"result class", broken(product, [](Node& n) { n.num_class = NumClass::Int; })},
  };
  std::set<std::string> messages;
  for (const auto& rule : node_rules()) {
    INFO(rule.name);
    REQUIRE(found.contains(std::string(rule.name)));
  }
  for (const auto& [rule, message] : found) {
    INFO(rule << ": " << message);
    CHECK(message != "nothing");
    CHECK(messages.insert(message).second);  // no two rules were found by the same message
  }
  CHECK(found.size() == node_rules().size());
}
