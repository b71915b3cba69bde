// Gradients of whole programs against finite differences: the standard library, the examples, every construct of the
// language; and the shape of what is derived: two products for each one of the forward.
#include <algorithm>
#include <catch2/catch.hpp>

#include "cases.h"
#include "compiler/grad/directions.h"
#include "compiler/ir/text.h"
#include "compiler/rewrite/algebra.h"

namespace coda::test {

namespace {

/// Contractions that are matrix products.
int products(const Program& program) {
  SizeHints sizes({});
  DimFacts facts(program.facts, program.bound);
  Graph graph = program.graph;
  const Algebra algebra(graph, sizes, facts);
  std::vector<NodeId> roots;
  for (const auto& output : program.outputs) roots.push_back(output.value);
  int count = 0;
  for (const NodeId id : topological(graph, roots)) count += algebra.is_gemm(id);
  return count;
}

void check_all(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    INFO(each.what);
    for (uint32_t seed = 1; seed <= 2; ++seed) check_gradient(each.program, each.sizes, seed, each.wrt);
  }
}

}  // namespace

TEST_CASE("every function of the prelude has its derivative") { check_all(prelude_cases()); }
TEST_CASE("every example has its derivative") { check_all(example_cases()); }
TEST_CASE("every construct of the language has its derivative") { check_all(language_cases()); }

TEST_CASE("the backward of a block takes two products for each of its forward") {
  const Case llama = llama_case(), mlp = mlp_case();
  const Gradient gradient = gradient_of(llama.program);
  CHECK(products(llama.program) == 4);
  CHECK(products(gradient.forward) == 4);
  INFO(to_text(gradient.backward));
  CHECK(products(gradient.backward) == 8);
  CHECK(products(gradient.whole) == 12);
  check_all({llama});
  CHECK(products(mlp.program) == 3);
  CHECK(products(gradient_of(mlp.program).backward) == 6);
}

TEST_CASE("a norm's factor leaves the product behind it, and not the one after") {
  const std::string text =
      "block b(x: f32[T, D], u: f32[F, D], w: f32[D, F]) -> (y: f32[T, D]) {\n"
      "    y = silu(rmsnorm(x, 1) @ u.T) @ w.T\n}\n";
  const Gradient gradient = gradient_of(program_of(text));
  std::vector<std::string> saved;
  for (const Param& param : gradient.backward.params) {
    if (param.name.rfind("saved_", 0) == 0) saved.push_back(param.name);
  }
  CHECK(saved == std::vector<std::string>{"saved_sum", "saved_product"});
  check_gradient(program_of(text), {{"T", 3}, {"D", 4}, {"F", 5}}, 1);
}

TEST_CASE("what is kept fits a limit: what is larger is computed again") {
  for (const Case& each : {llama_case(), mlp_case()}) {
    INFO(each.what);
    const Program program = without_rounding(each.program);
    const Gradient free = gradient_of(program);
    const Arrays values = made_up(free.whole, each.sizes, 5);
    const Arrays derived = run(free.whole, each.sizes, values);
    Gradient cut = free;
    const double all = keep_at_most(program, 1e18, each.sizes, cut);
    CHECK(cut.backward.params.size() == free.backward.params.size());
    CHECK(products(cut.backward) == products(free.backward));
    double before = all;
    for (const double share : {0.7, 0.4, 0.0}) {
      const double kept = keep_at_most(program, share * all, each.sizes, cut);
      INFO(share << "\n" << to_text(cut.backward));
      if (share > 0) CHECK(kept <= share * all);
      CHECK(kept <= before);
      CHECK(products(cut.backward) > products(free.backward));
      CHECK(products(cut.forward) == products(free.forward));
      before = kept;
      Arrays between = values, wanted;
      for (const auto& [name, array] : run(cut.forward, each.sizes, values)) between[name] = array;
      const Arrays backward = run(cut.backward, each.sizes, between);
      for (const auto& [name, array] : backward) wanted[name] = derived.at(name);
      CHECK(difference(wanted, backward) < 1e-5);
    }
    CHECK(before == 0);
  }
}

TEST_CASE("logits are kept unrounded where the sum of their exponentials is, and nothing else is") {
  const std::string loss = "logsumexp(z, over = V) - gather(z, V = target)\n}\n";
  const std::string head = "x: bf16[T, D], w: bf16[F, D], u: bf16[V, F], target: i64[T]) -> (";
  for (const bool hidden : {true, false}) {
    const std::string text = "block f(" + head + (hidden ? "" : "n: bf16[T, F], ") + "loss: f32[T]) {\n    " +
                             (hidden ? "let " : "") +
                             "n = gelu(x @ w.T)\n    let z = tanh(n @ u.T)\n    loss = " + loss;
    INFO(text);
    const Gradient gradient = gradient_of(program_of(text));
    int logits = 0, others = 0;
    for (const Param& param : gradient.backward.params) {
      if (param.name.rfind("saved_", 0) != 0 || param.dims.size() < 2) continue;
      const bool of_logits = param.dims.back().name == "V";
      INFO(param.name);
      CHECK(param.dtype == (of_logits ? DType::F32 : DType::BF16));
      ++(of_logits ? logits : others);
    }
    CHECK(logits == 1);
    CHECK(others > 0);
  }
}

