// index, gather, last: coordinates as values, and values at coordinates.
#include <algorithm>

#include "compiler/elaborate/calls.h"
#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/extents.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

Value index_of(const CallSite& site) {
  const auto extent = evaluate_extent(site.context, site.scope, *site.call.arguments[0].value);
  if (!extent) return Value::poison(site.span);
  if (!extent->named) return site.context.fail(DiagId::E0259, site.span, {extent->extent.text()});
  Value result = Value::scalar(site.context.graph().index(*extent->named), site.span);
  result.dims = {{*extent->named, site.span}};
  return result;
}

/// The extent of the last dimension, which also names it in `over =` and `dim =`.
Value last_of(const CallSite& site) {
  const Value value = evaluate_tensor(site.context, site.scope, *site.call.arguments[0].value);
  if (value.is_poison()) return value;
  if (value.dims.empty()) {
    return site.context.fail(DiagId::E0247, site.span,
                             {site.context.quoted(value.span, "the argument"), "no dimensions"});
  }
  const NamedDim& dim = value.dims.back().dim;
  Value result = Value::scalar(site.context.graph().extent(dim.extent), site.span);
  result.dimension = dim;
  return result;
}

Value gather_at(const CallSite& site) {
  Context& context = site.context;
  const auto arguments = site.positional();
  const ast::Argument* naming = site.naming();
  const Value value = evaluate_tensor(context, site.scope, *arguments[0]->value);
  if (value.is_poison()) return value;
  if ((naming == nullptr) == (arguments.size() == 1)) {
    return context.fail(DiagId::E0256, site.span, {spelled(value.dims)});
  }
  const Value index = evaluate_tensor(context, site.scope, *(naming != nullptr ? naming : arguments[1])->value);
  if (index.is_poison()) return index;
  const ValueDim* found = naming != nullptr    ? value.find_dim(naming->keyword->text)
                          : value.dims.empty() ? nullptr
                                               : &value.dims.back();
  if (found == nullptr) {
    const std::string name = naming != nullptr ? naming->keyword->text : "the last dimension";
    return context.fail(DiagId::E0240, naming != nullptr ? naming->keyword->span : site.span,
                        {name, context.quoted(value.span, "the operand"), spelled(value.dims),
                         suggestion(name, dim_names(value.dims), "its dimensions are", "a scalar has none")});
  }
  const std::string name = found->dim.name;
  if (class_of(context, index) != NumClass::Int) {
    return context.fail(DiagId::E0275, index.span, {context.quoted(index.span, "the index")});
  }
  if (context.reads_inout(value.node)) {
    return context.fail(DiagId::E0257, value.span, {context.quoted(value.span, "this")});
  }
  if (const ValueDim* own = index.find_dim(name)) {
    Diagnostic& diagnostic = context.report(DiagId::E0276, index.span, {name, context.quoted(index.span, "t")});
    diagnostic.notes.push_back({own->origin, "`" + name + "` comes from here"});
    return Value::poison(site.span);
  }
  const NamedDim indexed = found->dim;
  Value result = value;
  result.dimension.reset();
  const auto at =
      std::find_if(result.dims.begin(), result.dims.end(), [&](const ValueDim& d) { return d.dim == indexed; });
  const auto place = at - result.dims.begin();
  const auto others = static_cast<ptrdiff_t>(result.dims.size()) - 1;
  result.dims.erase(at);
  auto dims = broadcast(context, site.span, {result, index});
  if (!dims) return Value::poison(site.span);
  result.dims = std::move(*dims);
  // What the index brings takes the place of the dimension that is indexed, as in `x[t]` elsewhere.
  std::rotate(result.dims.begin() + place, result.dims.begin() + others, result.dims.end());
  result.node = context.graph().gather(value.node, indexed, index.node, site.span);
  return result;
}

/// The number of each element in row-major order of the argument's dimensions.
Value element_of(const CallSite& site) {
  Context& context = site.context;
  const Value value = evaluate_tensor(context, site.scope, *site.positional()[0]->value);
  if (value.is_poison()) return value;
  Graph& graph = context.graph();
  std::vector<NodeId> terms;
  Dim stride(1);
  for (auto d = value.dims.rbegin(); d != value.dims.rend(); ++d) {
    terms.push_back(graph.contract({graph.index(d->dim), graph.extent(stride)}, {}, site.span));
    stride = stride * d->dim.extent;
  }
  const size_t count = terms.size();
  Value result = Value::scalar(
      count == 0 ? graph.constant(0, NumClass::Int) : graph.sum(terms, std::vector<double>(count, 1), site.span),
      site.span);
  result.dims = value.dims;
  return result;
}

constexpr Word kIndexingWords[] = {
    {"element", "element(x)", 1, 1, "", false, element_of},
    {"index", "index(N)", 1, 1, "", false, index_of},
    {"gather", "gather(z, V = t)", 1, 2, "", true, gather_at},
    {"last", "last(x)", 1, 1, "", false, last_of},
};

}  // namespace

std::span<const Word> indexing_words() { return kIndexingWords; }

}  // namespace coda
