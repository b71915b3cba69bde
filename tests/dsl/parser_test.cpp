#include <catch2/catch.hpp>

#include "dsl/dump.h"
#include "tests/dsl/one_file.h"

using namespace coda;

namespace {

/// The tree of the value of `fn f(x) = …`, fully parenthesised.
std::string grouped(const ast::Expr& expression) {
  struct Grouper {
    std::string operator()(const ast::NumberLit& node) const { return node.spelling; }
    std::string operator()(const ast::BoolLit& node) const { return node.value ? "true" : "false"; }
    std::string operator()(const ast::StringLit& node) const { return "'" + node.value + "'"; }
    std::string operator()(const ast::NameRef& node) const { return node.name; }
    std::string operator()(const ast::Unary& node) const { return "(" + node.op + " " + grouped(*node.operand) + ")"; }
    std::string operator()(const ast::Binary& node) const {
      return "(" + grouped(*node.left) + " " + node.op + " " + grouped(*node.right) + ")";
    }
    std::string operator()(const ast::Call& node) const {
      std::string out = node.callee.text + "(";
      for (const ast::Argument& argument : node.arguments) {
        if (out.back() != '(') out += ", ";
        if (argument.keyword) out += argument.keyword->text + "=";
        out += grouped(*argument.value);
      }
      return out + ")";
    }
    std::string operator()(const ast::Rename& node) const {
      std::string out = grouped(*node.operand) + "[";
      for (const auto& [extent, name] : node.renames) out += grouped(*extent) + " as " + name.text + ";";
      return out + "]";
    }
    std::string operator()(const ast::Transpose& node) const { return grouped(*node.operand) + ".T"; }
    std::string operator()(const ast::Tuple& node) const {
      std::string out = "<";
      for (const auto& element : node.elements) out += grouped(*element) + ",";
      return out + ">";
    }
  };
  return std::visit(Grouper(), expression.node);
}

std::string tree_of(const std::string& expression) {
  const OneFile parsed("fn f(x) = " + expression);
  INFO(parsed.diagnostics.render_text());
  REQUIRE(parsed.module);
  const auto& function = std::get<ast::Function>(parsed.module->items.at(0));
  return grouped(*std::get<ast::Result>(function.body.at(0)).value);
}

const ast::Routine& routine_of(const OneFile& parsed) {
  INFO(parsed.diagnostics.render_text());
  REQUIRE(parsed.module);
  return std::get<ast::Routine>(parsed.module->items.at(0));
}

}  // namespace

TEST_CASE("operators bind as in Python, comparisons do not chain") {
  CHECK(tree_of("a + b * c") == "(a + (b * c))");
  CHECK(tree_of("a - b - c") == "((a - b) - c)");
  CHECK(tree_of("a * b @ c / d") == "(((a * b) @ c) / d)");
  CHECK(tree_of("-a ** 2") == "(- (a ** 2))");
  CHECK(tree_of("a ** -b ** c") == "(a ** (- (b ** c)))");
  CHECK(tree_of("-a * b") == "((- a) * b)");
  CHECK(tree_of("a * -b") == "(a * (- b))");
  CHECK(tree_of("a.T @ b[M as N].T") == "(a.T @ b[M as N;].T)");
  CHECK(tree_of("not a == b and c or d") == "(((not (a == b)) and c) or d)");
  CHECK(tree_of("a or b and not not c") == "(a or (b and (not (not c))))");
  CHECK(tree_of("a + b < c * d") == "((a + b) < (c * d))");
  CHECK(tree_of("(a + b) * c") == "((a + b) * c)");
  CHECK(tree_of("((a))") == "a");
  CHECK(tree_of("(a, b + 1)") == "<a,(b + 1),>");
  CHECK(tree_of("1.T") == "1.T");
}

TEST_CASE("calls take positions and keywords, and a comma may follow the last argument") {
  CHECK(tree_of("f()") == "f()");
  CHECK(tree_of("sum(x, over = (M, N),)") == "sum(x, over=<M,N,>)");
  CHECK(tree_of("gather(z, V = t == 1)") == "gather(z, V=(t == 1))");
  CHECK(tree_of("f(\n  a,\n  b\n)") == "f(a, b)");
  CHECK(tree_of("bf16(\"s\")") == "bf16('s')");
  CHECK(tree_of("z[2*F as G, M as M2]") == "z[(2 * F) as G;M as M2;]");
}

