// Reductions of a program's own are printed with the function by which their states meet.
#include <catch2/catch.hpp>

#include "cases.h"
#include "compiler/print/print.h"

namespace coda::test {

namespace {

/// Printed, compiled again and run: the same values.
void check_again(const std::string& text, const Bindings& sizes) {
  const Program program = program_of(text);
  const std::string printed = to_source(program);
  INFO(printed);
  const Program again = program_of(printed);
  const Arrays values = made_up(program, sizes, 7);
  CHECK(difference(run(program, sizes, values), run(again, sizes, values)) < 1e-12);
}

}  // namespace

TEST_CASE("reductions of the prelude that are a program's own are printed as they mean") {
  const Bindings sizes{{"M", 4}, {"N", 6}};
  for (const char* value : {"argmax(x, over = N)", "argmin(x, over = M)", "variance(x, over = N)",
                            "deviation(x, over = N)", "argmax(x*x - g, over = N) + argmin(x, over = N)"}) {
    INFO(value);
    const std::string rows = std::string(value).find("over = M") == std::string::npos ? "M" : "N";
    check_again("block f(x: f32[M, N], g: f32[N]) -> (y: f32[" + rows + "]) {\n    y = f32(" + value + ")\n}\n", sizes);
  }
  check_again(
      "block f(x: f32[M, N]) -> (m: f32[M], v: f32[M], y: f32[M, N]) {\n    let (a, b) = moments(x, over = N)\n"
      "    m = a\n    v = b\n    y = (x - a) * rsqrt(b + 1)\n}\n",
      sizes);
}

TEST_CASE("reductions that a file defines are printed as they mean") {
  const Bindings sizes{{"M", 4}, {"N", 6}};
  check_again(R"(
fn longer(a, b) {
    let (x, n) = a
    let (y, m) = b
    (max(x, y), n + m)
}
fn product(a, b) = a * b

block f(x: f32[M, N], combine: f32[M]) -> (y: f32[M], p: f32[M], q: f32[N]) {
    let (most, count) = reduce((x*x, select(x > 0, 1, 0)), over = N, identity = (-1.0/0.0, 0), combine = longer)
    y = most / max(count, 1) + combine
    p = reduce(1 + x/8, over = N, identity = 1, combine = product)
    q = reduce(1 - x/8, over = M, identity = 1, combine = product)
}
)",
              sizes);
}

}  // namespace coda::test
