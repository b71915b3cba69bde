// Each rule of the language on a program of its own, evaluated by the reference and by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "evaluate.h"

namespace coda::test {
namespace {

const Bindings kSizes{{"M", 3}, {"N", 4}, {"K", 5}, {"B", 2}, {"F", 2}, {"H", 2}, {"Dh", 6}, {"V", 5}};

using Coordinates = std::vector<int64_t>;

/// Compares every element of `output` with `expected`.
void compare(const Run& run, const std::string& output, const std::function<double(const Coordinates&)>& expected) {
  const Array& array = run.after.at(output);
  REQUIRE(!array.values.empty());
  Coordinates at(array.shape.size(), 0);
  for (const double found : array.values) {
    CHECK(found == Approx(expected(at)).epsilon(1e-12).margin(1e-12));
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < array.shape[i]) break;
      at[i] = 0;
    }
  }
}

/// A kernel with the result `y` of this type.
Run result_of(const std::string& parameters, const std::string& type, const std::string& expression,
              const std::string& functions = "", std::map<std::string, std::vector<double>> given = {}) {
  return evaluate(functions + "kernel f(" + parameters + ") -> (y: " + type + ") {\n    y = " + expression + "\n}\n",
                  kSizes, std::move(given));
}

}  // namespace

TEST_CASE("operands broadcast by name and stores permute") {
  const Run run = result_of("x: f32[M, N], b: f32[N], r: f32[M], s: f32", "f32[N, M]", "(x + b) * r - s");
  compare(run, "y", [&](const Coordinates& at) {
    return (run("x", {at[1], at[0]}) + run("b", {at[0]})) * run("r", {at[1]}) - run("s");
  });
}

TEST_CASE("a value that lacks a dimension of the output is repeated along it") {
  const Run run = result_of("x: f32[M]", "f32[M, N]", "x * 2");
  compare(run, "y", [&](const Coordinates& at) { return 2 * run("x", {at[0]}); });
}

TEST_CASE("operators, precedence and powers") {
  const std::vector<double> x{0.5, 1.5, 2.5};
  const std::vector<std::pair<std::string, std::function<double(double)>>> cases = {
      {"1 - x / 2 * 3", [](double v) { return 1 - v / 2 * 3; }},
      {"-x ** 2", [](double v) { return -(v * v); }},
      {"x ** 3 - x ** 0", [](double v) { return v * v * v - 1; }},
      {"x ** -2", [](double v) { return 1 / (v * v); }},
      {"x ** 0.5 + x ** -0.5", [](double v) { return std::sqrt(v) + 1 / std::sqrt(v); }},
      {"x ** 1.5 + x ** 9", [](double v) { return std::pow(v, 1.5) + std::pow(v, 9); }},
      {"2 ** 3 + 7 / 2 + x", [](double v) { return 11.5 + v; }},
      {"select(x > 1 and not x > 2 or x == 0.5, x, -1)", [](double v) { return v <= 2 ? v : -1; }},
      {"max(x, 1) + min(x, 2)", [](double v) { return std::max(v, 1.0) + std::min(v, 2.0); }},
      {"select(true, exp(x), 0)", [](double v) { return std::exp(v); }},
      {"i32(x) + f32(x > 1)", [](double v) { return std::trunc(v) + (v > 1); }},
  };
  for (const auto& [expression, expected] : cases) {
    INFO(expression);
    const Run run = result_of("x: f32[M]", "f32[M]", expression, "", {{"x", x}});
    compare(run, "y", [&, &f = expected](const Coordinates& at) { return f(run("x", at)); });
  }
}

TEST_CASE("integers stay integers until they meet a real number") {
  const Run run = evaluate(R"(
kernel f(i: i64[M], j: i32[M]) -> (sum: i64[M], ratio: f32[M], product: f32[M], whole: i32[M], most: u8[M]) {
    sum = i * 2 + j - 1
    ratio = i / 2
    product = i * 0.5
    whole = floordiv(i - 3, 2) + mod(i, 2)
    most = max(i, j)
}
)",
                           kSizes);
  compare(run, "sum", [&](const Coordinates& at) { return run("i", at) * 2 + run("j", at) - 1; });
  compare(run, "ratio", [&](const Coordinates& at) { return run("i", at) / 2; });
  compare(run, "product", [&](const Coordinates& at) { return run("i", at) / 2; });
  compare(run, "whole",
          [&](const Coordinates& at) { return std::floor((run("i", at) - 3) / 2) + std::fmod(run("i", at), 2); });
  compare(run, "most", [&](const Coordinates& at) { return std::max(run("i", at), run("j", at)); });
}

