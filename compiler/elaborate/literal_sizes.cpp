#include "compiler/elaborate/literal_sizes.h"

#include <algorithm>

namespace coda {

namespace {

/// Multiples that halves, thirds and quarters of a dimension leave.
constexpr int64_t kMostParts = 4;

std::string free_symbol(const Context& context) {
  for (const char* name : {"F", "N", "K", "D", "E", "H", "P", "Q"}) {
    const bool is_param = std::any_of(context.program.params.begin(), context.program.params.end(),
                                      [&](const Param& param) { return param.name == name; });
    if (!is_param && context.dims.find(name) == nullptr && context.types.count(name) == 0) return name;
  }
  return "SIZE";
}

/// Does the signature write this number as a dimension?
bool is_written(const Context& context, int64_t size) {
  for (const Param& param : context.program.params) {
    for (const NamedDim& dim : param.dims) {
      if (is_unnamed(dim) && dim.extent == Dim(size)) return true;
    }
  }
  return false;
}

}  // namespace

std::string name_literal(const Context& context, int64_t size) {
  const std::string symbol = free_symbol(context);
  std::string text;
  for (int64_t parts = 1; parts <= kMostParts && size > 0 && size <= INT64_MAX / kMostParts; ++parts) {
    if (parts > 1 && !is_written(context, parts * size)) continue;
    if (parts == 1 && !is_written(context, size)) continue;
    const std::string extent = (parts > 1 ? std::to_string(parts) + "*" : "") + symbol;
    text += (text.empty() ? "`" : " and `") + extent + "` for " + std::to_string(parts * size);
  }
  if (text.empty()) text = "`" + symbol + "` for " + std::to_string(size);
  return "a number names no dimension: write " + text + " in the signature, and `where " + symbol + " = " +
         std::to_string(size) + "` behind it";
}

std::string name_literals(const Context& context, const NamedDim& left, const NamedDim& right) {
  const auto a = left.extent.constant(), b = right.extent.constant();
  if (a && b && *a == *b) return name_literal(context, *a);
  if (a && b) return "one operation pairs dimensions of one size: give both the same symbol, or each its own";
  const NamedDim &named = a ? right : left, &number = a ? left : right;
  return "a number names no dimension: write `" + spelled(named) + "` in its place, and `where " + spelled(named) +
         " = " + spelled(number) + "` behind the signature";
}

}  // namespace coda
