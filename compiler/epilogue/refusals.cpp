#include "compiler/epilogue/refusals.h"

#include "compiler/epilogue/describe.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

std::string text_of(const Lowering& lowering, NodeId node) { return describe(lowering.source, lowering.graph, node); }

Span span_of(const Lowering& lowering, NodeId node, Span otherwise) {
  if (node == kNoNode) return otherwise;
  return own_span(lowering.source, lowering.graph[node].span, otherwise);
}

/// The dimensions that a reduction runs over: "N", "M and N".
std::string over_of(const Lowering& lowering, NodeId reduction) {
  if (reduction == kNoNode) return "the result";
  std::string names;
  for (const NamedDim& dim : lowering.graph[reduction].over) {
    names += (names.empty() ? "" : " and ") + dim.name.substr(0, dim.name.find('#'));
  }
  return names;
}

void refuse_unbound(Lowering& lowering, const Unit& unit, const LayoutFailure& failure) {
  std::vector<std::string> names(failure.symbols.begin(), failure.symbols.end());
  const std::string first = names.empty() ? "it" : names.front();
  lowering.diagnostics.report(DiagId::E0310, span_of(lowering, failure.reduction, unit.span),
                              {name_list(names), unit.name, first});
}

}  // namespace

void refuse_wide(Lowering& lowering, const Unit& unit, NodeId reduction) {
  const Span span = span_of(lowering, reduction, unit.span);
  const std::string text = reduction == kNoNode ? unit.name : text_of(lowering, reduction);
  const bool in_statistic = unit.use != Unit::Use::Store;
  auto& diagnostic =
      in_statistic ? lowering.diagnostics.report(DiagId::E0321, span, {unit.name, text})
                   : lowering.diagnostics.report(DiagId::E0320, span, {text, unit.name, over_of(lowering, reduction)});
  const bool elsewhere = unit.span.begin != span.begin || unit.span.end != span.end;
  if (!elsewhere) return;
  diagnostic.notes.push_back(
      {unit.span, in_statistic ? "the statistic that needs it" : "it is fed back into the tile here"});
}

void refuse(Lowering& lowering, const Unit& unit, const LayoutFailure& failure) {
  auto& diagnostics = lowering.diagnostics;
  switch (failure.kind) {
    case LayoutFailure::Kind::Unbound:
    case LayoutFailure::Kind::Unroll:
      return refuse_unbound(lowering, unit, failure);
    case LayoutFailure::Kind::Wide:
      return refuse_wide(lowering, unit, failure.reduction);
    case LayoutFailure::Kind::TooWide:
      diagnostics.report(DiagId::E0311, unit.span,
                         {unit.name, std::to_string(failure.width), std::to_string(kWidestGranule)});
      return;
    case LayoutFailure::Kind::Undecided:
      diagnostics.report(DiagId::E0313, unit.span,
                         {unit.name, "whether " + failure.detail + " overlap depends on sizes that are not known"});
      return;
    case LayoutFailure::Kind::Mixed:
      diagnostics.report(DiagId::E0313, unit.span, {unit.name, failure.detail});
      return;
    case LayoutFailure::Kind::Foreign:
      diagnostics.report(DiagId::E0315, unit.span, {failure.dim.name, unit.name});
      return;
  }
}

void refuse(Lowering& lowering, const std::vector<Unit>& units, const CutFailure& failure) {
  auto& diagnostics = lowering.diagnostics;
  const Unit& unit = units[failure.layout < 0 ? 0 : static_cast<size_t>(failure.layout)];
  switch (failure.kind) {
    case CutFailure::Kind::Undecided:
      diagnostics.report(DiagId::E0312, failure.layout < 0 ? lowering.source.span : unit.span,
                         {failure.a.text(), failure.b.text(), failure.layout < 0 ? lowering.source.name : unit.name});
      return;
    case CutFailure::Kind::Misaligned:
      diagnostics.report(DiagId::E0332, unit.span, {unit.name, failure.a.text(), failure.b.text()});
      return;
    case CutFailure::Kind::TooMany:
      diagnostics.report(DiagId::E0313, lowering.source.span,
                         {lowering.source.name, "the columns fall into more than 256 pieces"});
      return;
    case CutFailure::Kind::TooWide:
      diagnostics.report(DiagId::E0311, lowering.source.span,
                         {lowering.source.name, failure.a.text(), std::to_string(kWidestGranule)});
      return;
  }
}

}  // namespace coda
