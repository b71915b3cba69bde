#include <catch2/catch.hpp>

#include "dsl/dump.h"
#include "tests/dsl/corpus.h"
#include "tests/dsl/one_file.h"

using namespace coda;

namespace {

/// The formatted text, after the checks that hold for every text.
std::string checked(const std::string& text) {
  const std::string once = formatted(text);
  INFO(text << "\n--\n" << once);
  const OneFile before(text), after(once);
  REQUIRE(before.module);
  REQUIRE(after.module);
  CHECK(dump(*before.module) == dump(*after.module));
  CHECK(formatted(once) == once);
  return once;
}

std::string value(const std::string& expression) {
  const std::string text = checked("fn f(x) = " + expression);
  return text.substr(10, text.size() - 11);
}

}  // namespace

TEST_CASE("a text without items keeps its comments alone") {
  CHECK(checked("").empty());
  CHECK(checked(" \n\t\n").empty());
  CHECK(checked("// a\n\n\n\n  // b") == "// a\n\n// b\n");
  CHECK(formatted("fn").empty());
}

TEST_CASE("spaces, line ends and a byte order mark are normalised") {
  CHECK(checked("\xEF\xBB\xBF"
                "coda   1\r\nfn  f( x,y )=x+\r\n y\t\r\n") == "coda 1\nfn f(x, y) = x + y\n");
}

TEST_CASE("parentheses follow from the tree") {
  CHECK(value("((a + b)) * (c)") == "(a + b) * c");
  CHECK(value("a - (b - c) - d") == "a - (b - c) - d");
  CHECK(value("(a * b) * c") == "a * b * c");
  CHECK(value("a * (b * c)") == "a * (b * c)");
  CHECK(value("a @ w.T * r") == "(a @ w.T) * r");
  CHECK(value("r * a @ w.T") == "(r * a) @ w.T");
  CHECK(value("(a @ b) @ c") == "a @ b @ c");
  CHECK(value("(-a) ** 2") == "(-a)**2");
  CHECK(value("-(a ** 2)") == "-a**2");
  CHECK(value("(a ** 2) ** 3") == "(a**2)**3");
  CHECK(value("a ** (-2)") == "a**-2");
  CHECK(value("(not a) == b") == "(not a) == b");
  CHECK(value("not (a == b)") == "not a == b");
  CHECK(value("(a < b) == c") == "(a < b) == c");
  CHECK(value("(a and b) or c") == "a and b or c");
  CHECK(value("a and (b or c)") == "a and (b or c)");
  CHECK(value("(a + b).T") == "(a + b).T");
  CHECK(value("(a.T)[M as N]") == "a.T[M as N]");
  CHECK(value("(a, (b, c))") == "(a, (b, c))");
  CHECK(value("- - a") == "--a");
}

TEST_CASE("products are tight where something looser is around them") {
  CHECK(value("a*b") == "a * b");
  CHECK(value("a * cos - b * sin") == "a*cos - b*sin");
  CHECK(value("mean(x * x, over = K)") == "mean(x*x, over = K)");
  CHECK(value("f(g(x) * y)") == "f(g(x) * y)");
  CHECK(value("p * (1 - lr * wd)") == "p * (1 - lr*wd)");
  CHECK(value("z[2 * F as G]") == "z[2*F as G]");
  CHECK(value("x + a @ b") == "x + a @ b");
}

TEST_CASE("clauses have lines of their own, blank lines surround what has a body") {
  CHECK(checked("import \"a\"\nimport \"b\"\n\n\nfn f(x) = x\nkernel k[T:bf16|f16](x:T[M,2 * K]) -> (y:T[M]) where "
                "M%2==0,K>=1 schedule{a=1\nb=2}{y=x}\nfn g(x) {let y=x\n\n\ny}\ngrad k wrt(x,w:f32+=)") ==
        R"(import "a"
import "b"

fn f(x) = x

kernel k[T: bf16 | f16](x: T[M, 2*K]) -> (y: T[M])
where M % 2 == 0, K >= 1
schedule { a = 1, b = 2 } {
    y = x
}

fn g(x) {
    let y = x

    y
}

grad k wrt (x, w: f32 +=)
)");
}

