#include "compiler/elaborate/elementwise.h"

#include <algorithm>
#include <cmath>

#include "compiler/elaborate/extents.h"
#include "compiler/elaborate/literal_sizes.h"

namespace coda {

namespace {

bool is_constant(Context& context, const Value& value) {
  return context.graph()[value.node].kind == NodeKind::Constant;
}
double constant_of(Context& context, const Value& value) { return context.graph()[value.node].value; }

/// A dimension without a name that `value` has and `others` lacks.
const ValueDim* own_unnamed(const Value& value, const Value& other) {
  for (const ValueDim& d : value.dims) {
    if (is_unnamed(d.dim) && other.find_dim(d.dim.name) == nullptr) return &d;
  }
  return nullptr;
}

Value with_node(std::vector<ValueDim> dims, NodeId node, Span span) {
  Value result = Value::scalar(node, span);
  result.dims = std::move(dims);
  return result;
}

/// What `left op right` denotes as an extent, if both do.
std::optional<NamedDim> extent_of(char op, const Value& left, const Value& right) {
  if (!left.dimension || !right.dimension) return std::nullopt;
  const Dim &a = left.dimension->extent, &b = right.dimension->extent;
  if (!fits_in_extent(a, b)) return std::nullopt;
  std::optional<Dim> extent;
  if (op == '+') extent = a + b;
  if (op == '-') extent = a - b;
  if (op == '*') extent = a * b;
  if (op == '/') extent = a.divided_by(b);
  if (!extent) return std::nullopt;
  return NamedDim{extent->symbols().empty() ? "" : extent->text(), *extent};
}

NodeId add_nodes(Context& context, const Value& left, const Value& right, double sign, Span span) {
  return context.graph().sum({left.node, right.node}, {1, sign}, span);
}

NodeId multiply_nodes(Context& context, const Value& left, const Value& right, Span span) {
  Graph& graph = context.graph();
  if (is_constant(context, left) && is_constant(context, right)) {
    const bool both_int = class_of(context, left) == NumClass::Int && class_of(context, right) == NumClass::Int;
    return graph.constant(constant_of(context, left) * constant_of(context, right),
                          both_int ? NumClass::Int : NumClass::Real);
  }
  return graph.contract({left.node, right.node}, {}, span);
}

NodeId divide_nodes(Context& context, const Value& left, const Value& right, Span span) {
  Graph& graph = context.graph();
  if (is_constant(context, left) && is_constant(context, right)) {
    return graph.constant(constant_of(context, left) / constant_of(context, right));
  }
  return graph.contract({left.node, graph.apply(find_op("recip"), {right.node}, span)}, {}, span);
}

/// Small whole powers are products; halves are roots.
Value power(Context& context, const Value& base, const Value& exponent, std::vector<ValueDim> dims, Span span) {
  Graph& graph = context.graph();
  if (!is_constant(context, exponent)) return context.fail(DiagId::E0253, exponent.span);
  const double p = constant_of(context, exponent);
  if (is_constant(context, base)) {
    const bool whole =
        class_of(context, base) == NumClass::Int && class_of(context, exponent) == NumClass::Int && p >= 0;
    return with_node(
        {}, graph.constant(std::pow(constant_of(context, base), p), whole ? NumClass::Int : NumClass::Real), span);
  }
  constexpr double kLargestProduct = 8;
  const double magnitude = std::abs(p);
  NodeId node = base.node;
  if (p == 0) {
    const std::vector<NamedDim> along = graph[base.node].dims;  // a copy: the graph grows
    node = graph.broadcast(graph.constant(1), along, span);
  } else if (magnitude == 0.5) {
    return with_node(std::move(dims), graph.apply(find_op(p > 0 ? "sqrt" : "rsqrt"), {base.node}, span), span);
  } else if (magnitude == std::floor(magnitude) && magnitude <= kLargestProduct) {
    if (magnitude > 1) node = graph.contract(std::vector<NodeId>(static_cast<size_t>(magnitude), base.node), {}, span);
    if (p < 0) node = graph.apply(find_op("recip"), {node}, span);
  } else {
    node = graph.apply(find_op("pow"), {base.node, graph.constant(p)}, span);
  }
  return with_node(std::move(dims), node, span);
}

struct OperatorOp {
  std::string_view spelling, op;
};
constexpr OperatorOp kOperatorOps[] = {{"==", "eq"}, {"!=", "ne"}, {"<", "lt"},    {"<=", "le"},
                                       {">", "gt"},  {">=", "ge"}, {"and", "and"}, {"or", "or"}};

bool any_poison(const std::vector<Value>& values) {
  for (const Value& value : values) {
    if (!value.is_tensor()) return true;
  }
  return false;
}

}  // namespace

NumClass class_of(Context& context, const Value& value) { return context.graph()[value.node].num_class; }

bool require_number(Context& context, const Value& value) {
  if (class_of(context, value) != NumClass::Bool) return true;
  const std::string text = context.quoted(value.span, "c");
  context.report(DiagId::E0251, value.span, {context.quoted(value.span, "this"), text});
  return false;
}

NodeId as_real(Context& context, NodeId node) {
  const Node& n = context.graph()[node];
  if (n.num_class == NumClass::Real) return node;
  if (n.kind == NodeKind::Constant) return context.graph().constant(n.value);
  return context.graph().apply(find_op("to_real"), {node}, n.span);
}

std::optional<std::vector<ValueDim>> broadcast(Context& context, Span span, const std::vector<Value>& operands) {
  std::vector<ValueDim> dims;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const ValueDim *left = own_unnamed(operands[j], operands[i]), *right = own_unnamed(operands[i], operands[j]);
      if (left == nullptr || right == nullptr) continue;
      Diagnostic& diagnostic =
          context.report(DiagId::E0241, span,
                         {spelled(left->dim), spelled(right->dim), name_literals(context, left->dim, right->dim)});
      diagnostic.notes.push_back({left->origin, "this has the unnamed dimension " + spelled(left->dim)});
      diagnostic.notes.push_back({right->origin, "this has the unnamed dimension " + spelled(right->dim)});
      return std::nullopt;
    }
    for (const ValueDim& d : operands[i].dims) {
      bool known = false;
      for (const ValueDim& present : dims) known = known || present.dim == d.dim;
      if (!known) dims.push_back(d);
    }
  }
  return dims;
}

