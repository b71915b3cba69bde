// The reference evaluator against plain loops on random programs, and what it may cost to answer a small demand.
#include "compiler/reference/reference.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "naive.h"
#include "random_program.h"

using namespace coda;
using namespace coda::test;

namespace {

bool agree(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= 1e-11 * std::max({1.0, std::fabs(a), std::fabs(b)});
}

std::vector<std::vector<int64_t>> all_points(const std::vector<int64_t>& shape) {
  std::vector<std::vector<int64_t>> points;
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < size; ++i) {
    std::vector<int64_t> point(shape.size());
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0;) point[d] = rest % shape[d], rest /= shape[d];
    points.push_back(point);
  }
  return points;
}

/// All outputs whole, then some of their points in random order with repetitions; counts of checked values.
struct Compared {
  int values = 0, not_finite = 0;
};
Compared compare_with_loops(const RandomProgram& random, unsigned seed, ReferenceOptions options) {
  Compared compared;
  const Program& program = random.program;
  const Naive naive{program, random.bindings, [&](int param, const std::vector<int64_t>& coordinates) {
                      const Array& array = random.arrays[param];
                      return array.bytes.empty() ? array.scalar : array.at(coordinates);
                    }};
  auto reference = Reference::make(program, random.bindings, random.inputs(), options);
  INFO("seed " << seed << ": " << reference.status().message());
  REQUIRE(reference.ok());
  for (int output = 0; output < static_cast<int>(program.outputs.size()); ++output) {
    const Param& param = program.params[program.outputs[output].param];
    const std::vector<int64_t> shape = reference->shape(output);
    const auto points = all_points(shape);
    std::vector<double> expected;
    for (const auto& point : points) {
      Point at;
      for (size_t d = 0; d < point.size(); ++d) at[param.dims[d].name] = point[d];
      expected.push_back(naive.at(program.outputs[output].value, at));
    }
    const auto whole = reference->evaluate_all(output);
    REQUIRE(whole.ok());
    REQUIRE(whole->size() == points.size());
    int wrong = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      wrong += !agree((*whole)[i], expected[i]);
      compared.not_finite += !std::isfinite(expected[i]);
      ++compared.values;
    }
    INFO("seed " << seed << ", output " << output << " of " << points.size() << " elements");
    REQUIRE(wrong == 0);

    std::mt19937 generator(seed);
    std::vector<std::vector<int64_t>> some;
    std::vector<double> expected_some;
    for (int i = 0; i < 7 && !points.empty(); ++i) {
      const size_t p = generator() % points.size();
      some.push_back(points[p]);
      expected_some.push_back(expected[p]);
    }
    const auto sampled = reference->evaluate(output, some);
    REQUIRE(sampled.ok());
    for (size_t i = 0; i < some.size(); ++i) wrong += !agree((*sampled)[i], expected_some[i]);
    REQUIRE(wrong == 0);
  }
  return compared;
}

/// y[M, N] = x @ w.T and l[M] = logsumexp(y, over = N), with f32 arrays of a pattern.
struct MatrixProduct {
  Program program;
  Bindings bindings;
  std::vector<float> x, w;

  MatrixProduct(int64_t m, int64_t n, int64_t k) : bindings{{"M", m}, {"N", n}, {"K", k}}, x(m * k), w(n * k) {
    const NamedDim M{"M", Dim::symbol("M")}, N{"N", Dim::symbol("N")}, K{"K", Dim::symbol("K")};
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 7 % 31) - 15) / 16;
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int>(i * 11 % 29) - 14) / 16;
    program.params = {{.name = "x", .dims = {M, K}},
                      {.name = "w", .dims = {N, K}},
                      {.name = "y", .role = Param::Role::Out, .dims = {M, N}},
                      {.name = "l", .role = Param::Role::Out, .dims = {M}}};
    Graph& g = program.graph;
    const NodeId y = g.contract({g.input(0, {M, K}, NumClass::Real, {}), g.input(1, {N, K}, NumClass::Real, {})}, {K});
    program.outputs = {{2, y}, {3, g.reduce(find_reduction("logsumexp"), y, {N})}};
  }
  Reference reference(int threads = 0) {
    const int64_t m = bindings["M"], n = bindings["N"], k = bindings["K"];
    return Reference::make(program, bindings,
                           {{.data = x.data(), .shape = {m, k}, .strides = {k, 1}},
                            {.data = w.data(), .shape = {n, k}, .strides = {k, 1}}},
                           {.threads = threads})
        .value();
  }
  double product(int64_t i, int64_t j) {
    const int64_t k = bindings["K"];
    double sum = 0;
    for (int64_t d = 0; d < k; ++d) sum += static_cast<double>(x[i * k + d]) * w[j * k + d];
    return sum;
  }
};

}  // namespace