TEST_CASE("matrix products by position") {
  Run run = result_of("a: f32[B, M, K], b: f32[B, K, N]", "f32[B, M, N]", "a @ b");
  compare(run, "y", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k) sum += run("a", {at[0], at[1], k}) * run("b", {at[0], k, at[2]});
    return sum;
  });
  run = result_of("a: f32[B, M, K], b: f32[K, N]", "f32[B, M, N]", "a @ b");
  compare(run, "y", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k) sum += run("a", {at[0], at[1], k}) * run("b", {k, at[2]});
    return sum;
  });
  run = result_of("a: f32[M, K], b: f32[K]", "f32[M]", "a @ b");
  compare(run, "y", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k) sum += run("a", {at[0], k}) * run("b", {k});
    return sum;
  });
  run = result_of("a: f32[K], b: f32[B, K, N]", "f32[B, N]", "a @ b");
  compare(run, "y", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k) sum += run("a", {k}) * run("b", {at[0], k, at[1]});
    return sum;
  });
  run = result_of("a: f32[K], b: f32[K]", "f32", "a @ b");
  compare(run, "y", [&](const Coordinates&) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k) sum += run("a", {k}) * run("b", {k});
    return sum;
  });
}

TEST_CASE("a renamed dimension is another dimension") {
  const Run run = result_of("x: f32[M, K]", "f32[M, M as M2]", "x @ x[M as M2].T");
  compare(run, "y", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k) sum += run("x", {at[0], k}) * run("x", {at[1], k});
    return sum;
  });
}

TEST_CASE("reductions over one dimension, several, and the last") {
  const Run run = evaluate(R"(
kernel f(x: f32[M, N, K]) -> (a: f32[M, N], b: f32[K], c: f32, d: f32[M, K], e: f32[N], g: f32[M], h: f32[M],
                              i: bool[M], j: bool[M]) {
    a = sum(x, over = last(x))
    b = mean(x, over = (M, N))
    c = absmax(x, over = (M, N, K))
    d = max(x, over = N)
    e = min(x, over = (K, M))
    g = prod(x[N as N2] / 2, over = (N2, K))
    h = logsumexp(x, over = (N, K))
    i = any(x > 1.75, over = (N, K))
    j = all(x < 2, over = (N, K))
}
)",
                           kSizes);
  auto fold = [&](const std::function<void(const Coordinates&, double)>& f) {
    for (int64_t m = 0; m < 3; ++m) {
      for (int64_t n = 0; n < 4; ++n) {
        for (int64_t k = 0; k < 5; ++k) f({m, n, k}, run("x", {m, n, k}));
      }
    }
  };
  std::map<std::string, std::map<Coordinates, double>> expected;
  fold([&](const Coordinates& at, double x) {
    auto update = [&](const std::string& name, const Coordinates& to, double start, auto combine) {
      auto [it, is_new] = expected[name].emplace(to, start);
      it->second = combine(it->second, x);
    };
    auto add = [](double a, double b) { return a + b; };
    update("a", {at[0], at[1]}, 0, add);
    update("b", {at[2]}, 0, [](double a, double b) { return a + b / 12; });
    update("c", {}, 0, [](double a, double b) { return std::max(a, std::abs(b)); });
    update("d", {at[0], at[2]}, -1e9, [](double a, double b) { return std::max(a, b); });
    update("e", {at[1]}, 1e9, [](double a, double b) { return std::min(a, b); });
    update("g", {at[0]}, 1, [](double a, double b) { return a * b / 2; });
    update("h", {at[0]}, 0, [](double a, double b) { return a + std::exp(b); });
    update("i", {at[0]}, 0, [](double a, double b) { return a != 0 || b > 1.75; });
    update("j", {at[0]}, 1, [](double a, double b) { return a != 0 && b < 2; });
  });
  for (auto& [to, value] : expected["h"]) value = std::log(value);
  for (const auto& [name, values] : expected) {
    INFO(name);
    compare(run, name, [&, &v = values](const Coordinates& at) { return v.at(at); });
  }
}

