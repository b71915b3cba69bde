#include "compiler/epilogue/affine.h"

#include <algorithm>

namespace coda {

AffineMap affine(const NamedDim& dim) { return {.offset = Dim(), .terms = {{dim, Dim(1)}}}; }

AffineMap affine_constant(const Dim& value) { return {.offset = value, .terms = {}}; }

AffineMap normalised(AffineMap map) {
  std::stable_sort(map.terms.begin(), map.terms.end(), [](const auto& a, const auto& b) { return a.dim < b.dim; });
  std::vector<AffineMap::Term> terms;
  for (auto& term : map.terms) {
    if (!terms.empty() && terms.back().dim == term.dim) {
      terms.back().stride = terms.back().stride + term.stride;
    } else {
      terms.push_back(std::move(term));
    }
  }
  std::erase_if(terms, [](const auto& term) { return term.stride.is_zero(); });
  map.terms = std::move(terms);
  return map;
}

AffineMap add(const AffineMap& a, const AffineMap& b) {
  AffineMap sum{.offset = a.offset + b.offset, .terms = a.terms};
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  return normalised(std::move(sum));
}

AffineMap scale(const AffineMap& a, const Dim& factor) {
  AffineMap scaled{.offset = a.offset * factor, .terms = a.terms};
  for (auto& term : scaled.terms) term.stride = term.stride * factor;
  return normalised(std::move(scaled));
}

AffineMap substitute(const AffineMap& map, const Substitution& substitution) {
  AffineMap result = affine_constant(map.offset);
  for (const auto& term : map.terms) {
    const auto it = substitution.find(term.dim.name);
    result = add(result, scale(it == substitution.end() ? affine(term.dim) : it->second, term.stride));
  }
  return result;
}

std::optional<NamedDim> as_dimension(const AffineMap& map) {
  const bool plain = map.offset.is_zero() && map.terms.size() == 1 && map.terms[0].stride == Dim(1);
  return plain ? std::optional(map.terms[0].dim) : std::nullopt;
}

Dim greatest(const AffineMap& map) {
  Dim value = map.offset;
  for (const auto& term : map.terms) value = value + term.stride * (term.dim.extent - Dim(1));
  return value;
}

AffineMap mixed_radix(const std::vector<NamedDim>& dims) {
  AffineMap map;
  Dim stride(1);
  for (auto it = dims.rbegin(); it != dims.rend(); ++it) {
    map.terms.push_back({*it, stride});
    stride = stride * it->extent;
  }
  return normalised(std::move(map));
}

Dim product(const std::vector<NamedDim>& dims) {
  Dim value(1);
  for (const auto& dim : dims) value = value * dim.extent;
  return value;
}

std::string formula(const AffineMap& map) {
  std::string text;
  if (!map.offset.is_zero() || map.terms.empty()) text = map.offset.text();
  for (const auto& term : map.terms) {
    if (!text.empty()) text += " + ";
    if (!(term.stride == Dim(1))) {
      const bool simple = term.stride.text().find(' ') == std::string::npos;
      text += (simple ? term.stride.text() : "(" + term.stride.text() + ")") + "*";
    }
    text += "[" + term.dim.name + "]";
  }
  return text;
}

}  // namespace coda
