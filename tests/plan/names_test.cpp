// What dimensions are called decides nothing: programs whose names sort the other way round have the same plans, and
// their tensors lie in memory in the same order.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "../elaborate/compile.h"
#include "compiler/plan/plan.h"
#include "dsl/diagnostics.h"
#include "tests/source_root.h"

namespace coda::test {

namespace {

const std::regex kDimension(R"((\.?)\b([A-Z][A-Za-z0-9]*)\b)");  // or `.T`

const std::string kAttention = R"(
block attn(q: bf16[B, H, T, Dh], k: bf16[B, H, S, Dh], v: bf16[B, H, S, Dh]) -> (o: bf16[B, H, T, Dh]) {
  o = softmax(q @ k.T / sqrt(Dh)) @ v
}
)";
const std::string kChain = R"(
block chain(x: bf16[M, D], w: bf16[F, D], v: bf16[N, F]) -> (y: bf16[M, N]) {
  y = softmax(x @ w.T) @ v.T
}
)";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(source_root() + "/" + path).rdbuf();
  return text.str();
}

/// Every dimension's new name: they sort in the opposite order.
std::map<std::string, std::string> reversed(const std::string& text) {
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), kDimension), end; it != end; ++it) {
    if ((*it)[1].length() == 0) names.insert((*it)[2]);
  }
  std::map<std::string, std::string> renamed;
  int rank = 99;
  for (const std::string& name : names) renamed[name] = "Q" + std::to_string(rank--);
  return renamed;
}

std::string with_names(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string result;
  auto rest = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), kDimension), end; it != end; ++it) {
    result.append(rest, text.begin() + it->position());
    result += (*it)[1].length() == 0 ? names.at((*it)[2]) : it->str();
    rest = text.begin() + it->position() + it->length();
  }
  return result.append(rest, text.end());
}

/// For each kernel its kind, and for each tensor its extents in the order of memory; every dimension has its own size.
std::vector<std::vector<int64_t>> layout(const std::string& text, const std::string& routine, const Bindings& sizes) {
  const Compiled compiled = compile(text, {.routine = routine});
  INFO(compiled.diagnostics);
  REQUIRE(compiled.program);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Plan plan;
  REQUIRE(plan_block(*compiled.program, {.sizes = sizes}, plan, diagnostics));
  std::vector<std::vector<int64_t>> all;
  for (const PlanKernel& kernel : plan.kernels) all.push_back({static_cast<int64_t>(kernel.kind)});
  for (const PlanTensor& tensor : plan.tensors) {
    std::vector<int64_t> extents;
    for (const NamedDim& dim : tensor.dims) extents.push_back(dim.extent.evaluate(sizes).value_or(-1));
    all.push_back(extents);
  }
  return all;
}

void compare(const std::string& text, const std::string& routine, const Bindings& sizes) {
  const std::map<std::string, std::string> names = reversed(text);
  Bindings renamed;
  for (const auto& [name, size] : sizes) renamed[names.count(name) ? names.at(name) : name] = size;
  INFO(routine << "\n" << with_names(text, names));
  CHECK(layout(text, routine, sizes) == layout(with_names(text, names), routine, renamed));
}

}  // namespace

TEST_CASE("plans do not depend on the names of dimensions") {
  compare(kAttention, "attn", {{"B", 2}, {"H", 3}, {"T", 640}, {"S", 512}, {"Dh", 64}});
  compare(kChain, "chain", {{"M", 1024}, {"D", 256}, {"F", 768}, {"N", 512}});
  const Bindings large{{"T", 8192}, {"D", 4096}, {"A", 2048}, {"F", 14336}, {"Hq", 32}, {"Hk", 8}, {"Dh", 128}};
  compare(text_of("tests/grad/plans/qwen3.coda"), "qwen3", large);
  compare(text_of("tests/grad/plans/qwen3.coda"), "qwen3_grad", large);
}

}  // namespace coda::test
