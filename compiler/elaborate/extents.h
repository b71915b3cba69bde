// Expressions in places where an extent or a dimension is meant: annotations, `over =`, `dim =`, `group(z, Dh)`.
#pragma once

#include <optional>

#include "compiler/elaborate/context.h"
#include "dsl/ast.h"

namespace coda {

struct ExtentRef {
  Dim extent;
  std::optional<NamedDim> named;  ///< the dimension it names; none for a bare number
};

/// Evaluates an extent; nothing after a report. No node of the graph is made, but for the argument of `last(x)`.
std::optional<ExtentRef> evaluate_extent(Context& context, Scope& scope, const ast::Expr& expr);

/// The position in `value` of the dimension that `expr` names; nothing after a report.
std::optional<size_t> find_dimension(Context& context, Scope& scope, const Value& value, const ast::Expr& expr);

/// Whether a sum, product or quotient of the two stays within 64-bit coefficients and a length that can be read.
bool fits_in_extent(const Dim& left, const Dim& right);

/// extent / parts if that is, or may be, exact; reports at `span` otherwise.
std::optional<Dim> exact_quotient(Context& context, Span span, const Dim& extent, const Dim& parts);

/// Adds the fact that `dim` is not negative, unless that is certain or known: checked where sizes are bound, else at
/// launch.
void require_not_negative(Context& context, const Dim& dim, Span span);

}  // namespace coda