TEST_CASE("halves and pairs, and their joins") {
  Run run = evaluate(R"(
kernel f(x: f32[M, 2*F], z: f32[2*F, M]) -> (a: f32[M, F], b: f32[M, 2*F], c: f32[M, 2*F], d: f32[F, M]) {
    let (first, second) = halves(x)
    let (even, odd) = pairs(x)
    a = first - 2 * second
    b = join_halves(second, first)
    c = join_pairs(odd, even)
    let (top, bottom) = halves(z, dim = 2*F)
    d = top * bottom
}
)",
                     kSizes);
  compare(run, "a", [&](const Coordinates& at) { return run("x", at) - 2 * run("x", {at[0], at[1] + 2}); });
  compare(run, "b", [&](const Coordinates& at) { return run("x", {at[0], (at[1] + 2) % 4}); });
  compare(run, "c", [&](const Coordinates& at) { return run("x", {at[0], at[1] ^ 1}); });
  compare(run, "d", [&](const Coordinates& at) { return run("z", at) * run("z", {at[0] + 2, at[1]}); });
}

TEST_CASE("both halves of a literal extent agree, and join to what they came from") {
  const Run run = evaluate(R"(
kernel f(x: f32[M, 6 as D]) -> (y: f32[M, 6 as D], s: f32[M]) {
    let (a, b) = halves(x)
    y = join_halves(b, a) * x
    s = sum(a * b, over = 3)
}
)",
                           kSizes);
  compare(run, "y", [&](const Coordinates& at) { return run("x", {at[0], (at[1] + 3) % 6}) * run("x", at); });
  compare(run, "s", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t i = 0; i < 3; ++i) sum += run("x", {at[0], i}) * run("x", {at[0], i + 3});
    return sum;
  });
}

TEST_CASE("split, group, concat and flatten") {
  const Run run = evaluate(R"(
kernel f(x: f32[M, H*Dh + N], w: f32[M, 12]) -> (a: f32[Dh, M, H], b: f32[M, N + H*Dh], c: f32[M, H*Dh], d: f32[M, 3 as G],
                                               e: f32[H*M, Dh], p: f32[M, 5 as P]) {
    let (left, right) = split(x, H*Dh, N)
    let heads = group(left, Dh)
    a = heads
    b = concat(right, left)
    c = flatten(heads)
    d = sum(group(w, G = 3), over = 4)
    e = flatten(heads, dim = (H, M))
    let (u, v) = split(w, P = 5, Q = 7)
    p = u + sum(v, over = Q)
}
)",
                           kSizes);
  compare(run, "a", [&](const Coordinates& at) { return run("x", {at[1], at[2] * 6 + at[0]}); });
  compare(run, "b", [&](const Coordinates& at) { return run("x", {at[0], at[1] < 4 ? 12 + at[1] : at[1] - 4}); });
  compare(run, "c", [&](const Coordinates& at) { return run("x", at); });
  compare(run, "d", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t i = 0; i < 4; ++i) sum += run("w", {at[0], i * 3 + at[1]});
    return sum;
  });
  compare(run, "e", [&](const Coordinates& at) { return run("x", {at[0] % 3, at[0] / 3 * 6 + at[1]}); });
  compare(run, "p", [&](const Coordinates& at) {
    double sum = run("w", at);
    for (int64_t i = 5; i < 12; ++i) sum += run("w", {at[0], i});
    return sum;
  });
}

TEST_CASE("index, extents as numbers, and gather") {
  const Run run = evaluate(R"(
kernel f(x: f32[M, V], t: i64[M], u: i32[N, M]) -> (a: f32[M, V], b: f32[M], c: f32[N, M], d: i64) {
    a = select(index(V) <= index(M), x, V)
    b = gather(x, V = t - 1)
    c = gather(x, V = u)
    d = V * 2 + last(x)
}
)",
                           kSizes);
  compare(run, "a", [&](const Coordinates& at) { return at[1] <= at[0] ? run("x", at) : 5; });
  compare(run, "b", [&](const Coordinates& at) {
    const auto t = static_cast<int64_t>(run("t", at)) - 1;
    return t >= 0 ? run("x", {at[0], t}) : 0;
  });
  compare(run, "c", [&](const Coordinates& at) { return run("x", {at[1], static_cast<int64_t>(run("u", at))}); });
  compare(run, "d", [&](const Coordinates&) { return 15; });
}

