// What a plan rounds, on inputs of every scale: with kept tensors rounded as it stores them, each row of an output is
// what the source says in f64, relative to that row. A factor moved into an operand of few bits would show here.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "../elaborate/compile.h"
#include "compiler/epilogue/epilogue.h"
#include "compiler/epilogue/rowwise.h"
#include "compiler/ops/product_types.h"
#include "compiler/plan/interpret.h"
#include "compiler/plan/operand_types.h"
#include "dsl/diagnostics.h"

namespace coda::test {

namespace {

const Bindings kSizes{{"M", 5}, {"K", 64}, {"N", 7}, {"F", 32}, {"B", 3}, {"P", 6}, {"R", 4}};
/// A few roundings to bf16 on the way, each at most 2^-8 of an element and relative to what a row sums.
constexpr double kAllowed = 0.04;

struct Case {
  std::string text, routine;
  std::vector<std::string> kept = {};  ///< "q: e4m3": tensors that the plan has, by the name that the text gives them
  bool by_row = true;                  ///< each row of the outputs has its own scale
};

struct Tensor {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> shape, strides;
  double scalar = 0;
};

/// Normal numbers times `scale`; with `spread`, row i of a tensor that leads with `rows` times 10^((i % 5) - 2).
Tensor filled(const Param& param, double scale, const std::string& spread, uint32_t seed) {
  Tensor tensor;
  int64_t count = 1;
  for (const NamedDim& dim : param.dims) tensor.shape.push_back(*dim.extent.evaluate(kSizes));
  tensor.strides.assign(tensor.shape.size(), 1);
  for (size_t i = tensor.shape.size(); i-- > 0; count *= tensor.shape[i]) tensor.strides[i] = count;
  tensor.bytes.assign(static_cast<size_t>(std::max<int64_t>(count * info(param.dtype).bits / 8, 8)), 0);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const bool rows = !param.dims.empty() && param.dims[0].name == spread;
  const double most = info(param.dtype).max_finite / 8, least = param.dtype == DType::F16 ? 1e-3 : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows ? i / (count / tensor.shape[0]) : 2;
    const double own = std::clamp(scale * std::pow(10, static_cast<double>(row % 5 - 2)), least, most);
    store_element(tensor.bytes.data(), param.dtype, i, std::clamp(normal(random) * own, -most, most));
  }
  tensor.scalar = load_element(tensor.bytes.data(), param.dtype, 0);
  return tensor;
}

/// The largest difference in units of the RMS of the reference's row; infinite where only one side is finite.
double worst_in_rows(const std::vector<double>& want, const std::vector<double>& got, size_t rows) {
  double worst = want.size() == got.size() ? 0 : INFINITY;
  const size_t columns = rows == 0 ? 0 : want.size() / rows;
  for (size_t row = 0; row < rows && std::isfinite(worst); ++row) {
    double squares = 0, most = 0;
    for (size_t i = row * columns; i < (row + 1) * columns; ++i) {
      if (std::isfinite(want[i]) != std::isfinite(got[i])) return INFINITY;
      if (!std::isfinite(want[i])) continue;
      squares += want[i] * want[i];
      most = std::max(most, std::fabs(want[i] - got[i]));
    }
    if (most > 0) worst = std::max(worst, most / std::sqrt(squares / static_cast<double>(columns)));
  }
  return worst;
}

Plan planned(const Program& block, const std::string& text) {
  SourceMap sources;
  sources.add("test.coda", text);
  Diagnostics diagnostics(sources);
  Plan plan;
  const bool made = plan_block(block, {.verify = true}, plan, diagnostics);
  INFO(diagnostics.render_text());
  REQUIRE(made);
  return plan;
}

void check_kernels_lower(const Plan& plan, const std::string& text) {
  for (const PlanKernel& kernel : plan.kernels) {
    SourceMap sources;
    sources.add("test.coda", text);
    Diagnostics diagnostics(sources);
    EpilogueProgram epilogue;
    const bool lowered = lower_to_epilogue(kernel.program, epilogue, diagnostics);
    INFO(kernel.program.name << "\n" << diagnostics.render_text());
    CHECK(lowered);
  }
}

void check_values(const Program& block, const Plan& plan, const Case& wanted, double x_scale, double w_scale) {
  std::vector<Tensor> tensors;
  std::vector<ReferenceInput> inputs;
  for (size_t p = 0; p < block.params.size(); ++p) {
    const Param& param = block.params[p];
    const bool activation = param.name[0] == 'x' || param.name.starts_with("d_");
    const std::string spread = activation && wanted.by_row ? "M" : "";
    tensors.push_back(filled(param, activation ? x_scale : w_scale, spread, static_cast<uint32_t>(p + 1)));
  }
  for (size_t p = 0; p < block.params.size(); ++p) {
    inputs.push_back({.data = tensors[p].bytes.data(),
                      .dtype = block.params[p].dtype,
                      .shape = tensors[p].shape,
                      .strides = tensors[p].strides,
                      .scalar = tensors[p].scalar});
  }
  auto reference = Reference::make(block, kSizes, inputs, {.threads = 1});
  REQUIRE(reference.ok());
  const Meaning got = interpret_plan(block, plan, kSizes, inputs, Kept::AsStored);
  REQUIRE(got.failure == "");
  for (size_t i = 0; i < block.outputs.size(); ++i) {
    const Param& param = block.params[static_cast<size_t>(block.outputs[i].param)];
    const auto want = reference->evaluate_all(static_cast<int>(i));
    REQUIRE(want.ok());
    const bool by_row = wanted.by_row && param.dims.size() > 1 && param.dims[0].name == "M";
    const size_t rows = by_row ? static_cast<size_t>(*param.dims[0].extent.evaluate(kSizes)) : 1;
    INFO(param.name << " with x of " << x_scale << " and w of " << w_scale);
    CHECK(worst_in_rows(*want, got.outputs.at(param.name), rows) < kAllowed);
  }
}

void check(const Case& wanted) {
  const Compiled compiled = compile(wanted.text, {.routine = wanted.routine});
  INFO(compiled.diagnostics);
  REQUIRE(compiled.program);
  const Plan plan = planned(*compiled.program, wanted.text);
  INFO(to_text(plan));
  check_kernels_lower(plan, wanted.text);
  for (const std::string& kept : wanted.kept) {
    const bool found = std::any_of(plan.tensors.begin(), plan.tensors.end(), [&](const PlanTensor& tensor) {
      return tensor.name + ": " + std::string(info(tensor.dtype).name) == kept;
    });
    INFO(kept);
    CHECK(found);
  }
  for (const double x : {1e-6, 1e-3, 1.0, 1e3, 1e6}) {
    for (const double w : {1e-3, 1.0, 1e2}) check_values(*compiled.program, plan, wanted, x, w);
  }
}

}  // namespace

