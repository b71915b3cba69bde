// A call of each function of the prelude.
#include "tests/codegen/matrix_words.h"

namespace coda::test {
namespace {

struct Call {
  const char *name, *value, *lets = "", *type = "";
  double ulps = 16;
};

constexpr Call kElementwise[] = {
    {"silu", "silu(z)"},
    {"gelu", "gelu(z)"},
    {"gelu_erf", "gelu_erf(z)"},
    {"gelu_tanh", "gelu_tanh(z)"},
    {"gelu_quick", "gelu_quick(z)"},
    {"relu", "relu(z)"},
    {"relu_squared", "relu_squared(z)"},
    {"leaky_relu", "leaky_relu(z)"},
    {"elu", "elu(z, alpha = 0.5)"},
    {"softplus", "softplus(z)"},
    {"mish", "mish(z)"},
    {"hard_sigmoid", "hard_sigmoid(z)"},
    {"hard_swish", "hard_swish(z)"},
    {"softcap", "softcap(z, 2)"},
    {"silu_slope", "silu_slope(z)"},
    {"gelu_tanh_slope", "gelu_tanh_slope(z)"},
    {"clamp", "clamp(z, -1, 2)"},
    {"square", "square(z)"},
    {"lerp", "lerp(z, u, 0.25)"},
    {"clamped_gate", "clamped_gate(z, u, 1, 2)"},
    {"one_hot", "z + one_hot(t, N)"},
    {"layerscale", "layerscale(u, z, c)"},
    {"causal", "causal(z, M, N)"},
    {"keep_first", "keep_first(z, 5)"},
    {"infinity", "select(z > 0, infinity(), z)"},
    {"first_greatest", "best", "    let (best, at) = first_greatest((z, index(N)), (u, index(N)))\n"},
    {"join_moments", "joined", "    let (n, mu, joined) = join_moments((1, z, 0), (2, u, 0.5))\n"},
    {"exponent", "exponent(abs(z) + 0.001)"},
    {"scale_exact", "scale_exact(abs(z), 448)"},
    {"scale_ceil", "scale_ceil(abs(z), 448)"},
    {"scale_floor", "scale_floor(abs(z), 448)"},
    {"saturate_e4m3", "saturate_e4m3(256 * z)", "", "e4m3"},
    {"saturate_e5m2", "saturate_e5m2(32768 * z)", "", "e5m2"},
    {"saturate_i8", "saturate_i8(64 * z)", "", "i8"},
    {"e2m1_code", "e2m1_code(e2m1(2 * z))"},
    {"random", "random(z, 7, offset = 2)"},
    {"dropout", "dropout(z, 0.25, 7)"},
    {"stochastic", "stochastic(z, 7, 11)", "", "bf16"},
};

constexpr Call kRows[] = {
    {"target_logit", "target_logit(z, t)"},
    {"cross_entropy", "cross_entropy(z, t)"},
    {"smoothed_cross_entropy", "smoothed_cross_entropy(z, t)"},
    {"softmax_cross_entropy", "softmax_cross_entropy(z, t, ignore = 2, smoothing = 0.125, z_weight = 0.25)"},
    {"weighted_cross_entropy", "weighted_cross_entropy(z, t, c)"},
    {"z_loss", "z_loss(logsumexp(z, over = N), weight = 0.5)"},
    {"rms_factor", "rms_factor(z)"},
    {"argmax", "argmax(z, over = N)", "", "i64"},
    {"argmin", "argmin(z, over = N)", "", "i32"},
    {"moments", "m1 + m2", "    let (m1, m2) = moments(z, over = N)\n"},
    {"variance", "variance(z + 16, over = N)"},
    {"deviation", "deviation(z, over = N)"},
};

constexpr Call kGated[] = {
    {"swiglu", "swiglu(z)"},
    {"geglu", "geglu(z)"},
    {"geglu_tanh", "geglu_tanh(z)"},
    {"reglu", "reglu(z)"},
    {"glu", "glu(z)"},
    {"swiglu_clamped", "swiglu_clamped(z, limit = 1)"},
    {"swiglu_pairs", "swiglu_pairs(z)"},
    {"geglu_pairs", "geglu_pairs(z)"},
    {"swiglu_clamped_pairs", "swiglu_clamped_pairs(z, limit = 1)"},
    {"pack_e2m1", "pack_e2m1(2 * z)", "", "u8"},
};

constexpr Call kHeads[] = {
    {"rmsnorm", "rmsnorm(z, c)"},
    {"layernorm", "layernorm(z, c, c)"},
    {"standardise", "standardise(z)"},
    {"l2norm", "l2norm(z)"},
    {"softmax", "softmax(z)"},
    {"log_softmax", "log_softmax(z)"},
    {"rope", "rope(z, all_cos, all_sin)"},
    {"rope_interleaved", "rope_interleaved(z, all_cos, all_sin)"},
    {"rope_partial", "rope_partial(z, few_cos, few_sin)"},
    {"rope_partial_interleaved", "rope_partial_interleaved(z, few_cos, few_sin)"},
    {"rope_last", "rope_last(z, few_cos, few_sin)"},
    {"rope_offset", "rope_offset(z, few_cos, few_sin, 4)"},
    {"rope_frequency", "rope(z, rope_frequency(Dh/2, base = 100), all_sin)"},
    {"rope_at", "rope_at(z, t, rope_frequency(Dh/2, base = 100))"},
};

void add(std::vector<MatrixWord>& words, const Call& call, MatrixForm form, const char* dims, double ulps) {
  words.push_back({call.name, form, call.lets, call.value, dims, call.type, false, ulps});
}

}  // namespace

std::vector<MatrixWord> prelude_words() {
  std::vector<MatrixWord> words;
  for (const Call& call : kElementwise) add(words, call, MatrixForm::Whole, "M, N", 16);
  for (const Call& call : kRows) add(words, call, MatrixForm::Whole, "M", 400);
  for (const Call& call : kGated) add(words, call, MatrixForm::Gated, "M, F", 16);
  for (const Call& call : kHeads) add(words, call, MatrixForm::Heads, "M, H, Dh", 64);
  words.push_back({"groupnorm", MatrixForm::Blocks, "", "groupnorm(z, c, c, 16)", "M, N", "", false, 64});
  return words;
}

}  // namespace coda::test