TEST_CASE("functions: defaults, keywords, tuples, dimensions as arguments, shadowing") {
  const std::string functions = R"(
fn scaled(x, by = 2, plus = by_default()) = x * by + plus
fn by_default() = 0.5
fn both(x) = (x + 1, x - 1)
fn heads(x, size) {
    let g = group(x, size)
    max(g, over = size)
}
fn silu(x) = x * 100
)";
  Run run =
      result_of("x: f32[M]", "f32[M]", "scaled(x, plus = 3) + scaled(plus = x, by = 4, x = 2) + scaled(x)", functions);
  compare(run, "y", [&](const Coordinates& at) {
    const double x = run("x", at);
    return (x * 2 + 3) + (2 * 4 + x) + (x * 2 + 0.5);
  });
  run = result_of("x: f32[M, H*Dh]", "f32[M, H]", "heads(x, Dh)", functions);
  compare(run, "y", [&](const Coordinates& at) {
    double best = -1e9;
    for (int64_t i = 0; i < 6; ++i) best = std::max(best, run("x", {at[0], at[1] * 6 + i}));
    return best;
  });
  run = result_of("x: f32[M]", "f32[M]", "silu(x)", functions);
  compare(run, "y", [&](const Coordinates& at) { return run("x", at) * 100; });
  run = evaluate(functions + "kernel f(x: f32[M]) -> (y: f32[M], z: f32[M]) {\n    (y, z) = both(x)\n}\n", kSizes);
  compare(run, "y", [&](const Coordinates& at) { return run("x", at) + 1; });
  compare(run, "z", [&](const Coordinates& at) { return run("x", at) - 1; });
}

TEST_CASE("imports: paths are relative to the importing file, bodies see their own file") {
  const std::map<std::string, std::string> files{
      {"lib/one.coda", "import \"deep/two.coda\"\nfn hidden(x) = x * 3\nfn shared(x) = hidden(x) + offset()\n"},
      {"lib/deep/two.coda", "import \"../one.coda\"\nfn offset() = 7\n"}};
  const Run run = evaluate(R"(import "lib/one.coda"
fn hidden(x) = x * 1000
kernel f(x: f32[M]) -> (y: f32[M]) {
    y = shared(x)
}
)",
                           kSizes, {}, {}, reader_of(files));
  compare(run, "y", [&](const Coordinates& at) { return run("x", at) * 3 + 7; });
}

TEST_CASE("a typed let rounds, and may reorder; a cast rounds") {
  const Run run = evaluate(R"(
kernel f(x: f32[M, N]) -> (y: f32[M, N], z: f32[N, M], u: f32[M, N]) {
    let h: bf16[N, M] = x / 3
    y = h
    z = h * 3
    u = e4m3(x / 3)
}
)",
                           kSizes);
  auto third = [&](const Coordinates& at, DType type) { return round_to(run("x", at) * (1.0 / 3), type); };
  compare(run, "y", [&](const Coordinates& at) { return third(at, DType::BF16); });
  compare(run, "z", [&](const Coordinates& at) { return third({at[1], at[0]}, DType::BF16) * 3; });
  compare(run, "u", [&](const Coordinates& at) { return third(at, DType::E4M3); });
}

TEST_CASE("an inout accumulates and rebinds") {
  const Run run = evaluate(R"(
kernel f(x: f32[M, N], inout p: f32[M, N]) -> (before: f32[M, N], after: f32[M, N], s: f32[M]) {
    before = p
    p += x
    after = p
    p = p * 2
    s = sum(p * p, over = N)
}
)",
                           kSizes);
  compare(run, "before", [&](const Coordinates& at) { return run.old("p", at); });
  compare(run, "after", [&](const Coordinates& at) { return run.old("p", at) + run("x", at); });
  compare(run, "p", [&](const Coordinates& at) { return 2 * (run.old("p", at) + run("x", at)); });
  compare(run, "s", [&](const Coordinates& at) {
    double sum = 0;
    for (int64_t n = 0; n < 4; ++n) {
      sum += std::pow(2 * (run.old("p", {at[0], n}) + run("x", {at[0], n})), 2);
    }
    return sum;
  });
}

TEST_CASE("a chain of values too long for the passes that recurse over it is refused") {
  const auto chain = [](int length) {
    std::string text = "kernel k(x: f32[M]) -> (y: f32[M]) {\n  let a0 = x\n";
    for (int i = 1; i <= length; ++i) {
      text += "  let a" + std::to_string(i) + " = tanh(a" + std::to_string(i - 1) + ")\n";
    }
    return text + "  y = a" + std::to_string(length) + "\n}\n";
  };
  CHECK(compile(chain(1500)).program);
  const Compiled refused = compile(chain(20000));
  CHECK_FALSE(refused.program);
  CHECK(refused.diagnostics.find("too many values each need the one before") != std::string::npos);
}

}  // namespace coda::test
