// The verdict of --verify: it passes rounding, and nothing else.
#include "tools/codac/compare.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace coda;

namespace {

constexpr int64_t kRows = 16, kColumns = 64;

std::vector<ComparedElement> rounded(DType dtype, double scale) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, scale);
  std::vector<ComparedElement> elements;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    double want = normal(random);
    elements.push_back({i / kColumns, i, round_to(want, dtype), want});
  }
  return elements;
}

}  // namespace

TEST_CASE("rounding to the stored type passes, at any scale") {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::E4M3, DType::E5M2}) {
    for (double scale : {1e-2, 1.0, 50.0}) {
      CAPTURE(std::string(info(dtype).name), scale);
      Comparison result = compare(rounded(dtype, scale), dtype, error_bound(dtype, {.depth = 4096}), false);
      CHECK(result.passed);
      // In 32 bits the accumulation's part is larger than what is rounded here; elsewhere the bound is not absurdly
      // wide.
      if (dtype != DType::F32) CHECK(result.worst > 0.05);
    }
  }
}

TEST_CASE("elements that are all alike round alike") {
  auto elements = rounded(DType::E4M3, 1);
  for (auto& e : elements) e.want = 1.05, e.got = round_to(e.want, DType::E4M3);
  const ErrorBound bound = error_bound(DType::E4M3, {.depth = 64});
  CHECK(compare(elements, DType::E4M3, bound, false).passed);
  for (auto& e : elements) e.got = 1.125;  // beside the nearest one
  CHECK_FALSE(compare(elements, DType::E4M3, bound, false).passed);
}

TEST_CASE("one wrong element fails") {
  auto elements = rounded(DType::BF16, 1);
  auto bound = error_bound(DType::BF16, {.depth = 4096});
  elements[100].got += 0.05;
  Comparison result = compare(elements, DType::BF16, bound, false);
  CHECK_FALSE(result.passed);
  CHECK(result.beyond == 1);
  CHECK(result.at.index == 100);
}

TEST_CASE("small errors everywhere fail by their RMS") {
  auto elements = rounded(DType::BF16, 1);
  for (auto& e : elements) e.got = e.want + 0.0045 * std::abs(e.want) + 0.0005;
  CHECK_FALSE(compare(elements, DType::BF16, error_bound(DType::BF16, {.depth = 64}), false).passed);
}

TEST_CASE("zeros do not pass trivially") {
  auto elements = rounded(DType::BF16, 1);
  auto bound = error_bound(DType::BF16, {.depth = 64});
  for (auto& e : elements) e.got = e.want = 0;
  CHECK_FALSE(compare(elements, DType::BF16, bound, false).passed);
  CHECK(compare(elements, DType::BF16, bound, true).passed);
  auto zero_output = rounded(DType::BF16, 1e-9);
  for (auto& e : zero_output) e.got = 0;
  CHECK_FALSE(compare(zero_output, DType::BF16, bound, false).passed);
}

TEST_CASE("poison and lost infinities fail") {
  auto bound = error_bound(DType::F32, {.depth = 64});
  auto elements = rounded(DType::F32, 1);
  elements[3].got = NAN;
  CHECK_FALSE(compare(elements, DType::F32, bound, false).passed);
  elements = rounded(DType::F32, 1);
  elements[3].want = -INFINITY;
  CHECK_FALSE(compare(elements, DType::F32, bound, false).passed);
  elements[3].got = -INFINITY;
  CHECK(compare(elements, DType::F32, bound, false).passed);
  for (auto& e : elements) e.got = e.want = NAN;
  CHECK_FALSE(compare(elements, DType::F32, bound, false).passed);
}

TEST_CASE("infinities that are right are evidence, as long as something is finite") {
  const auto bound = error_bound(DType::F32, {.depth = 64});
  auto elements = rounded(DType::F32, 1);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i % 8 != 0) elements[i].got = elements[i].want = -INFINITY;  // a causal mask and more
  }
  CHECK(compare(elements, DType::F32, bound, false).passed);
  elements[1].got = INFINITY;
  CHECK_FALSE(compare(elements, DType::F32, bound, false).passed);
  elements[1].got = -1e38;
  CHECK_FALSE(compare(elements, DType::F32, bound, false).passed);
  for (auto& e : elements) e.got = e.want = -INFINITY;
  CHECK_FALSE(compare(elements, DType::F32, bound, false).passed);
  // Overflow of the stored type keeps the sign.
  elements = rounded(DType::F16, 1);
  elements[5].want = 1e6;
  elements[5].got = INFINITY;
  CHECK(compare(elements, DType::F16, error_bound(DType::F16, {.depth = 64}), false).passed);
  elements[5].got = -INFINITY;
  CHECK_FALSE(compare(elements, DType::F16, error_bound(DType::F16, {.depth = 64}), false).passed);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i % 8 != 0) elements[i].got = elements[i].want = NAN;
  }
  CHECK_FALSE(compare(elements, DType::F16, error_bound(DType::F16, {.depth = 64}), false).passed);
}

TEST_CASE("whole numbers must be equal") {
  auto bound = error_bound(DType::I32, {.depth = 4096});
  std::vector<ComparedElement> elements{{0, 0, 5, 5}, {0, 1, 7, 7}};
  CHECK(compare(elements, DType::I32, bound, false).passed);
  elements[1].got = 8;
  CHECK_FALSE(compare(elements, DType::I32, bound, false).passed);
  elements = {{0, 0, 0x1p60 + 256, 0x1p60}, {0, 1, 7, 7}};
  Comparison large = compare(elements, DType::I64, bound, false);
  CHECK(large.passed);
  CHECK(large.imprecise == 1);
  elements[0].got = 0x1p60 + 1024;
  CHECK_FALSE(compare(elements, DType::I64, bound, false).passed);
}

TEST_CASE("the bound grows with depth and coarser types") {
  CHECK(error_bound(DType::F32, {.depth = 16384}).scaled > error_bound(DType::F32, {.depth = 64}).scaled);
  CHECK(error_bound(DType::BF16, {.depth = 64}).relative > error_bound(DType::F16, {.depth = 64}).relative);
}

TEST_CASE("what kept tensors do to an element is allowed for that element alone, once computed") {
  const KeptRoundings assumed{.sum = 0x1p-7}, computed{.sum = 0x1p-7, .computed = true};
  const auto wide = error_bound(DType::F32, {.depth = 64, .kept = assumed}),
             narrow = error_bound(DType::F32, {.depth = 64, .kept = computed});
  CHECK(narrow.scaled < wide.scaled);
  CHECK(narrow.relative < wide.relative);
  auto elements = rounded(DType::F32, 1);
  elements[100].got += 0.2;
  CHECK_FALSE(compare(elements, DType::F32, narrow, false).passed);
  elements[100].kept = 0.2;
  CHECK(compare(elements, DType::F32, narrow, false).passed);
  elements[101].got += 0.2;
  CHECK(compare(elements, DType::F32, narrow, false).at.index == 101);
}

TEST_CASE("a whole number beyond its type is stored as the nearest one") {
  const auto passes = [](double got, double want, DType dtype) {
    return compare({{0, 0, got, want}, {0, 1, 3, 3}}, dtype, error_bound(dtype, {.depth = 64}), false).passed;
  };
  CHECK(passes(127, 138, DType::I8));
  CHECK(passes(-128, -1e6, DType::I8));
  CHECK(passes(0, -9, DType::U8));
  CHECK_FALSE(passes(126, 138, DType::I8));
  CHECK_FALSE(passes(127, 126, DType::I8));
}
