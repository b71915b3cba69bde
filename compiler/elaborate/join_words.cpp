// join_halves, join_pairs, concat, flatten: parts are put side by side along one dimension. A join is a sum of puts
// that do not meet.
#include "compiler/elaborate/join_words.h"

#include <algorithm>

#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/extents.h"
#include "compiler/elaborate/matmul.h"
#include "compiler/elaborate/shape_words.h"

namespace coda {

namespace {

std::optional<std::vector<Value>> parts_of(const CallSite& site) {
  Context& context = site.context;
  std::vector<Value> parts;
  for (const ast::Argument* argument : site.positional()) {
    parts.push_back(evaluate_tensor(context, site.scope, *argument->value));
  }
  for (const Value& part : parts) {
    if (part.is_poison() || !require_number(context, part)) return std::nullopt;
    if (part.dims.empty()) {
      context.report(DiagId::E0247, part.span, {context.quoted(part.span, "the argument"), "no dimensions"});
      return std::nullopt;
    }
    if (context.reads_inout(part.node)) {
      context.report(DiagId::E0257, part.span, {context.quoted(part.span, "this")});
      return std::nullopt;
    }
  }
  return parts;
}

/// The dimension of `part` that is joined: `dim =`, or the last.
std::optional<size_t> joined_position(const CallSite& site, const Value& part) {
  if (const ast::Argument* dim = site.keyword("dim"))
    return find_dimension(site.context, site.scope, part, *dim->value);
  return part.dims.size() - 1;
}

/// Puts each part at offset + stride * its own coordinate along `whole`, and adds.
struct Place {
  size_t position;
  Dim offset, stride;
};
Value put_together(const CallSite& site, std::vector<Value> parts, const std::vector<Place>& places,
                   const NamedDim& whole) {
  Context& context = site.context;
  std::vector<NodeId> nodes;
  std::optional<DType> element = parts[0].element;
  for (size_t i = 0; i < parts.size(); ++i) {
    Value& part = parts[i];
    const NamedDim own = part.dims[places[i].position].dim;
    part.dims[places[i].position].dim = whole;
    if (!require_distinct(context, part.dims, part, site.span)) return Value::poison(site.span);
    part.node =
        context.graph().put(part.node, whole, AffineMap{places[i].offset, {{own, places[i].stride}}}, site.span);
    nodes.push_back(part.node);
    if (part.element != element) element.reset();
  }
  auto dims = broadcast(context, site.span, parts);
  if (!dims) return Value::poison(site.span);
  const std::vector<double> ones(nodes.size(), 1.0);
  Value result = Value::scalar(context.graph().sum(std::move(nodes), ones, site.span), site.span);
  result.dims = std::move(*dims);
  result.element = element;
  return result;
}

Value join_two(const CallSite& site, bool interleaved) {
  Context& context = site.context;
  auto parts = parts_of(site);
  if (!parts) return Value::poison(site.span);
  const auto first = joined_position(site, (*parts)[0]), second = joined_position(site, (*parts)[1]);
  if (!first || !second) return Value::poison(site.span);
  const NamedDim half = (*parts)[0].dims[*first].dim, other = (*parts)[1].dims[*second].dim;
  if (!(half == other)) {
    return context.fail(DiagId::E0250, site.span, {site.call.callee.text, spelled(half), spelled(other)});
  }
  const auto known = context.dims.whole_of(half, interleaved ? "pairs" : "halves");
  const NamedDim whole = known ? *known : context.dims.of_extent(half.extent * Dim(2));
  const Dim step(interleaved ? 2 : 1), start = interleaved ? Dim(1) : half.extent;
  return put_together(site, std::move(*parts), {{*first, Dim(0), step}, {*second, start, step}}, whole);
}

}  // namespace

Value join_halves(const CallSite& site) { return join_two(site, false); }
Value join_pairs(const CallSite& site) { return join_two(site, true); }

Value join_concat(const CallSite& site) {
  auto parts = parts_of(site);
  if (!parts) return Value::poison(site.span);
  std::vector<Place> places;
  Dim total;
  for (const Value& part : *parts) {
    const auto position = joined_position(site, part);
    if (!position) return Value::poison(site.span);
    places.push_back({*position, total, Dim(1)});
    total = total + part.dims[*position].dim.extent;
  }
  NamedDim whole = site.context.dims.of_extent(total);
  if (const ast::Argument* naming = site.naming()) {
    const auto extent = evaluate_extent(site.context, site.scope, *naming->value);
    if (!extent) return Value::poison(site.span);
    if (!(extent->extent == total)) {
      return site.context.fail(
          DiagId::E0255, site.span,
          {total.text(), naming->keyword->text, extent->extent.text(), way_to_add_up(total, extent->extent)});
    }
    const auto named = name_dim(site.context, *naming->keyword, total);
    if (!named) return Value::poison(site.span);
    whole = *named;
  }
  return put_together(site, std::move(*parts), places, whole);
}

Value join_flatten(const CallSite& site) {
  Context& context = site.context;
  Value value = evaluate_tensor(context, site.scope, *site.positional()[0]->value);
  if (value.is_poison()) return value;
  std::vector<size_t> positions;
  if (const ast::Argument* dims = site.keyword("dim")) {
    const auto* tuple = std::get_if<ast::Tuple>(&dims->value->node);
    if (tuple == nullptr) return context.fail(DiagId::E0237, dims->value->span);
    for (const auto& element : tuple->elements) {
      const auto position = find_dimension(context, site.scope, value, *element);
      if (!position) return Value::poison(site.span);
      if (std::find(positions.begin(), positions.end(), *position) != positions.end()) {
        return context.fail(DiagId::E0239, element->span, {spelled(value.dims[*position].dim)});
      }
      positions.push_back(*position);
    }
  } else {
    if (value.dims.size() < 2) {
      return context.fail(DiagId::E0247, site.span,
                          {context.quoted(value.span, "the argument"), "fewer than two dimensions"});
    }
    positions = {value.dims.size() - 2, value.dims.size() - 1};
  }
  return flatten_at(context, value, positions, site.span);
}

Value flatten_at(Context& context, const Value& value, const std::vector<size_t>& positions, Span span) {
  if (context.reads_inout(value.node)) {
    return context.fail(DiagId::E0257, value.span, {context.quoted(value.span, "this")});
  }
  AffineMap map;
  Dim stride(1);
  for (size_t i = positions.size(); i-- > 0;) {
    const NamedDim& dim = value.dims[positions[i]].dim;
    map.terms.push_back({dim, stride});
    stride = stride * dim.extent;
  }
  const NamedDim whole = context.dims.of_extent(stride);
  Value result = value;
  result.dims.clear();
  for (size_t i = 0; i < value.dims.size(); ++i) {
    if (i == positions.back()) result.dims.push_back({whole, value.dims[i].origin});
    if (std::find(positions.begin(), positions.end(), i) == positions.end()) result.dims.push_back(value.dims[i]);
  }
  if (!require_distinct(context, result.dims, value, span)) return Value::poison(span);
  result.node = context.graph().put(value.node, whole, std::move(map), span);
  return result;
}

}  // namespace coda
