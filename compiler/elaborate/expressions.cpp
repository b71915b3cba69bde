#include "compiler/elaborate/expressions.h"

#include <cmath>

#include "compiler/elaborate/calls.h"
#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/extents.h"
#include "compiler/elaborate/matmul.h"
#include "compiler/elaborate/shape_words.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

/// Above what the parser lets one expression have; inlined bodies add up.
constexpr int kMaxDepth = 1200;

/// One overload a production of the grammar's expressions.
struct Evaluator {
  Context& context;
  Scope& scope;
  Span span;

  Value operator()(const ast::NumberLit& number) const {
    if (!number.is_integer) return Value::scalar(context.graph().constant(number.value), span);
    constexpr int64_t kLargestExact = int64_t{1} << 53;  // constants of the graph are doubles
    if (number.integer > kLargestExact) {
      return context.fail(DiagId::E0107, span, {std::to_string(number.integer), "53 bits"});
    }
    Value value = Value::scalar(context.graph().constant(static_cast<double>(number.integer), NumClass::Int), span);
    value.dimension = NamedDim{"", Dim(number.integer)};
    return value;
  }

  Value operator()(const ast::BoolLit& literal) const {
    return Value::scalar(context.graph().constant(literal.value ? 1 : 0, NumClass::Bool), span);
  }

  Value operator()(const ast::StringLit&) const { return context.fail(DiagId::E0219, span); }

  Value operator()(const ast::NameRef& ref) const {
    const auto it = scope.variables.find(ref.name);
    if (it != scope.variables.end()) return read(ref.name, it->second);
    if (scope.is_routine) {
      if (const auto* entry = context.dims.find(ref.name)) {
        Value value = Value::scalar(context.graph().extent(entry->dim.extent), span);
        value.dimension = entry->dim;
        return value;
      }
    }
    return undefined(ref.name);
  }

  Value operator()(const ast::Unary& unary) const {
    const Value operand = evaluate_tensor(context, scope, *unary.operand);
    return unary_operator(context, unary.op, operand, span);
  }

  Value operator()(const ast::Binary& binary) const {
    const Value left = evaluate_tensor(context, scope, *binary.left);
    const Value right = evaluate_tensor(context, scope, *binary.right);
    if (binary.op == "@") return matmul(context, left, right, span);
    return binary_operator(context, binary.op, left, right, span);
  }

  Value operator()(const ast::Call& call) const { return evaluate_call(context, scope, call, span); }

  Value operator()(const ast::Rename& rename) const {
    const Value operand = evaluate_tensor(context, scope, *rename.operand);
    if (operand.is_poison()) return operand;
    std::vector<std::pair<size_t, ast::Name>> names;
    for (const auto& [dim, name] : rename.renames) {
      const auto position = find_dimension(context, scope, operand, *dim);
      if (!position) return Value::poison(span);
      names.emplace_back(*position, name);
    }
    return rename_dims(context, operand, names, span);
  }

  Value operator()(const ast::Transpose& transpose) const {
    Value value = evaluate_tensor(context, scope, *transpose.operand);
    if (value.is_poison()) return value;
    if (value.dims.size() < 2) {
      return context.fail(DiagId::E0246, span, {context.quoted(value.span, "the operand"), spelled(value.dims)});
    }
    std::swap(value.dims[value.dims.size() - 1], value.dims[value.dims.size() - 2]);
    return value;
  }

  Value operator()(const ast::Tuple& tuple) const {
    std::vector<Value> elements;
    for (const auto& element : tuple.elements) elements.push_back(evaluate(context, scope, *element));
    if (elements.size() == 1) return elements[0];
    return Value::tuple(std::move(elements), span);
  }

  Value read(const std::string& name, Variable& variable) const {
    variable.used = true;
    if (!variable.set) {
      Diagnostic& diagnostic = context.report(DiagId::E0264, span, {name});
      diagnostic.notes.push_back({variable.span, "the output is declared here"});
      return Value::poison(span);
    }
    Value value = variable.value;
    // A parameter's dimensions are brought by the place that reads it.
    for (ValueDim& d : value.dims) {
      if (!d.origin.valid()) d.origin = span;
    }
    return value;
  }

  Value undefined(const std::string& name) const {
    if (context.modules.find_function(*scope.module, name) || is_builtin(name)) {
      return context.fail(DiagId::E0217, span, {name});
    }
    if (scope.is_constant) return context.fail(DiagId::E0270, span);
    std::vector<std::string> candidates;
    for (const auto& [known, variable] : scope.variables) {
      if (variable.set) candidates.push_back(known);
    }
    const std::string nearest = nearest_name(name, candidates);
    if (scope.is_routine && nearest.empty()) {
      for (const std::string& dim : context.dims.names()) candidates.push_back(dim);
    }
    return context.fail(DiagId::E0210, span, {name, suggestion(name, candidates, "the names here are", "")});
  }
};

}  // namespace

DepthGuard::DepthGuard(Context& context, Span span) : context_(context), ok_(++context.depth <= kMaxDepth) {
  if (ok_ || context.too_deep) return;
  context.too_deep = true;
  context.report(DiagId::E0216, span);
}

Value evaluate(Context& context, Scope& scope, const ast::Expr& expr) {
  const DepthGuard guard(context, expr.span);
  if (!guard.ok()) return Value::poison(expr.span);
  Value value = std::visit(Evaluator{context, scope, expr.span}, expr.node);
  value.span = expr.span;
  return value;
}

Value evaluate_tensor(Context& context, Scope& scope, const ast::Expr& expr) {
  Value value = evaluate(context, scope, expr);
  if (!value.is_tuple()) return value;
  for (const Value& element : value.elements) {
    if (element.is_poison()) return Value::poison(expr.span);
  }
  return context.fail(DiagId::E0224, expr.span,
                      {context.quoted(expr.span, "this"), std::to_string(value.elements.size())});
}

Value cast_to(Context& context, const Value& value, DType dtype, Span span) {
  if (value.is_poison() || value.element == dtype) return value;
  Value result = value;
  result.span = span;
  result.element = dtype;
  result.dimension.reset();
  const NumClass from = class_of(context, value), to = info(dtype).num_class;
  if (to == NumClass::Bool) {
    if (from != NumClass::Bool) return context.fail(DiagId::E0269, span, {context.quoted(value.span, "x")});
    return result;
  }
  Graph& graph = context.graph();
  if (from == NumClass::Bool) {
    result.node = graph.apply(find_op(to == NumClass::Int ? "to_int" : "to_real"), {value.node}, span);
    return result;
  }
  result.node = graph.cast(value.node, dtype, span);
  return result;
}

std::optional<double> evaluate_constant(Context& context, const SourceModule& module, const ast::Expr& expr) {
  Context apart(context.modules, context.sources, context.diagnostics);  // leaves no nodes in the program
  Scope scope;
  scope.module = &module;
  scope.is_constant = true;
  const Value value = evaluate_tensor(apart, scope, expr);
  if (!value.is_poison()) {
    const Node& node = apart.graph()[value.node];
    if (node.kind == NodeKind::Constant) return node.value;
    apart.report(DiagId::E0270, expr.span);
  }
  context.failed = true;
  return std::nullopt;
}

}  // namespace coda
