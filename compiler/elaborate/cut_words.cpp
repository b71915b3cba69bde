// halves, pairs, split, group: one dimension becomes several, or several values of a part each.
#include "compiler/elaborate/cut_words.h"

#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/extents.h"
#include "compiler/elaborate/shape_words.h"

namespace coda {

namespace {

/// The first argument and the dimension that the word acts on.
struct Subject {
  Value value;
  size_t position;
  const NamedDim& dim() const { return value.dims[position].dim; }
};

std::optional<Subject> subject_of(const CallSite& site) {
  Context& context = site.context;
  Value value = evaluate_tensor(context, site.scope, *site.positional()[0]->value);
  if (value.is_poison()) return std::nullopt;
  if (value.dims.empty()) {
    context.report(DiagId::E0247, site.span, {context.quoted(value.span, "the argument"), "no dimensions"});
    return std::nullopt;
  }
  size_t position = value.dims.size() - 1;
  if (const ast::Argument* dim = site.keyword("dim")) {
    const auto found = find_dimension(context, site.scope, value, *dim->value);
    if (!found) return std::nullopt;
    position = *found;
  }
  return Subject{std::move(value), position};
}

/// Two values of half the extent: halves step by 1 and start a half apart, pairs step by 2 and start 1 apart.
Value cut_in_two(const CallSite& site, bool interleaved) {
  const auto subject = subject_of(site);
  if (!subject) return Value::poison(site.span);
  const auto half = exact_quotient(site.context, site.span, subject->dim().extent, Dim(2));
  if (!half) return Value::poison(site.span);
  const NamedDim part = site.context.dims.part_of(subject->dim(), interleaved ? "pairs" : "halves", *half);
  std::vector<Value> parts;
  for (const Dim& offset : {Dim(0), interleaved ? Dim(1) : *half}) {
    const AffineMap map{offset, {{part, Dim(interleaved ? 2 : 1)}}};
    parts.push_back(view_dim(site.context, subject->value, subject->position, {part}, map, site.span));
    if (parts.back().is_poison()) return Value::poison(site.span);
  }
  return Value::tuple(std::move(parts), site.span);
}

}  // namespace

Value cut_halves(const CallSite& site) { return cut_in_two(site, false); }
Value cut_pairs(const CallSite& site) { return cut_in_two(site, true); }

Value cut_split(const CallSite& site) {
  Context& context = site.context;
  const auto subject = subject_of(site);
  if (!subject) return Value::poison(site.span);
  std::vector<NamedDim> parts;
  Dim total;
  bool first = true;
  for (const ast::Argument& argument : site.call.arguments) {
    if (first && !argument.keyword) {
      first = false;
      continue;
    }
    if (argument.keyword && argument.keyword->text == "dim") continue;
    const auto extent = evaluate_extent(context, site.scope, *argument.value);
    if (!extent) return Value::poison(site.span);
    std::optional<NamedDim> part = extent->named;
    if (argument.keyword) {
      part = name_dim(context, *argument.keyword, extent->extent);
      if (!part) return Value::poison(site.span);
    }
    parts.push_back(part ? *part : context.dims.part_of(subject->dim(), "split", extent->extent));
    total = total + extent->extent;
  }
  const Dim& whole = subject->dim().extent;
  if (!(total.substitute(context.program.bound) == whole.substitute(context.program.bound))) {
    return context.fail(DiagId::E0255, site.span,
                        {total.text(), spelled(subject->dim()), whole.text(), way_to_add_up(total, whole)});
  }
  std::vector<Value> values;
  Dim offset;
  for (const NamedDim& part : parts) {
    const AffineMap map{offset, {{part, Dim(1)}}};
    values.push_back(view_dim(context, subject->value, subject->position, {part}, map, site.span));
    if (values.back().is_poison()) return Value::poison(site.span);
    offset = offset + part.extent;
  }
  if (values.size() == 1) return values[0];
  return Value::tuple(std::move(values), site.span);
}

Value cut_group(const CallSite& site) {
  Context& context = site.context;
  const ast::Argument* naming = site.naming();
  const auto positional = site.positional();
  if ((naming != nullptr) == (positional.size() == 2)) {
    return context.fail(DiagId::E0220, site.span,
                        {"group", "2 arguments", std::to_string(site.call.arguments.size()), "group(z, G = 32)"});
  }
  const auto subject = subject_of(site);
  if (!subject) return Value::poison(site.span);
  const auto extent = evaluate_extent(context, site.scope, naming != nullptr ? *naming->value : *positional[1]->value);
  if (!extent) return Value::poison(site.span);
  std::optional<NamedDim> inner = extent->named;
  if (naming != nullptr) {
    inner = name_dim(context, *naming->keyword, extent->extent);
    if (!inner) return Value::poison(site.span);
  }
  if (!inner) inner = context.dims.part_of(subject->dim(), "group", extent->extent);
  return group_at(context, subject->value, subject->position, *inner, site.span);
}

Value group_at(Context& context, const Value& value, size_t position, const NamedDim& inner, Span span) {
  const NamedDim whole = value.dims[position].dim;
  const auto count = exact_quotient(context, span, whole.extent, inner.extent);
  if (!count) return Value::poison(span);
  const NamedDim outer = context.dims.part_of(whole, "groups", *count);
  const AffineMap map{Dim(0), {{outer, inner.extent}, {inner, Dim(1)}}};
  return view_dim(context, value, position, {outer, inner}, map, span);
}

}  // namespace coda