TEST_CASE("random programs evaluate as plain loops do") {
  int values = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    values += compare_with_loops(random_program(seed, false), seed, {.threads = seed % 2 == 0 ? 1 : 3}).values;
  }
  CHECK(values > 10000);
}

TEST_CASE("the size of blocks changes no value") {
  for (unsigned seed = 3000; seed < 3400; ++seed) {
    compare_with_loops(random_program(seed, false), seed, {.threads = 2, .block = 1 + seed % 7});
  }
}

TEST_CASE("the random programs reach every node kind") {
  std::map<NodeKind, int> uses;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const RandomProgram random = random_program(seed, false);
    std::set<NodeId> seen;
    std::vector<NodeId> pending;
    for (const auto& output : random.program.outputs) pending.push_back(output.value);
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (!seen.insert(id).second) continue;
      ++uses[random.program.graph[id].kind];
      pending.insert(pending.end(), random.program.graph[id].args.begin(), random.program.graph[id].args.end());
    }
  }
  for (const NodeKind kind :
       {NodeKind::Input, NodeKind::Constant, NodeKind::Index, NodeKind::Extent, NodeKind::Contract, NodeKind::Sum,
        NodeKind::Apply, NodeKind::View, NodeKind::Put, NodeKind::Reduce, NodeKind::Gather, NodeKind::Cast}) {
    INFO("kind " << static_cast<int>(kind));
    CHECK(uses[kind] > 50);
  }
}

TEST_CASE("NaN and infinities propagate as plain loops do") {
  Compared all;
  for (unsigned seed = 1000; seed < 1300; ++seed) {
    const Compared one = compare_with_loops(random_program(seed, true), seed, {.threads = 2});
    all.values += one.values;
    all.not_finite += one.not_finite;
  }
  CHECK(all.values > 10000);
  CHECK(all.not_finite > 300);
}

TEST_CASE("empty dimensions give identities") {
  for (unsigned seed = 2000; seed < 2400; ++seed)
    compare_with_loops(random_program(seed, false, 0), seed, {.threads = 2});
}

TEST_CASE("a demand of a few rows and columns costs just those") {
  MatrixProduct small(600, 700, 300);
  Reference reference = small.reference();
  std::vector<std::vector<int64_t>> points;
  for (int64_t i = 0; i < 16; ++i) {
    for (int64_t j = 0; j < 64; ++j) points.push_back({i * 37, j * 10 + 3});
  }
  const auto values = reference.evaluate(0, points);
  REQUIRE(values.ok());
  CHECK(reference.multiply_adds() == 16 * 64 * 300);
  for (size_t p = 0; p < points.size(); ++p) {
    REQUIRE((*values)[p] == Approx(small.product(points[p][0], points[p][1])).epsilon(1e-13));
  }
}

TEST_CASE("a whole-row statistic costs its rows, in bounded memory") {
  MatrixProduct small(500, 5000, 64);
  Reference reference = small.reference();
  std::vector<std::vector<int64_t>> rows;
  for (int64_t i = 0; i < 16; ++i) rows.push_back({i * 31});
  const auto values = reference.evaluate(1, rows);
  REQUIRE(values.ok());
  CHECK(reference.multiply_adds() == int64_t{16} * 5000 * 64);
  for (size_t r = 0; r < rows.size(); ++r) {
    double sum = 0;
    for (int64_t j = 0; j < 5000; ++j) sum += std::exp(small.product(rows[r][0], j));
    REQUIRE((*values)[r] == Approx(std::log(sum)).epsilon(1e-12));
  }
  // The same rows again come from memory.
  REQUIRE(reference.evaluate(1, rows).ok());
  CHECK(reference.multiply_adds() == int64_t{16} * 5000 * 64);
}

