#include "compiler/epilogue/describe_map.h"

#include <algorithm>

namespace coda {

namespace {

/// How many elements the map's dimensions count without a gap; nothing if there is one.
std::optional<Dim> counted(const AffineMap& map) {
  std::vector<AffineMap::Term> rest = map.terms;
  Dim stride(1);
  while (!rest.empty()) {
    const auto inner =
        std::find_if(rest.begin(), rest.end(), [&](const AffineMap::Term& term) { return term.stride == stride; });
    if (inner == rest.end()) return std::nullopt;
    stride = stride * inner->dim.extent;
    rest.erase(inner);
  }
  return stride;
}

}  // namespace

std::string dim_text(const NamedDim& dim) { return dim.name.substr(0, dim.name.find('#')); }

std::string part_text(const NamedDim& dim, const AffineMap& map) {
  const std::string offset = map.offset.text();
  if (map.terms.empty()) return "[" + offset + "]";
  if (const auto size = counted(map)) {
    const bool whole = map.offset.is_zero() && *size == dim.extent;
    if (!whole) return "[" + (map.offset.is_zero() ? "" : offset) + ":" + (map.offset + *size).text() + "]";
    const bool renames = map.terms.size() == 1 && !(map.terms[0].dim == dim);
    return renames ? "[" + dim_text(dim) + " as " + dim_text(map.terms[0].dim) + "]" : "";
  }
  if (map.terms.size() == 1) {
    return "[" + (map.offset.is_zero() ? "" : offset) + "::" + map.terms[0].stride.text() + "]";
  }
  std::string text = map.offset.is_zero() ? "" : offset;
  for (const auto& term : map.terms) {
    const std::string step = term.stride == Dim(1) ? "" : "(" + term.stride.text() + ")*";
    text += (text.empty() ? "" : " + ") + step + dim_text(term.dim);
  }
  return "[" + text + "]";
}

}  // namespace coda
