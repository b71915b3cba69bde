// The standard library: each function evaluated by the reference and by its formula. A function without a case fails.
#include "dsl/prelude.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "dsl/parser.h"
#include "evaluate.h"
#include "prelude_programs.h"

namespace coda::test {
namespace {

using Row = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

double slope(const std::function<double(double)>& f, double x) {
  constexpr double kStep = 1e-3;  // an even formula of fourth order
  return (8 * (f(x + kStep) - f(x - kStep)) - (f(x + 2 * kStep) - f(x - 2 * kStep))) / (12 * kStep);
}

struct Elementwise {
  std::string name, call;
  std::function<double(double)> value;
};
const std::vector<Elementwise>& elementwise() {
  static const std::vector<Elementwise> cases = {
      {"silu", "silu(x)", [](double x) { return x * sigmoid(x); }},
      {"gelu", "gelu(x)", gelu},
      {"gelu_erf", "gelu_erf(x)", gelu},
      {"gelu_tanh", "gelu_tanh(x)", gelu_tanh},
      {"gelu_quick", "gelu_quick(x)", [](double x) { return x * sigmoid(1.702 * x); }},
      {"relu", "relu(x)", [](double x) { return x > 0 ? x : 0; }},
      {"relu_squared", "relu_squared(x)", [](double x) { return x > 0 ? x * x : 0; }},
      {"leaky_relu", "leaky_relu(x, slope = 0.25)", [](double x) { return x > 0 ? x : x / 4; }},
      {"elu", "elu(x, 2)", [](double x) { return x > 0 ? x : 2 * (std::exp(x) - 1); }},
      {"softplus", "softplus(x)", [](double x) { return std::log(1 + std::exp(x)); }},
      {"mish", "mish(x)", [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }},
      {"hard_sigmoid", "hard_sigmoid(x)", [](double x) { return std::min(std::max(x / 6 + 0.5, 0.0), 1.0); }},
      {"hard_swish", "hard_swish(x)", [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); }},
      {"softcap", "softcap(x, 1.5)", [](double x) { return 1.5 * std::tanh(x / 1.5); }},
      {"clamp", "clamp(x, -1, 0.5)", [](double x) { return std::min(std::max(x, -1.0), 0.5); }},
      {"square", "square(x)", [](double x) { return x * x; }},
      {"lerp", "lerp(x, 3, 0.25)", [](double x) { return x + 0.25 * (3 - x); }},
      {"z_loss", "z_loss(x, weight = 0.5)", [](double x) { return 0.5 * x * x; }},
      {"silu_slope", "silu_slope(x)", [](double x) { return slope([](double u) { return u * sigmoid(u); }, x); }},
      {"gelu_tanh_slope", "gelu_tanh_slope(x)", [](double x) { return slope(gelu_tanh, x); }},
      {"saturate_e4m3", "saturate_e4m3(x * 300)",
       [](double x) { return round_to(std::min(std::max(x * 300, -448.0), 448.0), DType::E4M3); }},
      {"saturate_e5m2", "saturate_e5m2(x * 50000)",
       [](double x) { return round_to(std::min(std::max(x * 50000, -57344.0), 57344.0), DType::E5M2); }},
      {"saturate_i8", "saturate_i8(x * 100)",
       [](double x) { return std::nearbyint(std::min(std::max(x * 100, -127.0), 127.0)); }},
      {"exponent", "exponent(abs(x) + 0.125)", [](double x) { return std::ilogb(std::fabs(x) + 0.125); }},
      {"scale_exact", "scale_exact(abs(x), 448)", [](double x) { return x == 0 ? 1 : std::fabs(x) / 448; }},
      {"scale_ceil", "scale_ceil(abs(x) * 448, 448)",
       [](double x) { return x == 0 ? 0x1p-126 : std::exp2(std::ceil(std::log2(std::fabs(x)))); }},
      {"scale_floor", "scale_floor(abs(x), 448)",
       [](double x) { return x == 0 ? 0x1p-126 : std::exp2(std::ilogb(std::fabs(x)) - 8); }},
  };
  return cases;
}

/// From one row x[8] to a row; g, b: f32[8], c, s: half of the rotated elements.
struct Rowwise {
  std::string name, call;
  int64_t rotated;  ///< elements that c and s rotate
  std::function<Row(const Row& x, const Row& g, const Row& b, const Row& c, const Row& s)> value;
};

Row gated(const Row& x, bool interleaved, const std::function<double(double)>& activation) {
  Row y;
  for (size_t i = 0; i < 4; ++i) {
    y.push_back(interleaved ? activation(x[2 * i]) * x[2 * i + 1] : activation(x[i]) * x[4 + i]);
  }
  return y;
}

Row standardised(Row x, double eps) {
  double mean = 0, variance = 0;
  for (const double v : x) mean += v / 8;
  for (double& v : x) v -= mean, variance += v * v / 8;
  for (double& v : x) v /= std::sqrt(variance + eps);
  return x;
}

Row rotated(Row x, const Row& c, const Row& s, bool interleaved) {
  const size_t pairs = c.size();
  for (size_t i = 0; i < pairs; ++i) {
    double &a = x[interleaved ? 2 * i : i], &b = x[interleaved ? 2 * i + 1 : pairs + i];
    const double first = a * c[i] - b * s[i];
    b = b * c[i] + a * s[i];
    a = first;
  }
  return x;
}

double sum_of(const Row& x, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double v : x) sum += f(v);
  return sum;
}
double squared(double x) { return x * x; }