TEST_CASE("long signatures and expressions are filled") {
  CHECK(
      checked("kernel kernel_of_some_length(first_operand: bf16[M, K], second_operand: bf16[N, K], third_operand: "
              "bf16[M, N], gain: f32[N]) -> (result: bf16[M, N], "
              "statistics: f32[M]) { result = first_operand @ second_operand.T + third_operand * gain + "
              "some_function(third_operand, gain, over = last(third_operand)) + another_function(gain) + gain }") ==
      R"(kernel kernel_of_some_length(first_operand: bf16[M, K], second_operand: bf16[N, K], third_operand: bf16[M, N],
                             gain: f32[N]) -> (result: bf16[M, N], statistics: f32[M]) {
    result = first_operand @ second_operand.T + third_operand*gain +
        some_function(third_operand, gain, over = last(third_operand)) + another_function(gain) + gain
}
)");
}

TEST_CASE("comments stay with what follows them or stands before them") {
  CHECK(checked(R"(// The file.

coda 1  // the version

// About f.
// More.
fn f(x) = // why
   x
// Between.


// About k.
kernel k(x: f32[M],   // the input
   // the weight
   w: f32[N], s: f32) -> (y: f32[M]) // result
// condition
where M % 2 == 0 {
   // first

   let a = x +  // left
     // own
     w // after


   // before
   y = f(a, // one
      s // lost its place
      )
   // last
}
// end
)") == R"(// The file.

coda 1  // the version

// About f.
// More.
fn f(x) =  // why
    x

// Between.

// About k.
kernel k(x: f32[M],  // the input
         // the weight
         w: f32[N], s: f32) -> (y: f32[M])  // result
// condition
where M % 2 == 0 {
    // first

    let a = x +  // left
        // own
        w  // after

    // before
    y = f(a,  // one
          s)  // lost its place
    // last
}
// end
)");
}

TEST_CASE("a comment that loses its place doesn't become documentation") {
  CHECK(checked("fn f(x) = (x // one\n // two\n )\n// three\nfn g(x) = x\n") ==
        "fn f(x) = x  // one\n// two\n\n// three\nfn g(x) = x\n");
  CHECK(checked("fn f(x) = (x\n // two\n )\nfn g(x) = x\n") == "fn f(x) = x\n// two\n\nfn g(x) = x\n");
}

TEST_CASE("trailing comments of neighbouring lines are aligned") {
  CHECK(checked("fn f(x) {\nlet a = x // one\nlet bcd = x // two\n\nlet e = x // three\ne\n}") ==
        "fn f(x) {\n    let a = x    // one\n    let bcd = x  // two\n\n    let e = x  // three\n    e\n}\n");
}

TEST_CASE("a value that begins with a minus is put in parentheses where it begins a line") {
  CHECK(checked("fn f(x) {\n let a = x\n (-a + 1) * 2\n}") == "fn f(x) {\n    let a = x\n    (-a + 1) * 2\n}\n");
  CHECK(checked("fn f(x) {\n let a = x\n (-a + 1)\n}") == "fn f(x) {\n    let a = x\n    (-a + 1)\n}\n");
  CHECK(checked("fn f(x) {\n ((-x)) \n}") == "fn f(x) = -x\n");
}

TEST_CASE("every comment of every program of the repository is kept") {
  for (const CorpusText& text : coda_files({"dsl/prelude", "examples", "tests"})) {
    INFO(text.origin);
    if (!OneFile(text.text).module) continue;
    const std::string canonical = checked(text.text);
    const auto slashes = [](const std::string& s) {
      size_t count = 0;
      for (size_t at = s.find("//"); at != std::string::npos; at = s.find("//", at + 2)) ++count;
      return count;
    };
    CHECK(slashes(canonical) == slashes(text.text));
  }
}

TEST_CASE("one expression is formatted on one line") {
  const OneFile parsed("fn f(x) = sum(x *\n  x, over = M) + 1 // c\n");
  REQUIRE(parsed.module);
  const auto& function = std::get<ast::Function>(parsed.module->items[0]);
  CHECK(format(*std::get<ast::Result>(function.body[0]).value) == "sum(x*x, over = M) + 1");
}