TEST_CASE("a quantised operand is multiplied as it was written", "[rounding]") {
  for (const std::string type : {"e4m3", "e5m2"}) {
    for (const std::string output : {"bf16", "f32", "f16"}) {
      const std::string quantised = "let (q, s) = quantize(x, " + type + ", over = K)\n  ";
      const bool small = output == "f16";  // what it stores has to fit
      const std::string end = small ? " * 1e-12" : "";
      check({"block one(x: bf16[M, K], w: " + type + "[N, K], r: f32[N]) -> (y: " + output + "[M, N]) {\n  " +
                 quantised + "y = (q @ w.T) * s * r" + end + "\n}\n",
             "one",
             {"q: " + type}});
      check({"block both(x: bf16[M, K], w: bf16[N, K]) -> (y: " + output + "[M, N]) {\n  " + quantised +
                 "let (p, r) = quantize(w, " + type + ", over = K)\n  y = (q @ p.T) * s * r" + end + "\n}\n",
             "both",
             {"q: " + type, "p: " + type}});
      check({"block inside(x: bf16[M, K], w: " + type + "[N, K]) -> (y: " + output + "[M, N]) {\n  " + quantised +
                 "y = (s * q) @ w.T" + end + "\n}\n",
             "inside",
             {"q: " + type}});
    }
  }
}