Row each(Row x, const std::function<double(double, size_t)>& f) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], i);
  return x;
}

const std::vector<Rowwise>& rowwise() {
  static const std::vector<Rowwise> cases = {
      {"swiglu", "swiglu(x)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) { return gated(x, false, [](double v) { return v * sigmoid(v); }); }},
      {"swiglu_pairs", "swiglu_pairs(x)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) { return gated(x, true, [](double v) { return v * sigmoid(v); }); }},
      {"geglu", "geglu(x)", 8, [](auto& x, auto&, auto&, auto&, auto&) { return gated(x, false, gelu); }},
      {"geglu_tanh", "geglu_tanh(x)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) { return gated(x, false, gelu_tanh); }},
      {"reglu", "reglu(x)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) { return gated(x, false, [](double v) { return std::max(v, 0.0); }); }},
      {"glu", "glu(x)", 8, [](auto& x, auto&, auto&, auto&, auto&) { return gated(x, false, sigmoid); }},
      {"rmsnorm", "rmsnorm(x, g, eps = 0.5)", 8,
       [](auto& x, auto& g, auto&, auto&, auto&) {
         const double r = 1 / std::sqrt(sum_of(x, squared) / 8 + 0.5);
         return each(x, [&](double v, size_t i) { return v * r * g[i]; });
       }},
      {"rms_factor", "rms_factor(x, eps = 0.5) * g", 8,
       [](auto& x, auto& g, auto&, auto&, auto&) {
         const double r = 1 / std::sqrt(sum_of(x, squared) / 8 + 0.5);
         return each(g, [&](double v, size_t) { return v * r; });
       }},
      {"layernorm", "layernorm(x, g, b, eps = 0.5)", 8,
       [](auto& x, auto& g, auto& b, auto&, auto&) {
         return each(standardised(x, 0.5), [&](double v, size_t i) { return v * g[i] + b[i]; });
       }},
      {"standardise", "standardise(x, eps = 0.5)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) { return standardised(x, 0.5); }},
      {"l2norm", "l2norm(x, eps = 0.5)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) {
         const double r = 1 / std::sqrt(sum_of(x, squared) + 0.5);
         return each(x, [&](double v, size_t) { return v * r; });
       }},
      {"rope", "rope(x, c, s)", 8, [](auto& x, auto&, auto&, auto& c, auto& s) { return rotated(x, c, s, false); }},
      {"rope_interleaved", "rope_interleaved(x, c, s)", 8,
       [](auto& x, auto&, auto&, auto& c, auto& s) { return rotated(x, c, s, true); }},
      {"rope_partial", "rope_partial(x, c, s)", 6,
       [](auto& x, auto&, auto&, auto& c, auto& s) { return rotated(x, c, s, false); }},
      {"rope_partial_interleaved", "rope_partial_interleaved(x, c, s)", 6,
       [](auto& x, auto&, auto&, auto& c, auto& s) { return rotated(x, c, s, true); }},
      {"softmax", "softmax(x)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) {
         const double total = sum_of(x, [](double v) { return std::exp(v); });
         return each(x, [&](double v, size_t) { return std::exp(v) / total; });
       }},
      {"log_softmax", "log_softmax(x)", 8,
       [](auto& x, auto&, auto&, auto&, auto&) {
         const double total = sum_of(x, [](double v) { return std::exp(v); });
         return each(x, [&](double v, size_t) { return v - std::log(total); });
       }},
      {"target_logit", "target_logit(x, 2) * g", 8,
       [](auto& x, auto& g, auto&, auto&, auto&) { return each(g, [&](double v, size_t) { return x[2] * v; }); }},
      {"cross_entropy", "cross_entropy(x, 2) + g * cross_entropy(x, -100)", 8,
       [](auto& x, auto& g, auto&, auto&, auto&) {
         const double total = sum_of(x, [](double v) { return std::exp(v); });
         return each(g, [&](double, size_t) { return std::log(total) - x[2]; });
       }},
      {"smoothed_cross_entropy", "smoothed_cross_entropy(x, 2, smoothing = 0.25) + g * cross_entropy(x, 8)", 8,
       [](auto& x, auto& g, auto&, auto&, auto&) {
         const double total = sum_of(x, [](double v) { return std::exp(v); });
         const double mean = sum_of(x, [](double v) { return v; }) / static_cast<double>(x.size());
         return each(g, [&](double, size_t) { return std::log(total) - 0.75 * x[2] - 0.25 * mean; });
       }},
  };
  return cases;
}

Row row_of(const Run& run, const std::string& name, int64_t m, int64_t size) {
  Row row;
  for (int64_t i = 0; i < size; ++i) row.push_back(run(name, {m, i}));
  return row;
}

}  // namespace

TEST_CASE("prelude: elementwise functions") {
  for (const Elementwise& c : elementwise()) {
    INFO(c.call);
    const Run run =
        evaluate("kernel f(x: f32[M, N]) -> (y: f32[M, N]) {\n    y = " + c.call + "\n}\n", {{"M", 4}, {"N", 8}});
    for (int64_t m = 0; m < 4; ++m) {
      for (int64_t n = 0; n < 8; ++n) {
        CHECK(run("y", {m, n}) == Approx(c.value(run("x", {m, n}))).epsilon(1e-9).margin(1e-12));
      }
    }
  }
}

TEST_CASE("prelude: functions of rows") {
  for (const Rowwise& c : rowwise()) {
    INFO(c.call);
    const bool halved = c.name.find("glu") != std::string::npos;
    const std::string type = halved ? "f32[M, N/2]" : "f32[M, N]";
    const std::string half = c.rotated == 8 ? "N/2" : "R/2";
    const Run run = evaluate("kernel f(x: f32[M, N], g: f32[M, N], b: f32[M, N], c: f32[M, " + half + "], s: f32[M, " +
                                 half + "]) -> (y: " + type + ") {\n    y = " + c.call + "\n}\n",
                             {{"M", 3}, {"N", 8}, {"R", c.rotated}});
    for (int64_t m = 0; m < 3; ++m) {
      const Row x = row_of(run, "x", m, 8), g = row_of(run, "g", m, 8), b = row_of(run, "b", m, 8);
      const Row expected = c.value(x, g, b, row_of(run, "c", m, c.rotated / 2), row_of(run, "s", m, c.rotated / 2));
      REQUIRE(expected.size() == static_cast<size_t>(run.after.at("y").shape[1]));
      for (size_t i = 0; i < expected.size(); ++i) {
        CHECK(run("y", {m, static_cast<int64_t>(i)}) == Approx(expected[i]).epsilon(1e-9).margin(1e-12));
      }
    }
  }
}

TEST_CASE("prelude: functions of several arguments") {
  for (const PreludeProgram& program : prelude_programs()) {
    INFO(program.text);
    program.check(evaluate(program.text, kPreludeSizes));
  }
}

TEST_CASE("prelude: every function has a case") {
  std::set<std::string> tested;
  for (const Elementwise& c : elementwise()) tested.insert(c.name);
  for (const Rowwise& c : rowwise()) tested.insert(c.name);
  for (const PreludeProgram& program : prelude_programs()) tested.insert(program.names.begin(), program.names.end());
  SourceMap sources;
  Diagnostics diagnostics(sources);
  size_t functions = 0;
  for (const PreludeFile& file : prelude_files()) {
    const auto module = parse(sources.add(std::string(file.name), std::string(file.text)), sources, diagnostics);
    REQUIRE(module);
    for (const ast::Item& item : module->items) {
      const auto* function = std::get_if<ast::Function>(&item);
      REQUIRE(function != nullptr);
      INFO(function->name.text);
      CHECK(tested.count(function->name.text) == 1);
      ++functions;
    }
  }
  CHECK(functions == tested.size());
}

}  // namespace coda::test
