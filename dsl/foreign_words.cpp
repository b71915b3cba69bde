#include "dsl/foreign_words.h"

#include <algorithm>
#include <iterator>

namespace coda {

namespace {

struct Word {
  std::string_view word, instead;
};

constexpr std::string_view kReturn = "store a result as `y = …`; a `fn` ends with the expression that is its value";
constexpr std::string_view kLoop =
    "write one expression over whole tensors: dimensions are matched by name, without loops";
constexpr std::string_view kChoose = "choose by `select(condition, x, y)`";
constexpr std::string_view kDefine =
    "write `kernel f(x: bf16[M, K]) -> (y: bf16[M, K]) { … }`, or `fn f(x) = …` for a function";
constexpr Word kStatements[] = {{"return", kReturn},
                                {"yield", kReturn},
                                {"for", kLoop},
                                {"while", kLoop},
                                {"if", kChoose},
                                {"else", kChoose},
                                {"elif", kChoose},
                                {"def", kDefine},
                                {"func", kDefine},
                                {"function", kDefine},
                                {"lambda", kDefine},
                                {"void", kDefine},
                                {"class", kDefine},
                                {"var", "name a value with `let`"},
                                {"auto", "name a value with `let`"},
                                {"from", "write `import \"file.coda\"`"}};

constexpr std::string_view kProduct = "write a product as `x @ w.T`, or a sum of one as `sum(x*w, over = K)`";
constexpr std::string_view kRegroup =
    "`group(z, Dh)` makes two dimensions of one, `flatten(z)` one of two; their order is free";
constexpr std::string_view kBroadcast = "leave it out: operands are broadcast by the names of their dimensions";
constexpr std::string_view kCut = "take parts with `halves(z)`, `pairs(z)` or `split(z, A, B)`";
constexpr std::string_view kNumber = "write the number alone: it is broadcast";
constexpr std::string_view kNorm = "write `rmsnorm(x, gain)`, `layernorm(x, gain, bias)` or `l2norm(x)`";
constexpr std::string_view kMask = "write `causal(z, M, N)`, or `select(index(N) <= index(M), z, 0)`";
constexpr Word kFunctions[] = {{"matmul", kProduct},
                               {"mm", kProduct},
                               {"bmm", kProduct},
                               {"dot", kProduct},
                               {"linear", kProduct},
                               {"einsum", kProduct},
                               {"power", "write `x**2`, or `pow(x, y)` where the exponent is no number"},
                               {"transpose", "write `x.T`; outputs take their dimensions by name, in any order"},
                               {"permute", "write `x.T`; outputs take their dimensions by name, in any order"},
                               {"cat", "write `concat(a, b)`"},
                               {"concatenate", "write `concat(a, b)`"},
                               {"stack", "write `concat(a, b)`, or an output for each"},
                               {"chunk", kCut},
                               {"unbind", kCut},
                               {"slice", kCut},
                               {"reshape", kRegroup},
                               {"view", kRegroup},
                               {"rearrange", kRegroup},
                               {"unflatten", kRegroup},
                               {"unsqueeze", kBroadcast},
                               {"squeeze", kBroadcast},
                               {"expand", kBroadcast},
                               {"repeat", kBroadcast},
                               {"broadcast_to", kBroadcast},
                               {"contiguous", kBroadcast},
                               {"arange", "write `index(N)`, the coordinate along dimension N"},
                               {"iota", "write `index(N)`, the coordinate along dimension N"},
                               {"range", "write `index(N)`, the coordinate along dimension N"},
                               {"where", kChoose},
                               {"clip", "write `clamp(x, low, high)`"},
                               {"amax", "write `max(x, over = N)`"},
                               {"amin", "write `min(x, over = N)`"},
                               {"maximum", "write `max(x, y)`"},
                               {"minimum", "write `min(x, y)`"},
                               {"add", "write `x + y`"},
                               {"mul", "write `x * y`"},
                               {"norm", kNorm},
                               {"normalize", kNorm},
                               {"batchnorm", kNorm},
                               {"std", "write `deviation(x, over = N)`"},
                               {"var", "write `variance(x, over = N)`"},
                               {"zeros", kNumber},
                               {"ones", kNumber},
                               {"full", kNumber},
                               {"zeros_like", kNumber},
                               {"ones_like", kNumber},
                               {"swish", "write `silu(x)`"},
                               {"tril", kMask},
                               {"triu", kMask},
                               {"masked_fill", "write `select(condition, x, y)`"},
                               {"to", "cast by the type's name, as `bf16(x)`"},
                               {"astype", "cast by the type's name, as `bf16(x)`"},
                               {"cast", "cast by the type's name, as `bf16(x)`"},
                               {"print", "look at a value by storing it in an output"},
                               {"shape", "an extent is a symbol of the signature, as `N`"},
                               {"size", "an extent is a symbol of the signature, as `N`"}};

constexpr Word kTypes[] = {{"float16", "f16"},
                           {"half", "f16"},
                           {"fp16", "f16"},
                           {"float32", "f32"},
                           {"float", "f32"},
                           {"fp32", "f32"},
                           {"bfloat16", "bf16"},
                           {"bfloat", "bf16"},
                           {"float8_e4m3fn", "e4m3"},
                           {"float8_e4m3", "e4m3"},
                           {"fp8", "e4m3"},
                           {"f8", "e4m3"},
                           {"float8_e5m2", "e5m2"},
                           {"float4_e2m1", "e2m1"},
                           {"fp4", "e2m1"},
                           {"float8_e8m0fnu", "ue8m0"},
                           {"int", "i32"},
                           {"int32", "i32"},
                           {"long", "i64"},
                           {"int64", "i64"},
                           {"int8", "i8"},
                           {"uint8", "u8"},
                           {"byte", "u8"}};

constexpr std::string_view kLast = "leave it out: it works along the last dimension";
constexpr std::string_view kKeep = "leave it out: what lacks a dimension is broadcast over it by name";
constexpr Word kArguments[] = {
    {"dim", kLast},
    {"axis", kLast},
    {"keepdim", kKeep},
    {"keepdims", kKeep},
    {"approximate", "write `gelu_tanh(x)` for the form with tanh, `gelu(x)` for the exact one"},
    {"negative_slope", "write it as `slope`"},
    {"dtype", "cast by the type's name, as `f32(x)`; inside a program values are f32"},
    {"out", "store a result as `y = …`"},
    {"weight", "give the gain by its place, as `rmsnorm(x, gain)`"},
    {"inplace", "leave it out: a value never changes; `inout` parameters are updated in place"}};

constexpr std::string_view kModules[] = {"torch", "np", "numpy", "jnp", "jax", "tl", "triton", "nn", "F", "math"};

template <size_t N>
std::string_view find(const Word (&table)[N], std::string_view word) {
  const Word* found =
      std::find_if(std::begin(table), std::end(table), [&](const Word& row) { return row.word == word; });
  return found == std::end(table) ? std::string_view() : found->instead;
}

}  // namespace

std::string_view instead_of_statement(std::string_view word) { return find(kStatements, word); }
std::string_view instead_of_function(std::string_view name) { return find(kFunctions, name); }
std::string_view instead_of_argument(std::string_view keyword) { return find(kArguments, keyword); }
std::string_view instead_of_type(std::string_view name) { return find(kTypes, name); }

bool is_foreign_module(std::string_view name) {
  return std::find(std::begin(kModules), std::end(kModules), name) != std::end(kModules);
}

std::string instead_of_member(const std::string& text, const std::string& member, bool called) {
  const bool bracketed = text.size() > 2 && text.front() == '(' && text.find(')') == text.size() - 1;
  const std::string value = bracketed ? text.substr(1, text.size() - 2) : text;
  const std::string type(instead_of_type(member));
  if (!type.empty()) return "cast by the type's name, as `" + type + "(" + (value.empty() ? "x" : value) + ")`";
  const std::string known(instead_of_function(member));
  if (!known.empty()) return known;
  if (!called) return "`.T` swaps the last two dimensions; nothing else follows a `.`";
  if (is_foreign_module(value))
    return "write `" + member + "(…)` without `" + value + ".`: functions belong to no module";
  return "a function takes the value between its parentheses: `" + member + "(" + (value.empty() ? "…" : value) + ")`";
}

}  // namespace coda