TEST_CASE("scalars, inout parameters and gradients that accumulate") {
  const std::string text =
      "kernel step(x: f32[M, K], w: f32[N, K], inout p: f32[M, N], lr: f32) -> (y: f32[M, N]) {\n"
      "    let z = x @ w.T\n    y = z*p\n    p += lr*z*p*p\n}\n";
  const Program program = program_of(text);
  const Bindings sizes{{"M", 3}, {"N", 4}, {"K", 5}};
  std::vector<Wrt> wrt{{.parameter = "x"}, {.parameter = "p"}, {.parameter = "lr"}};
  wrt.push_back({.parameter = "w", .dtype = DType::F32, .accumulate = true});
  check_gradient(program, sizes, 1, wrt);
  const Gradient gradient = gradient_of(program, wrt);
  bool saves_p = false;
  for (const Param& param : gradient.backward.params) {
    saves_p = saves_p || param.name == "saved_p";
    CHECK(param.name != "p");
  }
  CHECK(saves_p);
}

TEST_CASE("a loss in chunks of rows: what they give adds up to the whole") {
  const std::string text =
      "block head(x: f32[T, D], w: f32[V, D], target: i64[T]) -> (loss: f32[T]) {\n"
      "    let z = softcap(x @ w.T, 2)\n    let lse = logsumexp(z, over = V)\n"
      "    let penalty = z_loss(lse, weight = 0.1)\n"
      "    loss = smoothed_cross_entropy(z, target) + select(target >= 0 and target < V, penalty, 0)\n}\n";
  const Program program = program_of(text);
  const std::vector<Wrt> wrt{{.parameter = "x"}, {.parameter = "w", .dtype = DType::F32, .accumulate = true}};
  const int64_t t = 5, d = 3, v = 7;
  const Bindings sizes{{"T", t}, {"D", d}, {"V", v}};
  Arrays values = made_up(gradient_of(program, wrt).whole, sizes, 1);
  values["target"] = {6, -100, 0, 7, 3};
  values["d_loss"] = {1, 2, 0.5, 3, -1};
  check_gradient(program, sizes, 1, wrt, 1e-7, {{"target", values["target"]}});
  const Program whole = gradient_of(program, wrt).whole;
  const Arrays wanted = run(whole, sizes, values);
  for (int64_t j = 0; j < d; ++j) {  // ignored rows
    CHECK(wanted.at("d_x")[static_cast<size_t>(d + j)] == 0);
    CHECK(wanted.at("d_x")[static_cast<size_t>(3 * d + j)] == 0);
  }
  CHECK(wanted.at("loss")[1] == 0);

  Arrays found;
  std::vector<double> total = values["d_w"];
  for (int64_t first = 0; first < t; first += 2) {
    const int64_t rows = std::min<int64_t>(2, t - first);
    Arrays chunk = values;
    const auto cut = [&](const std::string& name, int64_t width) {
      const auto begin = values[name].begin() + first * width;
      chunk[name].assign(begin, begin + rows * width);
    };
    cut("x", d), cut("target", 1), cut("d_loss", 1);
    chunk["d_w"] = total;
    const Arrays part = run(whole, {{"T", rows}, {"D", d}, {"V", v}}, chunk);
    for (const char* name : {"loss", "d_x"}) {
      found[name].insert(found[name].end(), part.at(name).begin(), part.at(name).end());
    }
    total = part.at("d_w");
  }
  found["d_w"] = total;
  CHECK(difference(wanted, found) < 1e-6);  // d_w goes through f32 between chunks
}

TEST_CASE("a rigid rounding is passed straight through, and kept as it is") {
  const std::string text =
      "block b(x: f32[M, N], y: bf16[M, N]) -> (z: f32[M, N]) {\n    let r: bf16 = x*x\n    z = r*r*y\n}\n";
  const Gradient gradient = gradient_of(program_of(text));
  const Bindings sizes{{"M", 1}, {"N", 2}};
  const Arrays values{{"x", {1.0078125, 3}}, {"y", {2, 1}}, {"d_z", {1, 1}}};
  const double rounded = 1.015625;  // 1.0078125² in bf16
  CHECK(run(gradient.whole, sizes, values).at("d_x") ==
        std::vector<double>{2 * rounded * 2 * 2 * 1.0078125, 2 * 9 * 2 * 3});
}

TEST_CASE("empty tensors have empty gradients, and sums of nothing are 0") {
  const Program program =
      program_of("kernel b(x: f32[M, K], w: f32[N, K]) -> (z: f32[M, N]) {\n    z = exp(x @ w.T)\n}\n");
  check_gradient(program, {{"M", 0}, {"N", 2}, {"K", 3}}, 1);
  check_gradient(program, {{"M", 2}, {"N", 0}, {"K", 3}}, 1);
  check_gradient(program, {{"M", 2}, {"N", 2}, {"K", 0}}, 1);
}

}  // namespace coda::test
