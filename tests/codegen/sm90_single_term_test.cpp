// Which sums are of one term only, and which of those whoever has the column leaves for the finish.
#include "compiler/codegen/sm90_single_term.h"

#include <catch2/catch.hpp>

#include "sm90_programs.h"

namespace coda {
namespace {

enum class Found : uint8_t { Sum, Single, Direct };

/// Of the first statistic of a kernel with `s` as its only output.
Found found(const std::string& output, const std::string& body, const Bindings& bound = {}) {
  const std::string text = "kernel k(a: bf16[M, K], b: bf16[N, K], t: i32[M], f: f32[M], u: f32[N]) -> (s: " + output +
                           ") {\n  let z = a @ b.T\n  s = " + body + "\n}\n";
  std::string report;
  const auto epilogue = test::lower_text({"k", text, bound}, report);
  INFO(text << report);
  REQUIRE(epilogue);
  REQUIRE_FALSE(epilogue->statistics.empty());
  const Statistic& statistic = epilogue->statistics[0];
  const auto term = sm90_single_term(*epilogue, statistic, statistic.parts[0]);
  CHECK((term && term->direct) == sm90_direct_term(*epilogue, statistic).has_value());
  return !term ? Found::Sum : term->direct ? Found::Direct : Found::Single;
}

}  // namespace

TEST_CASE("a column of each row is left by whoever has it") {
  CHECK(found("f32[M]", "gather(z, N = t)") == Found::Direct);
  CHECK(found("f32[M]", "gather(f * z + u, N = t - 7)") == Found::Direct);
  CHECK(found("f32[M]", "sum(select(t == index(N), z, 0), over = N)") == Found::Direct);
}

TEST_CASE("a sum of one term is combined where its place is not known so") {
  // A number that is not whole is no column, which the finish could not tell.
  CHECK(found("f32[M]", "sum(select(f == index(N), z, 0), over = N)") == Found::Single);
}

TEST_CASE("other sums of selected terms are sums") {
  CHECK(found("f32[M]", "sum(select(index(N) <= t, z, 0), over = N)") == Found::Sum);
  CHECK(found("f32[M]", "sum(select(index(N) == t, z, 1), over = N)") == Found::Sum);
  CHECK(found("f32[M]", "sum(select(index(N) == i32(u), z, 0), over = N)") == Found::Sum);
  CHECK(found("f32[M]", "sum(select(index(N) == t, z, 0) + 1, over = N)") == Found::Sum);
}

}  // namespace coda
