// Cuts the GEMM's columns into regions so that every value's segments lie side by side in exactly one region, piece by
// piece.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/epilogue/layout.h"

namespace coda {

/// The part of a layout that lies in one region: its columns [from, from + extent).
struct RegionPiece {
  int region = 0;
  Dim from, extent;
  ColumnSpace columns;  ///< of the region's coordinate
};

struct RegionCut {
  std::vector<Region> regions;
  std::vector<std::vector<RegionPiece>> pieces;  ///< for each layout, in column order
};

struct CutFailure {
  enum class Kind { Undecided, Misaligned, TooMany, TooWide } kind = Kind::Undecided;
  Dim a, b;         ///< Undecided: which of these comes first? Misaligned: the cut `a` is no multiple of `b`
  int layout = -1;  ///< Misaligned: whose
};

std::optional<RegionCut> cut_regions(const std::vector<Layout>& layouts, const DimFacts& facts, CutFailure& failure);

}  // namespace coda
