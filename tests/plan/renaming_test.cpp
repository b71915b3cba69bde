// Programs of several kinds under names in the order of the alphabet, in its reverse and rotated: each has the plan of
// the first, up to the names.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "../elaborate/compile.h"
#include "compiler/plan/plan.h"
#include "dsl/diagnostics.h"
#include "tests/source_root.h"

namespace coda::test {

namespace {

using Names = std::map<std::string, std::string>;

/// The text with each whole word that has another name under that name; `.T` is no name.
std::string renamed(const std::string& text, const Names& names) {
  std::string result, word;
  char before = ' ';
  for (const char c : text + "\n") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    const auto it = names.find(word);
    result += (it == names.end() || before == '.' ? word : it->second) + c;
    word.clear();
    before = c;
  }
  return result;
}

/// Each kept tensor with its type and its dimensions in order of memory, and what each kernel reads and writes.
std::string structure(const std::string& text) {
  const Compiled compiled = compile(text);
  INFO(text << compiled.diagnostics);
  REQUIRE(compiled.program);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Plan plan;
  REQUIRE(plan_block(*compiled.program, {}, plan, diagnostics));
  std::string result;
  for (const PlanKernel& kernel : plan.kernels) {
    result += "kernel " + std::to_string(static_cast<int>(kernel.kind)) + "\n";
    for (const Param& param : kernel.program.params) {
      result += "  " + param.name + ": " + std::string(info(param.dtype).name);
      for (const NamedDim& dim : param.dims) result += " " + dim.name;
      result += "\n";
    }
  }
  return result;
}

/// The extents of every tensor in order of memory, where dimensions are sums and products that have no name of their
/// own; each size is another.
std::vector<std::vector<int64_t>> extents(const std::string& text, const std::string& routine, const Bindings& sizes) {
  const Compiled compiled = compile(text, {.routine = routine});
  INFO(text << compiled.diagnostics);
  REQUIRE(compiled.program);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Plan plan;
  REQUIRE(plan_block(*compiled.program, {.sizes = sizes}, plan, diagnostics));
  std::vector<std::vector<int64_t>> all;
  for (const PlanKernel& kernel : plan.kernels) all.push_back({static_cast<int64_t>(kernel.kind)});
  for (const PlanTensor& tensor : plan.tensors) {
    std::vector<int64_t> own;
    for (const NamedDim& dim : tensor.dims) own.push_back(dim.extent.evaluate(sizes).value_or(-1));
    all.push_back(own);
  }
  return all;
}

void check(const std::string& text, const std::vector<std::string>& dims) {
  const std::string own = structure(text);
  // Names in the order of the alphabet, in its reverse, and rotated.
  for (size_t way = 0; way < 2 + dims.size(); ++way) {
    Names there, back;
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t place = way == 0 ? i : way == 1 ? dims.size() - 1 - i : (i + way - 1) % dims.size();
      const std::string name = std::string(1, static_cast<char>('A' + place)) + "d";
      there[dims[i]] = name;
      back[name] = dims[i];
    }
    const std::string other = renamed(text, there);
    INFO(other);
    CHECK(renamed(structure(other), back) == own + "\n");
  }
}

}  // namespace

TEST_CASE("renamed in every order, programs have the same plans") {
  check(
      "block attn(q: bf16[B, H, T, E], k: bf16[B, H, S, E], v: bf16[B, H, S, E]) -> (o: bf16[B, H, T, E]) {\n"
      "  o = softmax(q @ k.T / sqrt(E)) @ v\n}\n",
      {"B", "H", "T", "S", "E"});
  check(
      "block layers(x: bf16[M, K], w: bf16[F, K], w2: bf16[N, F], w3: bf16[N, M]) -> (y: bf16[M, M as P]) {\n"
      "  let h = relu(x @ w.T)\n  let z = h @ w2.T\n"
      "  y = (z * rsqrt(mean(z * z, over = N) + 1e-5)) @ w3[M as P]\n}\n",
      {"M", "K", "F", "N", "P"});
  check(
      "block looked_up(i: i32[L], e: bf16[V, D], w: bf16[F, D]) -> (y: bf16[L, F]) {\n"
      "  y = tanh(gather(e, V = i) * 2) @ w.T\n}\n",
      {"L", "V", "D", "F"});
  check(
      "block fp8(x: bf16[M, K], w: e4m3[F, K], w2: e4m3[N, F]) -> (y: bf16[M, N]) {\n"
      "  let (q, s) = quantize(x, e4m3, over = K)\n  let h: bf16 = relu((q @ w.T) * s)\n"
      "  let (p, r) = quantize(h, e4m3, over = F)\n  y = (p @ w2.T) * r\n}\n",
      {"M", "K", "F", "N"});
  check("block outer(a: f32[M], b: f32[K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = tanh(a * b) @ w.T\n}\n",
        {"M", "K", "N"});
}

TEST_CASE("renamed in reverse, a gradient with heads has the same plan") {
  std::ostringstream text;
  text << std::ifstream(source_root() + "/tests/grad/plans/qwen3.coda").rdbuf();
  const Bindings sizes{{"T", 8192}, {"D", 4096}, {"A", 2048}, {"F", 14336}, {"Hq", 32}, {"Hk", 8}, {"Dh", 128}};
  Names there;
  Bindings renamed_sizes;
  char last = 'Z';  // the names sort in the opposite order
  for (const auto& [name, size] : sizes) {
    there[name] = std::string(1, last--) + "d";
    renamed_sizes[there[name]] = size;
  }
  CHECK(extents(text.str(), "qwen3_grad", sizes) == extents(renamed(text.str(), there), "qwen3_grad", renamed_sizes));
}

TEST_CASE("what a pass keeps lies as what it reads") {
  const std::string plan = structure(
      "block attn(q: bf16[B, H, T, E], k: bf16[B, H, S, E], v: bf16[B, H, S, E]) -> (o: bf16[B, H, T, E]) {\n"
      "  o = softmax(q @ k.T / sqrt(E)) @ v\n}\n");
  CHECK(plan.find(": bf16 B H T S") != std::string::npos);
  CHECK(plan.find("B H S T") == std::string::npos);
  const std::string outer =
      structure("block outer(a: f32[M], b: f32[K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = tanh(a * b) @ w.T\n}\n");
  CHECK(outer.find(": bf16 M K") != std::string::npos);
}

TEST_CASE("what a product keeps lies by its rows, under whatever name they are read") {
  // Keys and values are rows of the same product as queries, read as S.
  const std::string plan = structure(
      "block attention(x: bf16[B, T, D], w: bf16[3*H*E, D]) -> (o: bf16[B, T, H, E]) where E = 64 {\n"
      "  let (zq, zk, zv) = split(x @ w.T, H*E, H*E, H*E)\n"
      "  let q: bf16 = group(zq, E)\n  let k: bf16 = group(zk, E)\n  let v: bf16 = group(zv, E)\n"
      "  let p: bf16 = softmax(0.125 * sum(q * k[T as S], over = E))\n  o = sum(p * v[T as S], over = S)\n}\n");
  INFO(plan);
  CHECK(plan.find("q: bf16 B T H E\n") != std::string::npos);
  size_t keys_and_values = 0;
  for (size_t at = 0; (at = plan.find(": bf16 B S H E\n", at)) != std::string::npos; ++at) ++keys_and_values;
  CHECK(keys_and_values == 4);  // written once and read once each
}

}  // namespace coda::test