TEST_CASE("results don't depend on the number of threads") {
  MatrixProduct a(150, 130, 200), b(150, 130, 200);
  const auto one = a.reference(1).evaluate_all(0), three = b.reference(3).evaluate_all(0);
  REQUIRE(one.ok());
  CHECK(*one == *three);
  for (int64_t i = 0; i < 150; i += 13)
    CHECK((*one)[i * 130 + i % 130] == Approx(a.product(i, i % 130)).epsilon(1e-13));
}

TEST_CASE("what does not fit is refused with its name") {
  MatrixProduct p(4, 5, 6);
  auto message = [&](const Bindings& bindings, std::vector<ReferenceInput> inputs) {
    auto reference = Reference::make(p.program, bindings, std::move(inputs));
    CHECK_FALSE(reference.ok());
    return reference.status().message();
  };
  const ReferenceInput x{.data = p.x.data(), .shape = {4, 6}, .strides = {6, 1}};
  const ReferenceInput w{.data = p.w.data(), .shape = {5, 6}, .strides = {6, 1}};
  CHECK(message({{"M", 4}, {"N", 5}}, {x, w}).find("K") != std::string::npos);
  CHECK(message({{"M", 4}, {"N", 5}, {"K", 7}}, {x, w}).find("7") != std::string::npos);
  CHECK(message({{"M", 4}, {"N", -5}, {"K", 6}}, {x, w}).find("N") != std::string::npos);
  CHECK(message(p.bindings, {x, {.data = nullptr, .shape = {5, 6}, .strides = {6, 1}}}).find("w") != std::string::npos);
  CHECK(message(p.bindings, {x, {.data = p.w.data(), .dtype = DType::BF16, .shape = {5, 6}, .strides = {6, 1}}})
            .find("bf16") != std::string::npos);
  CHECK(message(p.bindings, {x}).find("w") != std::string::npos);
  Reference reference = p.reference();
  const std::vector<std::vector<int64_t>> outside = {{0, 0}, {0, 5}};
  CHECK_FALSE(reference.evaluate(0, outside).ok());

  Program program;
  const NamedDim N{"N", Dim::symbol("N")}, F{"F", Dim::symbol("F")};
  program.params = {{.name = "x", .dims = {N}}, {.name = "y", .role = Param::Role::Out, .dims = {F}}};
  const NodeId input = program.graph.input(0, {N}, NumClass::Real, {});
  program.outputs = {{1, program.graph.view(input, N, {Dim(1), {{F, Dim(1)}}})}};
  const float data[4] = {1, 2, 3, 4};
  const ReferenceInput given{.data = data, .shape = {4}, .strides = {1}};
  CHECK(Reference::make(program, {{"N", 4}, {"F", 3}}, {given}).ok());
  const auto beyond = Reference::make(program, {{"N", 4}, {"F", 4}}, {given});
  REQUIRE_FALSE(beyond.ok());
  CHECK(beyond.status().message().find("index map") != std::string::npos);
}

// Not part of the usual run: minutes of arithmetic and a gigabyte. `test_ir "[large]"` prints what the sizes cost.
TEST_CASE("samples at the sizes of a Llama layer", "[.][large]") {
  MatrixProduct big(8192, 28672, 4096);
  Reference reference = big.reference();
  std::vector<std::vector<int64_t>> points, rows;
  for (int64_t i = 0; i < 16; ++i) {
    rows.push_back({i * 511});
    for (int64_t j = 0; j < 64; ++j) points.push_back({i * 511, j * 448});
  }
  REQUIRE(reference.evaluate(0, points).ok());
  CHECK(reference.multiply_adds() == int64_t{16} * 64 * 4096);
  const auto values = reference.evaluate(1, rows);
  REQUIRE(values.ok());
  CHECK(std::isfinite((*values)[0]));
}