TEST_CASE("a routine with every clause") {
  const OneFile parsed(R"(coda 1
// Not a part of the doc.

// What it does,
//   and how.
kernel f[T: bf16 | f16, U: f32](const w: T[N, 2*K + 1], x: T[M as M2, K/(2*G)], inout p: f32, s: i32 = -3) -> (
    y: U[M2, N], q: ue8m0[M, N/32] layout mx128x4)
where D*2 % 64 == 0, Hkv = 8, M <= N + 1
schedule { tile_n = 256, stages = 4
           split_k = 1 } {
    let h: bf16[M, N] = x @ w.T
    let (a, b) = halves(h)
    (y, q) = f(a)
    p += b
}
)");
  const ast::Routine& routine = routine_of(parsed);
  CHECK(parsed.module->language_version == 1);
  CHECK(routine.kind == ast::RoutineKind::Kernel);
  CHECK(routine.name.text == "f");
  CHECK(routine.doc == "What it does,\n  and how.");
  REQUIRE(routine.type_parameters.size() == 2);
  CHECK(routine.type_parameters[0].choices.size() == 2);
  REQUIRE(routine.parameters.size() == 4);
  CHECK(routine.parameters[0].is_const);
  CHECK(grouped(*routine.parameters[0].type->dims[1].extent) == "((2 * K) + 1)");
  CHECK(routine.parameters[1].type->dims[0].alias->text == "M2");
  CHECK(routine.parameters[2].is_inout);
  CHECK_FALSE(routine.parameters[2].type->is_tensor);
  CHECK(grouped(*routine.parameters[3].default_value) == "(- 3)");
  REQUIRE(routine.outputs.size() == 2);
  CHECK(routine.outputs[1].layout->text == "mx128x4");
  REQUIRE(routine.facts.size() == 3);
  CHECK(grouped(*routine.facts[0].left) == "(D * 2)");
  CHECK(grouped(*routine.facts[0].modulus) == "64");
  CHECK(routine.facts[1].relation == "=");
  CHECK_FALSE(routine.facts[1].modulus);
  CHECK(routine.facts[2].relation == "<=");
  REQUIRE(routine.schedule.size() == 3);
  CHECK(routine.schedule[2].first.text == "split_k");
  REQUIRE(routine.body.size() == 4);
  CHECK(std::get<ast::Let>(routine.body[0]).type->dims.size() == 2);
  CHECK(std::get<ast::Let>(routine.body[1]).names.size() == 2);
  CHECK(std::get<ast::Assign>(routine.body[2]).targets.size() == 2);
  CHECK(std::get<ast::Assign>(routine.body[3]).accumulate);
}

TEST_CASE("a routine may store through inout parameters alone, and a brace may begin a line") {
  const OneFile parsed("block f(inout p: f32[N])\n{\n    p += 1\n}");
  const ast::Routine& routine = routine_of(parsed);
  CHECK(routine.kind == ast::RoutineKind::Block);
  CHECK(routine.outputs.empty());
}

TEST_CASE("functions, imports and gradients") {
  const OneFile parsed(R"(import "dir/norms.coda"
fn f(x, eps = 1e-5,) = x + eps
// Splits.
fn g(x) {
    let (a, b) = halves(x)

    (a, b)
}
grad f wrt (x, w: f32 +=, b +=)
)");
  INFO(parsed.diagnostics.render_text());
  REQUIRE(parsed.module);
  REQUIRE(parsed.module->items.size() == 4);
  CHECK(std::get<ast::Import>(parsed.module->items[0]).path == "dir/norms.coda");
  const auto& f = std::get<ast::Function>(parsed.module->items[1]);
  CHECK(f.parameters.size() == 2);
  CHECK(f.doc.empty());
  const auto& g = std::get<ast::Function>(parsed.module->items[2]);
  CHECK(g.body.size() == 2);
  CHECK(g.doc == "Splits.");
  const auto& grad = std::get<ast::Grad>(parsed.module->items[3]);
  REQUIRE(grad.wrt.size() == 3);
  CHECK(grad.wrt[1].type->element.text == "f32");
  CHECK(grad.wrt[1].accumulate);
  CHECK_FALSE(grad.wrt[0].accumulate);
}