TEST_CASE("types of both sides of a quantised product may differ", "[rounding]") {
  check(
      {"block mixed(x: f32[M, K], w: e4m3[N, K]) -> (y: f32[M, N]) {\n  let (q, s) = quantize(x, e5m2, over = K)\n"
       "  y = (q @ w.T) * s\n}\n",
       "mixed",
       {"q: e5m2"}});
  check(
      {"block wider(x: f32[M, K], w: bf16[N, K]) -> (y: f32[M, N]) {\n  let (q, s) = quantize(x, e4m3, over = K)\n"
       "  y = (q @ w.T) * s\n}\n",
       "wider",
       {"q: bf16"}});
  check(
      {"block half(x: f32[M, K], w: bf16[N, K]) -> (y: f32[M, N]) {\n  let s = absmax(x, over = K) / 1000\n"
       "  let q = f16(x / s)\n  y = (q @ bf16(w).T) * s\n}\n",
       "half"});
}

TEST_CASE("nothing is rounded to 8 bits that is not written so", "[rounding]") {
  check(
      {"block row(x: bf16[M, K], w: e4m3[N, K]) -> (y: bf16[M, N]) {\n"
       "  y = (x * rsqrt(mean(x * x, over = K) + 1e-20)) @ w.T\n}\n",
       "row"});
  check({"block gain(x: e4m3[M, K], g: f32[K], w: e4m3[N, K]) -> (y: f32[M, N]) {\n  y = (x * g) @ w.T\n}\n", "gain"});
  check(
      {"block chain(x: bf16[M, K], w: e4m3[F, K], w2: e4m3[N, F]) -> (y: bf16[M, N]) {\n"
       "  y = (x @ w.T) @ w2.T\n}\n",
       "chain"});
}

TEST_CASE("scales of blocks stay with the blocks that they scale", "[rounding]") {
  for (const std::string scale : {"ue8m0", "f32"}) {
    check(
        {"block blocks(x: bf16[M, K], w: e4m3[N, K]) -> (y: f32[M, N]) {\n"
         "  let (q, s) = quantize(x, e4m3, over = 32, scale = " +
             scale + ")\n  y = flatten(group(q, G = 32) * s) @ w.T\n}\n",
         "blocks"});
    check(
        {"block both(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n"
         "  let (q, s) = quantize(x, e4m3, over = 32, scale = " +
             scale + ")\n  let (p, r) = quantize(w, e4m3, over = 32, scale = " + scale +
             ")\n  y = bf16(flatten(group(q, G = 32) * s)) @ flatten(group(p, G = 32) * r).T\n}\n",
         "both"});
  }
}

TEST_CASE("two layers are quantised one after the other", "[rounding]") {
  check(
      {"block layers(x: bf16[M, K], w: e4m3[F, K], w2: e4m3[N, F]) -> (y: bf16[M, N]) {\n"
       "  let (q, s) = quantize(x, e4m3, over = K)\n  let h: bf16 = relu((q @ w.T) * s)\n"
       "  let (p, r) = quantize(h, e4m3, over = F)\n  y = (p @ w2.T) * r\n}\n",
       "layers",
       {"q: e4m3", "p: e4m3"}});
}

TEST_CASE("no factor enters an operand in f16, nor one that is cast", "[rounding]") {
  const std::string norm = "let s = rsqrt(mean(x * x, over = K) + 1e-20)\n  ";
  check({"block half(x: f32[M, K], w: f16[N, K]) -> (y: f32[M, N]) {\n  " + norm +
             "let a: f16 = x * s\n  y = (a @ w.T) / s\n}\n",
         "half",
         {"a: f16"}});
  check({"block cast(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  " + norm +
             "let a: bf16 = x + 1\n  y = (a @ w.T) * s\n}\n",
         "cast",
         {"a: bf16"}});
}

