// How one value's column dimensions lie on the GEMM's columns: segments, granule and digits, from what it reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/epilogue/dim_facts.h"
#include "compiler/epilogue/epilogue.h"
#include "compiler/epilogue/reads.h"

namespace coda {

/// No tile is wider than this (columns of one segment).
inline constexpr int64_t kWidestGranule = 256;

/// Columns c in [0, extent) relative to each segment; digits say which c is which element of the value.
struct Layout {
  std::vector<Dim> segments;
  Dim extent;
  int64_t granule = 1;
  ColumnSpace columns;

  /// A cut of the columns must lie at a multiple of this.
  int64_t cut_unit() const;
};

struct LayoutFailure {
  enum class Kind {
    Unbound,    ///< `symbols` must be constants
    Unroll,     ///< `dim` is short and has a symbolic stride: take its coordinates one by one
    Wide,       ///< a reduction wider than a tile: `reduction`
    TooWide,    ///< needs a granule of `width` columns
    Undecided,  ///< overlap of symbolic intervals: `detail`
    Mixed,      ///< `detail`: elements from different places that no tile holds together
    Foreign,    ///< `dim` is no dimension of the GEMM
  };
  Kind kind = Kind::Mixed;
  std::set<std::string> symbols;
  NamedDim dim;
  NodeId reduction = kNoNode;
  int64_t width = 0;
  std::string detail;
};

/// `dims` are the column dimensions of the value, `reads` its uses of the accumulator, `column` the GEMM's N.
std::optional<Layout> lay_out(const std::vector<NamedDim>& dims, const std::vector<Read>& reads, const NamedDim& column,
                              const DimFacts& facts, LayoutFailure& failure);

}  // namespace coda