TEST_CASE("spans cover what was written") {
  const std::string text = "kernel f(x: f32[M]) -> (y: f32[M]) {\n    y = (a + b) * c  // end\n}\n";
  const OneFile parsed(text);
  const ast::Routine& routine = routine_of(parsed);
  const auto written = [&](Span span) { return std::string(parsed.sources.text(span)); };
  CHECK(written(routine.span) == text.substr(0, text.size() - 1));
  CHECK(written(routine.name.span) == "f");
  CHECK(written(routine.parameters[0].span) == "x: f32[M]");
  CHECK(written(routine.parameters[0].type->span) == "f32[M]");
  const auto& assign = std::get<ast::Assign>(routine.body[0]);
  CHECK(written(assign.span) == "y = (a + b) * c");
  CHECK(written(assign.value->span) == "(a + b) * c");
  const auto& product = std::get<ast::Binary>(assign.value->node);
  CHECK(written(product.op_span) == "*");
  CHECK(written(product.left->span) == "(a + b)");
}

TEST_CASE("hostile nesting is refused without exhausting the stack") {
  const auto repeated = [](const std::string& piece, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += piece;
    return out;
  };
  for (const char* piece : {"(", "-", "not ", "f(", "x**", "1+", "a@", "f(a,", "x < (", "z[("}) {
    INFO(piece);
    const OneFile parsed("fn f(x) = " + repeated(piece, 100000));
    CHECK_FALSE(parsed.module);
  }
  CHECK_FALSE(OneFile("kernel f(x: f32[" + repeated("(", 100000)).module);
  CHECK_FALSE(OneFile("kernel f(x: f32[M]) where " + repeated("(", 100000)).module);
  CHECK_FALSE(OneFile("fn f(x) = x" + repeated(" + x", 100000)).module);
  CHECK_FALSE(OneFile("fn f(x) = x" + repeated(".T", 100000)).module);
  CHECK_FALSE(OneFile("fn f(x) = x" + repeated("[M as N]", 100000)).module);
  CHECK(OneFile("fn f(x) = x" + repeated(" + x", 900)).module);
  CHECK(OneFile("fn f(x) = " + repeated("(", 150) + "x" + repeated(")", 150)).module);
  CHECK(OneFile("fn f(x) {\n" + repeated("let x = x + 1\n", 50000) + "x\n}").module);
}

TEST_CASE("long lists and many items take linear time") {
  std::string text = "kernel f(x0: f32[M]";
  for (int i = 1; i < 20000; ++i) text += ", x" + std::to_string(i) + ": f32[M]";
  text += ") -> (y: f32[M]) {\n    y = x0\n}\n";
  for (int i = 0; i < 20000; ++i) text += "// doc\nfn g" + std::to_string(i) + "(x) = x\n";
  CHECK(OneFile(text).module);
}

TEST_CASE("errors in a long line take linear time") {
  const auto repeated = [](const std::string& piece) {
    std::string out;
    for (int i = 0; i < 300000; ++i) out += piece;
    return out;
  };
  for (const char* front : {"", "$ "}) {
    for (const char* piece : {"+, ", "a b ", "( ", "a), ", "1 = "}) {
      INFO(front << piece);
      const OneFile parsed("fn f(x) {\n y = x\n" + (front + ("f(" + repeated(piece))) + "\n}\n");
      CHECK_FALSE(parsed.module);
      CHECK(parsed.diagnostics.all().size() <= 101);
    }
  }
}

TEST_CASE("the dump shows the whole tree") {
  const OneFile parsed(
      "kernel f(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) where K % 2 == 0 {\n    y = -x @ w.T\n}\n");
  REQUIRE(parsed.module);
  CHECK(dump(*parsed.module) == R"(kernel f
  parameter x
    type f32 tensor
      dimension
        name M
      dimension
        name K
  parameter w
    type f32 tensor
      dimension
        name N
      dimension
        name K
  output y
    type f32 tensor
      dimension
        name M
      dimension
        name N
  fact ==
    name K
    modulus
      integer 2
    integer 0
  assign y
    @
      -
        name x
      transpose
        name w
)");
}
