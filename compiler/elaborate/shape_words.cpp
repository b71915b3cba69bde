#include "compiler/elaborate/shape_words.h"

#include "compiler/elaborate/calls.h"
#include "compiler/elaborate/cut_words.h"
#include "compiler/elaborate/extents.h"
#include "compiler/elaborate/join_words.h"
#include "compiler/elaborate/matmul.h"

namespace coda {

namespace {

constexpr Word kShapeWords[] = {
    {"halves", "halves(z)", 1, 1, "dim", false, cut_halves},
    {"pairs", "pairs(z)", 1, 1, "dim", false, cut_pairs},
    {"split", "split(z, A, B, C)", 1, -1, "dim", true, cut_split},
    {"group", "group(z, G = 32)", 1, 2, "dim", true, cut_group},
    {"join_halves", "join_halves(a, b)", 2, 2, "dim", false, join_halves},
    {"join_pairs", "join_pairs(a, b)", 2, 2, "dim", false, join_pairs},
    {"concat", "concat(a, b)", 1, -1, "dim", true, join_concat},
    {"flatten", "flatten(z)", 1, 1, "dim", false, join_flatten},
};

}  // namespace

std::span<const Word> shape_words() { return kShapeWords; }

std::string way_to_add_up(const Dim& parts, const Dim& whole) {
  const std::string missing = (whole - parts).text(), beyond = (parts - whole).text();
  const auto is_positive = [](const std::string& text) { return text.find('-') == std::string::npos; };
  if (is_positive(missing)) return "a part of `" + missing + "` is missing";
  if (is_positive(beyond)) return "`" + beyond + "` is too much";
  return "make the parts add up to it";
}

std::optional<NamedDim> name_dim(Context& context, const ast::Name& name, const Dim& extent) {
  if (const auto* taken = context.dims.define(name.text, extent, name.span)) {
    Diagnostic& diagnostic =
        context.report(DiagId::E0232, name.span, {name.text, taken->dim.extent.text(), extent.text()});
    diagnostic.notes.push_back({taken->span, "`" + name.text + "` stands for " + taken->dim.extent.text() + " here"});
    return std::nullopt;
  }
  return context.dims.find(name.text)->dim;
}

Value view_dim(Context& context, const Value& value, size_t position, const std::vector<NamedDim>& parts, AffineMap map,
               Span span) {
  if (context.reads_inout(value.node)) {
    return context.fail(DiagId::E0257, span, {context.quoted(value.span, "this")});
  }
  Value result = value;
  result.span = span;
  const ValueDim replaced = value.dims[position];
  // What is not certain of the extents becomes a fact, so that no launch reads beside the tensor.
  Dim end = map.offset + Dim(1);
  for (const AffineMap::Term& term : map.terms) {
    require_not_negative(context, term.dim.extent, span);
    end = end + term.stride * (term.dim.extent - Dim(1));
  }
  require_not_negative(context, replaced.dim.extent - end, span);
  const auto at = result.dims.erase(result.dims.begin() + static_cast<ptrdiff_t>(position));
  std::vector<ValueDim> made;
  for (const NamedDim& part : parts) made.push_back({part, replaced.origin});
  result.dims.insert(at, made.begin(), made.end());
  if (!require_distinct(context, result.dims, value, span)) return Value::poison(span);
  result.node = context.graph().view(value.node, replaced.dim, std::move(map), span);
  return result;
}

Value rename_dims(Context& context, const Value& value, const std::vector<std::pair<size_t, ast::Name>>& names,
                  Span span) {
  std::vector<NamedDim> fresh;
  for (const auto& [position, name] : names) {
    const auto dim = name_dim(context, name, value.dims[position].dim.extent);
    if (!dim) return Value::poison(span);
    fresh.push_back(*dim);
  }
  Value result = value;
  for (size_t i = 0; i < names.size(); ++i) {
    const AffineMap map{Dim(0), {{fresh[i], Dim(1)}}};
    result = view_dim(context, result, names[i].first, {fresh[i]}, map, span);
    if (result.is_poison()) return result;
  }
  return result;
}

}  // namespace coda
