#include "compiler/elaborate/matmul.h"

#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/literal_sizes.h"
#include "compiler/ops/product_types.h"

namespace coda {

namespace {

/// The dimensions of one operand by their part in the product.
struct Operand {
  std::vector<ValueDim> batch;
  std::optional<ValueDim> kept;
  ValueDim summed;
};

Operand left_operand(const Value& value) {
  Operand result;
  result.batch = value.dims;
  result.summed = result.batch.back();
  result.batch.pop_back();
  if (!result.batch.empty()) {
    result.kept = result.batch.back();
    result.batch.pop_back();
  }
  return result;
}

Operand right_operand(const Value& value) {
  Operand result;
  result.batch = value.dims;
  if (result.batch.size() > 1) {
    result.kept = result.batch.back();
    result.batch.pop_back();
  }
  result.summed = result.batch.back();
  result.batch.pop_back();
  return result;
}

/// An operand's text, in parentheses if it is an operator's.
std::string bracketed(Context& context, const Value& value, const std::string& otherwise) {
  const std::string text = context.quoted(value.span, otherwise);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth == 0 && std::string_view("+-*/@<>= ").find(c) != std::string_view::npos) return "(" + text + ")";
  }
  return text;
}

std::string transposed(const std::string& text) {
  return text.size() > 2 && text.ends_with(".T") ? text.substr(0, text.size() - 2) : text + ".T";
}

std::string way_out_of_mismatch(Context& context, const Value& left, const Value& right) {
  const Operand a = left_operand(left), b = right_operand(right);
  const std::string x = bracketed(context, left, "left"), y = bracketed(context, right, "right");
  if (b.kept && b.kept->dim == a.summed.dim) return "write `" + x + " @ " + transposed(y) + "`";
  if (a.kept && a.kept->dim == b.summed.dim) return "write `" + transposed(x) + " @ " + y + "`";
  if (a.kept && b.kept && a.kept->dim == b.kept->dim) return "write `" + transposed(x) + " @ " + transposed(y) + "`";
  if (is_unnamed(a.summed.dim) || is_unnamed(b.summed.dim)) {
    return name_literals(context, a.summed.dim, b.summed.dim);
  }
  return "if they are the same size by meaning, give them one name in the signature, or rename here: `" + y + "[" +
         spelled(b.summed.dim) + " as " + spelled(a.summed.dim) + "]`";
}

/// Both operands as they go into the product; reports what a computed operand lacks.
bool check_rounding(Context& context, const Value& left, const Value& right, Span span) {
  // A block is mathematics: what a derived gradient multiplies is found out when it is planned.
  const bool types = !left.element || !right.element || can_multiply(*left.element, *right.element);
  if (!types && !context.program.is_block) {
    std::string x = context.quoted(left.span, "left"), y = context.quoted(right.span, "right");
    for (std::string* name : {&x, &y}) {  // it is the stored tensor that has a type
      if (name->ends_with(".T")) *name = transposed(*name);
    }
    context.report(DiagId::E0298, span,
                   {x, std::string(info(*left.element).name), y, std::string(info(*right.element).name),
                    way_out_of_types(x, *left.element, y, *right.element)});
    return false;
  }
  if (left.element || right.element) return true;
  context.report(DiagId::E0245, span,
                 {context.quoted(left.span, "the left operand"), context.quoted(right.span, "the right operand"),
                  context.quoted(left.span, "left")});
  return false;
}

}  // namespace

bool require_distinct(Context& context, const std::vector<ValueDim>& dims, const Value& operand, Span span) {
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!(dims[i].dim == dims[j].dim)) continue;
      const std::string name = spelled(dims[i].dim);
      const std::string renamed = is_unnamed(dims[i].dim) ? name + " as G" : name + " as " + name + "2";
      const bool simple = name.find_first_of("+-*/ ") == std::string::npos;
      const std::string text = bracketed(context, operand, "z");
      Diagnostic& diagnostic = context.report(
          DiagId::E0231, span, {name, spelled(dims), text + "[" + (simple ? renamed : name + " as N2") + "]"});
      diagnostic.notes.push_back({dims[j].origin, "`" + name + "` comes from here"});
      diagnostic.notes.push_back({dims[i].origin, "and from here"});
      return false;
    }
  }
  return true;
}

Value matmul(Context& context, const Value& left, const Value& right, Span span) {
  if (left.is_poison() || right.is_poison()) return Value::poison(span);
  if (!(require_number(context, left) && require_number(context, right))) return Value::poison(span);
  for (const Value* operand : {&left, &right}) {
    if (operand->dims.empty()) {
      return context.fail(DiagId::E0244, operand->span, {context.quoted(operand->span, "the operand")});
    }
    if (context.reads_inout(operand->node)) {
      return context.fail(DiagId::E0258, operand->span, {context.quoted(operand->span, "the operand")});
    }
  }
  const Operand a = left_operand(left), b = right_operand(right);
  if (!(a.summed.dim == b.summed.dim)) {
    Diagnostic& diagnostic = context.report(
        DiagId::E0242, span, {spelled(a.summed.dim), spelled(b.summed.dim), way_out_of_mismatch(context, left, right)});
    diagnostic.notes.push_back({left.span, context.quoted(left.span, "the left operand") + ": " + spelled(left.dims)});
    diagnostic.notes.push_back(
        {right.span, context.quoted(right.span, "the right operand") + ": " + spelled(right.dims)});
    return Value::poison(span);
  }
  const size_t paired = std::min(a.batch.size(), b.batch.size());
  for (size_t i = 1; i <= paired; ++i) {
    const ValueDim &x = a.batch[a.batch.size() - i], &y = b.batch[b.batch.size() - i];
    if (x.dim == y.dim) continue;
    return context.fail(DiagId::E0243, span, {spelled(x.dim), spelled(y.dim), spelled(left.dims), spelled(right.dims)});
  }
  if (!check_rounding(context, left, right, span)) return Value::poison(span);

  std::vector<ValueDim> dims = a.batch.size() >= b.batch.size() ? a.batch : b.batch;
  if (a.kept) dims.push_back(*a.kept);
  if (b.kept) dims.push_back(*b.kept);
  if (!require_distinct(context, dims, right, span)) return Value::poison(span);
  Value result = Value::scalar(context.graph().contract({left.node, right.node}, {a.summed.dim}, span), span);
  result.dims = std::move(dims);
  return result;
}

}  // namespace coda