TEST_CASE("a norm's factor stays with what it keeps in f16's range", "[rounding]") {
  const std::string norm = "(x * rsqrt(mean(x * x, over = K) + 1e-20)";
  for (const std::string type : {"f32", "bf16"}) {
    check({"block norm(x: " + type + "[M, K], w: f16[N, K]) -> (y: f32[M, N]) {\n  y = " + norm + ") @ w.T\n}\n",
           "norm"});
    check({"block gain(x: " + type + "[M, K], g: f32[K], w: f16[N, K]) -> (y: f32[M, N]) {\n  y = " + norm +
               " * (1 + 0.1 * tanh(g))) @ w.T\n}\n",
           "gain"});
  }
}

TEST_CASE("operands that are cast are kept in that type, whatever the outputs have", "[rounding]") {
  check(
      {"block cast(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) {\n  let a: bf16 = x\n  let b: bf16 = w\n"
       "  y = a @ b.T\n}\n",
       "cast",
       {"a: bf16", "b: bf16"}});
  check(
      {"block one(x: bf16[M, K], w: bf16[N, K]) -> (y: f32[M, N]) {\n  let a: bf16 = 2 * x\n"
       "  y = a @ (3 * w).T\n}\n",
       "one",
       {"a: bf16"}});
}

TEST_CASE("means over rows of a batch of products", "[rounding]") {
  const std::string head = "(x: bf16[B, P, K], w: bf16[N, K]) -> (y: bf16[B, P, N]) {\n  let z = x @ w.T\n";
  check({"block shifted" + head + "  y = z + mean(z, over = P)\n}\n", "shifted"});
  check({"block pooled(x: bf16[B, P, K], w: bf16[N, K]) -> (y: f32[B, N]) {\n  y = mean(x, over = P) @ w.T\n}\n",
         "pooled"});
  check({"block pooled(x: bf16[B, P, K], w: bf16[N, K]) -> (y: f32[B, N]) {\n  y = mean(x @ w.T, over = P)\n}\n",
         "pooled"});
}

TEST_CASE("gradients of products in several types", "[rounding]") {
  check(
      {"block lora(x: bf16[M, K], a: f32[R, K], b: f32[N, R]) -> (y: bf16[M, N]) {\n  y = (x @ a.T) @ b.T\n}\n"
       "grad lora wrt (x, a, b)\n",
       "lora_grad",
       {},
       false});
  check(
      {"block fp8(x: bf16[M, K], w: e4m3[N, K]) -> (y: bf16[M, N]) {\n  let (q, s) = quantize(x, e4m3, over = K)\n"
       "  y = (q @ w.T) * s\n}\ngrad fp8 wrt (x)\n",
       "fp8_grad",
       {"q: e4m3"},
       false});
  check(
      {"block mlp(x: f32[M, K], w1: f32[F, K], w2: f32[N, F]) -> (y: f32[M, N]) {\n"
       "  let h = relu(bf16(x) @ bf16(w1).T)\n  y = bf16(h) @ bf16(w2).T\n}\ngrad mlp wrt (x, w1, w2)\n",
       "mlp_grad",
       {},
       false});
}

TEST_CASE("every pair of types has a product, and types with one keep theirs", "[rounding]") {
  std::vector<std::optional<DType>> types{std::nullopt};
  for (const DTypeInfo& type : dtype_table()) {
    if (type.num_class == NumClass::Real) types.emplace_back(type.dtype);
  }
  for (const DType storage : {DType::F32, DType::BF16, DType::F16}) {
    for (const auto a : types) {
      for (const auto b : types) {
        const auto [first, second] = product_types(a, b, storage);
        CHECK(first.has_value() == (a || b));
        if (!first) continue;
        CHECK(can_multiply(*first, *second));
        if (a && b && can_multiply(*a, *b)) CHECK((first == a && second == b));
        if (!a || !b) CHECK(info(*first).bits >= 16);
        for (const auto& own : {a, b}) {  // 8 bits are never rounded
          if (own && info(*own).bits <= 8) CHECK(holds_exactly(own == a ? *first : *second, *own));
        }
      }
    }
  }
}

}  // namespace coda::test