Value apply_op(Context& context, const Op* op, std::vector<Value> operands, Span span) {
  if (any_poison(operands)) return Value::poison(span);
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_bool = class_of(context, operands[i]) == NumClass::Bool;
    const bool wants_bool = op->rule == ClassRule::Logical || (op->rule == ClassRule::Select && i == 0);
    const bool takes_any =
        op->rule == ClassRule::Select || op->rule == ClassRule::ToInt || op->rule == ClassRule::ToReal;
    if (wants_bool && !is_bool) {
      return context.fail(DiagId::E0252, operands[i].span,
                          {context.quoted(operands[i].span, "the operand"), std::string(op->name)});
    }
    if (op->rule == ClassRule::Int && class_of(context, operands[i]) != NumClass::Int) {
      return context.fail(DiagId::E0290, operands[i].span,
                          {context.quoted(operands[i].span, "the operand"), std::string(op->name)});
    }
    if (!wants_bool && !takes_any && is_bool && !require_number(context, operands[i])) return Value::poison(span);
    nodes.push_back(operands[i].node);
  }
  if (op->rule == ClassRule::Select) {
    const bool first = class_of(context, operands[1]) == NumClass::Bool;
    const bool second = class_of(context, operands[2]) == NumClass::Bool;
    if (first != second && !require_number(context, operands[first ? 1 : 2])) return Value::poison(span);
  }
  // A condition, which may be made of coordinates, does not decide the order.
  if (op->rule == ClassRule::Select) std::rotate(operands.begin(), operands.begin() + 1, operands.end());
  auto dims = broadcast(context, span, operands);
  if (!dims) return Value::poison(span);
  return with_node(std::move(*dims), context.graph().apply(op, std::move(nodes), span), span);
}

Value binary_operator(Context& context, std::string_view op, const Value& left, const Value& right, Span span) {
  if (left.is_poison() || right.is_poison()) return Value::poison(span);
  for (const OperatorOp& row : kOperatorOps) {
    if (row.spelling == op) return apply_op(context, find_op(row.op), {left, right}, span);
  }
  const bool numbers = require_number(context, left) & static_cast<int>(require_number(context, right));
  if (!numbers) return Value::poison(span);
  auto dims = broadcast(context, span, {left, right});
  if (!dims) return Value::poison(span);
  if (op == "**") return power(context, left, right, std::move(*dims), span);
  NodeId node = kNoNode;
  switch (op[0]) {
    case '+':
      node = add_nodes(context, left, right, 1, span);
      break;
    case '-':
      node = add_nodes(context, left, right, -1, span);
      break;
    case '*':
      node = multiply_nodes(context, left, right, span);
      break;
    default:
      node = divide_nodes(context, left, right, span);
      break;
  }
  Value result = with_node(std::move(*dims), node, span);
  result.dimension = extent_of(op[0], left, right);
  return result;
}

Value unary_operator(Context& context, std::string_view op, const Value& operand, Span span) {
  if (operand.is_poison()) return operand;
  if (op == "not") return apply_op(context, find_op("not"), {operand}, span);
  if (!require_number(context, operand)) return Value::poison(span);
  return with_node(operand.dims, context.graph().sum({operand.node}, {-1}, span), span);
}

}  // namespace coda
