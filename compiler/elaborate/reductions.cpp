#include "compiler/elaborate/reductions.h"

#include <algorithm>

#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/extents.h"

namespace coda {

namespace {

std::string usage_of(const Reduction& reduction) { return std::string(reduction.name) + "(x, over = last(x))"; }

NodeId reduce_node(const CallSite& site, const Reduction& reduction, NodeId x, const std::vector<NamedDim>& over) {
  Graph& graph = site.context.graph();
  if (reduction.name == "sum") return graph.contract({x}, over, site.span);
  if (reduction.name != "mean") return graph.reduce(&reduction, x, over, site.span);
  Dim count(1);
  for (const NamedDim& d : over) count = count * d.extent;
  const NodeId share = graph.apply(find_op("recip"), {graph.extent(count)}, site.span);
  return graph.contract({graph.contract({x}, over, site.span), share}, {}, site.span);
}

}  // namespace

std::optional<std::vector<size_t>> positions_of(const CallSite& site, const Value& value, const ast::Expr& over) {
  std::vector<const ast::Expr*> named{&over};
  if (const auto* tuple = std::get_if<ast::Tuple>(&over.node)) {
    named.clear();
    for (const auto& element : tuple->elements) named.push_back(element.get());
  }
  std::vector<size_t> positions;
  for (const ast::Expr* expr : named) {
    const auto position = find_dimension(site.context, site.scope, value, *expr);
    if (!position) return std::nullopt;
    if (std::find(positions.begin(), positions.end(), *position) != positions.end()) {
      site.context.report(DiagId::E0239, expr->span, {spelled(value.dims[*position].dim)});
      return std::nullopt;
    }
    positions.push_back(*position);
  }
  return positions;
}

Value reduce_call(const CallSite& site, const Reduction& reduction) {
  Context& context = site.context;
  const std::string name(reduction.name);
  const auto arguments = site.positional();
  const ast::Argument* over = site.keyword("over");
  for (const ast::Argument& argument : site.call.arguments) {
    if (!argument.keyword || argument.keyword->text == "over") continue;
    return context.fail(DiagId::E0221, argument.keyword->span,
                        {name, argument.keyword->text, "write it as `" + usage_of(reduction) + "`"});
  }
  if (arguments.size() != 1) {
    return context.fail(DiagId::E0220, site.span,
                        {name, "1 argument and `over`", std::to_string(arguments.size()), usage_of(reduction)});
  }
  const Value value = evaluate_tensor(context, site.scope, *arguments[0]->value);
  if (value.is_poison()) return value;
  if (over == nullptr) {
    const std::string last = "last(" + context.quoted(value.span, "x") + ")";
    return context.fail(DiagId::E0254, site.span, {name, last, spelled(value.dims)});
  }
  const bool takes_truth = reduction.result == NumClass::Bool, is_truth = class_of(context, value) == NumClass::Bool;
  if (takes_truth && !is_truth) {
    return context.fail(DiagId::E0252, value.span, {context.quoted(value.span, "the operand"), name});
  }
  if (!takes_truth && !require_number(context, value)) return Value::poison(site.span);
  return reduced(site, reduction, value);
}

Value reduced(const CallSite& site, const Reduction& reduction, const Value& value) {
  const auto positions = positions_of(site, value, *site.keyword("over")->value);
  if (!positions) return Value::poison(site.span);
  std::vector<NamedDim> dims;
  for (const size_t position : *positions) dims.push_back(value.dims[position].dim);
  Value result = Value::scalar(reduce_node(site, reduction, value.node, dims), site.span);
  for (size_t i = 0; i < value.dims.size(); ++i) {
    if (std::find(positions->begin(), positions->end(), i) == positions->end()) result.dims.push_back(value.dims[i]);
  }
  return result;
}

}  // namespace coda
