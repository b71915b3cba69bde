#include "cases.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/parser.h"
#include "dsl/prelude.h"
#include "tests/source_root.h"

namespace coda::test {

namespace {

namespace fs = std::filesystem;

ast::Module syntax_of(const std::string& text) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  auto module = parse(sources.add("test.coda", text), sources, diagnostics);
  REQUIRE(module);
  return std::move(*module);
}

/// Calls over x[M, N], g and b[N], c and s[N/2] (p and q[N/4] for partial rotations), t[M]. Empty: nothing flows
/// through it (whole numbers, roundings, random bits), or it is a reduction of its own, whose gradient is refused.
const std::map<std::string, std::string> kCalls = {
    {"silu", "silu(x)"},
    {"gelu", "gelu(x)"},
    {"gelu_erf", "gelu_erf(x)"},
    {"gelu_tanh", "gelu_tanh(x)"},
    {"gelu_quick", "gelu_quick(x)"},
    {"relu", "relu(x)"},
    {"relu_squared", "relu_squared(x)"},
    {"leaky_relu", "leaky_relu(x)"},
    {"elu", "elu(x, 2)"},
    {"softplus", "softplus(x)"},
    {"mish", "mish(x)"},
    {"hard_sigmoid", "hard_sigmoid(4*x)"},
    {"hard_swish", "hard_swish(4*x)"},
    {"softcap", "softcap(x, 1.5)"},
    {"swiglu", "swiglu(x)"},
    {"swiglu_pairs", "swiglu_pairs(x)"},
    {"geglu", "geglu(x)"},
    {"geglu_tanh", "geglu_tanh(x)"},
    {"reglu", "reglu(x)"},
    {"glu", "glu(x)"},
    {"clamp", "clamp(x, -0.7, 0.9)"},
    {"square", "square(x)"},
    {"lerp", "lerp(x, g, b)"},
    {"rmsnorm", "rmsnorm(x, g)"},
    {"rms_factor", "rms_factor(x)"},
    {"layernorm", "layernorm(x, g, b)"},
    {"standardise", "standardise(x)"},
    {"l2norm", "l2norm(x)"},
    {"rope", "rope(x, c, s)"},
    {"rope_interleaved", "rope_interleaved(x, c, s)"},
    {"rope_partial", "rope_partial(x, p, q)"},
    {"rope_partial_interleaved", "rope_partial_interleaved(x, p, q)"},
    {"target_logit", "target_logit(x, 2)"},
    {"cross_entropy", "cross_entropy(x, 2)"},
    {"smoothed_cross_entropy", "smoothed_cross_entropy(x, 2)"},
    {"softmax", "softmax(x)"},
    {"log_softmax", "log_softmax(x)"},
    {"z_loss", "z_loss(logsumexp(x, over = N))"},
    {"geglu_pairs", "geglu_pairs(x)"},
    {"clamped_gate", "clamped_gate(x, x*x, 3.7, 1.702)"},
    {"swiglu_clamped", "swiglu_clamped(x)"},
    {"swiglu_clamped_pairs", "swiglu_clamped_pairs(x)"},
    {"silu_slope", "silu_slope(x)"},
    {"gelu_tanh_slope", "gelu_tanh_slope(x)"},
    {"one_hot", "x * one_hot(2, N)"},
    {"layerscale", "layerscale(x, x*x, g)"},
    {"causal", "exp(causal(x, M, N))"},
    {"keep_first", "exp(keep_first(x, 5))"},
    {"groupnorm", "groupnorm(x, g, b, 4)"},
    {"dropout", "dropout(x, 0.3, 7)"},
    {"rope_last", "rope_last(x, p, q)"},
    {"rope_offset", "rope_offset(x, p, q, 2)"},
    {"rope_at", "rope_at(x, 3, c)"},
    {"softmax_cross_entropy", "softmax_cross_entropy(x, 2)"},
    {"weighted_cross_entropy", "weighted_cross_entropy(x, 2, g)"},
    {"rope_frequency", ""},
    {"exponent", ""},
    {"scale_exact", ""},
    {"scale_ceil", ""},
    {"scale_floor", ""},
    {"saturate_e4m3", ""},
    {"saturate_e5m2", ""},
    {"saturate_i8", ""},
    {"e2m1_code", ""},
    {"pack_e2m1", ""},
    {"random", ""},
    {"stochastic", ""},
    {"infinity", ""},
    {"first_greatest", ""},
    {"argmax", ""},
    {"argmin", ""},
    {"join_moments", ""},
    {"moments", ""},
    {"variance", ""},
    {"deviation", ""},
};

int64_t small_size(const std::string& symbol) {
  static const Bindings sizes{{"M", 5},  {"K", 6},   {"N", 7},  {"F", 3}, {"D", 6}, {"T", 5}, {"A", 4},
                              {"Hq", 3}, {"Hkv", 2}, {"Dh", 4}, {"V", 9}, {"H", 2}, {"B", 2}, {"S", 3}};
  const auto it = sizes.find(symbol);
  INFO("a size for " << symbol);
  REQUIRE(it != sizes.end());
  return it->second;
}

Bindings small_sizes(const Program& program) {
  Bindings sizes;
  for (const Param& param : program.params) {
    for (const NamedDim& dim : param.dims) {
      for (const std::string& symbol : dim.extent.symbols()) sizes[symbol] = small_size(symbol);
    }
  }
  return sizes;
}

const std::string kLlama = R"(
block llama(x: bf16[T, D], attn: bf16[T, A], wo: bf16[D, A], g1: bf16[D], g2: bf16[D], wgu: bf16[2*F, D],
            wd: bf16[D, F], wqkv: bf16[Hq*Dh + 2*Hkv*Dh, D], cos: f32[T, Dh/2], sin: f32[T, Dh/2])
    -> (y: bf16[T, D], q: bf16[T, Hq, Dh], k: bf16[T, Hkv, Dh], v: bf16[T, Hkv, Dh]) {
    let h = x + attn @ wo.T
    let (gate, up) = halves(rmsnorm(h, g1) @ wgu.T)
    y = h + (silu(gate) * up) @ wd.T
    let (a, b, c) = split(rmsnorm(y, g2) @ wqkv.T, Hq*Dh, Hkv*Dh, Hkv*Dh)
    q = rope(group(a, Dh), cos, sin)
    k = rope(group(b, Dh), cos, sin)
    v = group(c, Dh)
}
)";

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream stream(source_root() + "/" + path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<Case> language_cases() {
  const std::map<std::string, Bindings> cases = {
      // batches, repeated factors, a scalar parameter
      {"kernel b(x: f32[B, M, K], w: f32[B, K, N], s: f32) -> (z: f32[B, M, N]) {\n    let y = x @ w\n    z = "
       "s*y*y\n}\n",
       {{"B", 2}, {"M", 3}, {"K", 4}, {"N", 5}}},
      // a product of three operands that share a batch
      {"block b(x: f32[B, M, K], r: f32[B, K], w: f32[B, K, N]) -> (z: f32[B, M, N]) {\n    z = (x*r) @ w\n}\n",
       {{"B", 2}, {"M", 3}, {"K", 4}, {"N", 5}}},
      // a factor of rows inside the product, and one that depends on all its operands
      {"block b(x: f32[M, K], r: f32[M], w: f32[N, K]) -> (z: f32[M, N]) {\n    z = sum((x*r)*w*x*w, over = K)\n}\n",
       {{"M", 3}, {"K", 4}, {"N", 5}}},
      // renames, transposes and sums over several dimensions
      {"block b(x: f32[M, K]) -> (z: f32[M, M as M2]) {\n    z = x @ x[M as M2].T\n}\n", {{"M", 3}, {"K", 4}}},
      {"block b(x: f32[M, K], y: f32[K]) -> (z: f32, w: f32[M]) {\n    z = sum(x*y, over = (M, K))\n"
       "    w = mean(x*x, over = K) + max(y, over = K)\n}\n",
       {{"M", 3}, {"K", 4}}},
      // cuts and joins, literals among them
      {"block b(x: f32[M, 2*F + 6]) -> (z: f32[M, 2*F], w: f32[M, 6 as P], v: f32[M, 3 as Q]) {\n"
       "    let (a, b) = split(x, 2*F, P = 6)\n    let (c, d) = halves(a)\n    z = join_pairs(exp(c), d*c)\n"
       "    let (e, f) = pairs(b)\n    w = concat(e*e, f, P = 6)\n    v = (e*f)[3 as Q]\n}\n",
       {{"M", 3}, {"F", 2}}},
      {"block b(x: f32[M, G*4]) -> (z: f32[M, G*4], w: f32[M, G]) {\n    let y = group(x, P = 4)\n"
       "    w = max(y, over = P)\n    z = flatten(y * w)\n}\n",
       {{"M", 3}, {"G", 2}}},
      // a part that nothing uses: its gradient is 0
      {"block b(x: f32[M, 3*F]) -> (z: f32[M, F]) {\n    let (a, b, c) = split(x, F, F, F)\n    z = b*b\n}\n",
       {{"M", 3}, {"F", 2}}},
      // gathers of rows and of elements, selections, softmax
      {"block b(e: f32[V, D], t: i64[M], w: f32[N, D]) -> (z: f32[M, N]) {\n    z = gather(e, V = t) @ w.T\n}\n",
       {{"V", 4}, {"D", 3}, {"M", 6}, {"N", 2}}},
      {"block b(x: f32[M, V], t: i64[M], u: f32[M]) -> (z: f32[M], y: f32[M, V]) {\n"
       "    z = select(t == 1, u, logsumexp(x, over = V) - gather(x, V = t))\n    y = softmax(x) * u\n}\n",
       {{"V", 4}, {"M", 6}}},
      // an operand that is broadcast along what is joined or cut
      {"block b(u: f32[M], x: f32[M, N]) -> (z: f32[M]) {\n    z = sum(u * flatten(group(x, P = 2)) * x, over = "
       "N)\n}\n",
       {{"M", 3}, {"N", 4}}},
  };
  std::vector<Case> all;
  for (const auto& [text, sizes] : cases) all.push_back({text, program_of(text), sizes, {}});
  return all;
}

std::vector<Case> prelude_cases() {
  std::vector<Case> all;
  for (const PreludeFile& file : prelude_files()) {
    const ast::Module module = syntax_of(std::string(file.text));
    for (const ast::Item& item : module.items) {
      const auto* function = std::get_if<ast::Function>(&item);
      if (function == nullptr) continue;
      INFO("a new function of the prelude needs a call in tests/grad/cases.cpp: " << function->name.text);
      REQUIRE(kCalls.count(function->name.text) == 1);
      const std::string& call = kCalls.at(function->name.text);
      if (call.empty()) continue;
      const bool is_row = call.find("z_loss") == 0 || call.find("rms_factor") == 0 ||
                          call.find("cross_entropy") != std::string::npos || call.find("target_logit") == 0;
      const std::string text =
          "block b(x: f32[M, N], g: f32[N], b: f32[N], c: f32[N/2], s: f32[N/2], p: f32[N/4], q: f32[N/4])\n"
          "    -> (z: f32[M], w: f32[M]) {\n    let y = " +
          call + "\n    z = " + (is_row ? "y" : "sum(y, over = last(y))") +
          "\n    w = " + (is_row ? "y" : "sum(y*y*y, over = last(y))") + "\n}\n";
      Case made{call, program_of(text), {{"M", 3}, {"N", 8}}, {}};
      for (const Param& param : made.program.params) {
        const bool used =
            call.find(param.name + ",") != std::string::npos || call.find(param.name + ")") != std::string::npos;
        if (param.name == "x" || used) made.wrt.push_back({.parameter = param.name});
      }
      all.push_back(std::move(made));
    }
  }
  return all;
}

std::vector<Case> example_cases() {
  std::vector<Case> all;
  for (const auto& entry : fs::directory_iterator(fs::path(source_root()) / "examples")) {
    if (entry.path().extension() != ".coda") continue;
    const std::string text = read_file("examples/" + entry.path().filename().string());
    const ast::Module module = syntax_of(text);
    for (const ast::Item& item : module.items) {
      const auto* routine = std::get_if<ast::Routine>(&item);
      if (routine == nullptr) continue;
      Program program = program_of(text, routine->name.text);
      const Bindings sizes = small_sizes(program);
      all.push_back({entry.path().filename().string() + ": " + routine->name.text, std::move(program), sizes, {}});
    }
  }
  REQUIRE(all.size() >= 7);
  return all;
}

Case llama_case() {
  Program program = program_of(kLlama);
  const Bindings sizes = small_sizes(program);
  return {"llama", std::move(program), sizes, {}};
}

Case mlp_case() {
  Program program = program_of(read_file("examples/mlp_block.coda"));
  const Bindings sizes = small_sizes(program);
  return {"mlp", std::move(program), sizes, {}};
}

}  // namespace coda::test
