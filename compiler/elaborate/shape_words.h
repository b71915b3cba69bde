// Words that cut, join and rename dimensions: index maps, no arithmetic.
#pragma once

#include <utility>
#include <vector>

#include "compiler/elaborate/context.h"
#include "dsl/ast.h"

namespace coda {

/// `z[M as M2]`: the dimensions at these positions get these names.
Value rename_dims(Context& context, const Value& value, const std::vector<std::pair<size_t, ast::Name>>& names,
                  Span span);

/// Replaces the dimension at `position` by `parts` through `map`; reports names that occur twice and reads of inouts.
Value view_dim(Context& context, const Value& value, size_t position, const std::vector<NamedDim>& parts, AffineMap map,
               Span span);

/// Gives `extent` a name that the program chose; nothing after a report.
std::optional<NamedDim> name_dim(Context& context, const ast::Name& name, const Dim& extent);

/// What is said where parts are `parts` together and should be `whole`.
std::string way_to_add_up(const Dim& parts, const Dim& whole);

}  // namespace coda
