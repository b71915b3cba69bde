// The syntax tree: plain structs that mirror grammar/coda.peg, one struct a production, with the source range of each.
// It knows nothing of types or shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/source.h"

namespace coda::ast {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Name {
  std::string text;
  Span span;
};

/// Extents are written with the expression grammar restricted to symbols, integers, + - * / and parentheses.
struct DimAnnotation {
  ExprPtr extent;
  std::optional<Name> alias;  ///< `M as M2`
};

/// `bf16[M, 2*F]`, or a bare type for scalars, or a type parameter's name in place of the element type.
/// Only moved, which a structure with a vector of such has to say outright.
struct TypeExpr {
  TypeExpr() = default;
  TypeExpr(TypeExpr&&) = default;
  TypeExpr& operator=(TypeExpr&&) = default;

  Name element;
  std::vector<DimAnnotation> dims;
  bool is_tensor = false;  ///< false for a bare `f32`
  Span span;
};

struct NumberLit {
  double value = 0;
  bool is_integer = false;
  int64_t integer = 0;
  std::string spelling;  ///< as written, for the formatter
};
struct BoolLit {
  bool value = false;
};
struct StringLit {
  std::string value;
};
struct NameRef {
  std::string name;
};
struct Unary {
  std::string op;  ///< "-" or "not"
  ExprPtr operand;
};
/// `+ - * / @ == != < <= > >= and or` and `**` (a constant power).
struct Binary {
  std::string op;
  Span op_span;
  ExprPtr left, right;
};
struct Argument {
  std::optional<Name> keyword;  ///< `over = N`, `dim = N`, `eps = 1e-5`, `V = t`
  ExprPtr value;
};
/// `f(a, b, over = N)`. Casts are calls of a type's name: `bf16(x)`.
struct Call {
  Name callee;
  std::vector<Argument> arguments;
};
/// `z[M as M2]`: renames dimensions.
struct Rename {
  ExprPtr operand;
  std::vector<std::pair<ExprPtr, Name>> renames;
};
/// `w.T`
struct Transpose {
  ExprPtr operand;
};
/// `(a, b)`: several values, or several dimensions after `over =`.
struct Tuple {
  std::vector<ExprPtr> elements;
};

struct Expr {
  Span span;       ///< includes the parentheses around it
  int height = 1;  ///< of the tree below; the parser bounds it, so recursion over a tree is safe
  std::variant<NumberLit, BoolLit, StringLit, NameRef, Unary, Binary, Call, Rename, Transpose, Tuple> node;
};

/// `let (a, b) = e`, `let h: bf16 = e`
struct Let {
  std::vector<Name> names;
  std::optional<TypeExpr> type;
  ExprPtr value;
  Span span;
};
/// `y = e`, `(q, s) = e`, `p += e`
struct Assign {
  std::vector<Name> targets;
  bool accumulate = false;
  ExprPtr value;
  Span span;
};
/// The value of a `fn` body: its last statement.
struct Result {
  ExprPtr value;
  Span span;
};
using Statement = std::variant<Let, Assign, Result>;

struct Parameter {
  Name name;
  std::optional<TypeExpr> type;  ///< absent in `fn` parameters
  bool is_inout = false, is_const = false;
  ExprPtr default_value;       ///< null if none
  std::optional<Name> layout;  ///< `layout mx128x4`
  Span span;
};

/// `[T: bf16 | f16]`
struct TypeParameter {
  Name name;
  std::vector<Name> choices;
};

/// `where D % 64 == 0`, `where Hkv = 8`: a comparison of dimension expressions; `%` is spelled only here.
struct Fact {
  ExprPtr left, right;
  std::string relation;  ///< "=", "==", "<", "<=", ">", ">=", "!="
  ExprPtr modulus;       ///< set for `left % modulus == right`
  Span span;
};

enum class RoutineKind { Kernel, Block };

struct Routine {
  Routine() = default;
  Routine(Routine&&) = default;
  Routine& operator=(Routine&&) = default;

  RoutineKind kind = RoutineKind::Kernel;
  Name name;
  std::vector<TypeParameter> type_parameters;
  std::vector<Parameter> parameters, outputs;
  std::vector<Fact> facts;
  std::vector<Statement> body;
  std::vector<std::pair<Name, ExprPtr>> schedule;  ///< `schedule { tile_m = 128 }`
  Span span;
  std::string doc;  ///< the comment lines directly above
};

struct Function {
  Function() = default;
  Function(Function&&) = default;
  Function& operator=(Function&&) = default;

  Name name;
  std::vector<Parameter> parameters;
  std::vector<Statement> body;  ///< ends with a Result
  Span span;
  std::string doc;
};

struct Import {
  std::string path;
  Span span;
};

/// `grad NAME wrt (a, b)`
struct Grad {
  Grad() = default;
  Grad(Grad&&) = default;
  Grad& operator=(Grad&&) = default;

  Name name;
  struct Wrt {
    Name parameter;
    std::optional<TypeExpr> type;
    bool accumulate = false;
  };
  std::vector<Wrt> wrt;
  Span span;
};

using Item = std::variant<Import, Function, Routine, Grad>;

struct Module {
  std::optional<int> language_version;  ///< `coda 1`
  std::vector<Item> items;              ///< in source order
};

}  // namespace coda::ast
