// Arithmetic of affine maps, and substitutions of named dimensions by them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

/// What stands for a dimension, by its name. A dimension that is not listed stands for itself.
using Substitution = std::map<std::string, AffineMap>;

AffineMap affine(const NamedDim& dim);
AffineMap affine_constant(const Dim& value);
AffineMap add(const AffineMap& a, const AffineMap& b);
AffineMap scale(const AffineMap& a, const Dim& factor);
AffineMap substitute(const AffineMap& map, const Substitution& substitution);
/// Terms sorted by dimension, strides of one dimension added up, strides of zero dropped.
AffineMap normalised(AffineMap map);

/// The dimension `d` if the map is just 1*d.
std::optional<NamedDim> as_dimension(const AffineMap& map);
/// The greatest value: every dimension at its last coordinate. The least one is the offset, as strides are not
/// negative.
Dim greatest(const AffineMap& map);
/// The maps of `dims` as digits of one number, outermost first: the last has stride 1.
AffineMap mixed_radix(const std::vector<NamedDim>& dims);
Dim product(const std::vector<NamedDim>& dims);

/// Readable, also used as a key: "F + 2*e".
std::string formula(const AffineMap& map);

}  // namespace coda
