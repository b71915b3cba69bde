// How a matrix of an output lies in memory where it isn't row by row: the order in which tensor cores read the scales
// of quantised blocks. Its view has the matrix's shape; the stride of its first axis is that of the padded matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coda {

enum class ParamLayout : uint8_t {
  RowMajor,
  /// Blocks of 128 x 4 bytes, row by row of blocks; in a block, element (r, c) is byte 16*(r % 32) + 4*(r / 32) + c.
  /// The matrix is padded to whole blocks, and what is beyond it is not written.
  Mx128x4,
};

struct ParamLayoutInfo {
  ParamLayout layout;
  std::string_view name;
  int64_t rows, columns;  ///< of a block: the matrix is padded to multiples of them
};
inline constexpr ParamLayoutInfo kParamLayouts[] = {{ParamLayout::Mx128x4, "mx128x4", 128, 4}};

/// Null for what is row-major.
constexpr const ParamLayoutInfo* find_layout(ParamLayout layout) {
  for (const ParamLayoutInfo& each : kParamLayouts) {
    if (each.layout == layout) return &each;
  }
  return nullptr;
}
constexpr std::optional<ParamLayout> layout_from_name(std::string_view name) {
  for (const ParamLayoutInfo& each : kParamLayouts) {
    if (each.name == name) return each.layout;
  }
  return std::nullopt;
}

constexpr int64_t padded(int64_t extent, int64_t block) { return (extent + block - 1) / block * block; }

/// Element (row, column) of a matrix whose first axis has the stride `pitch`, in elements.
constexpr int64_t mx128x4_offset(int64_t row, int64_t column, int64_t pitch) {
  return row / 128 * 128 * pitch + column / 4 * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
}

}  // namespace coda
