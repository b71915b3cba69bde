// Which dimensions of a kernel without a product are its rows: what is reduced inside one row is finished before the
// row's elements need it, what is reduced over all rows is finished at the end.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/epilogue/rowwise_pieces.h"

namespace coda {

/// Why a choice of rows doesn't do.
struct RowObstacle {
  /// What says most to the user comes first.
  enum class Kind : uint8_t {
    None,
    Mixed,     ///< `piece` has other dimensions than the statistic `reduction` over all rows that it is made of
    Rows,      ///< `piece` has some of the rows' dimensions, but not all
    Part,      ///< `reduction` runs over a part of the rows
    Inner,     ///< `reduction` is one for each of several elements of a row, and long
    Feedback,  ///< `reduction` runs over rows and is needed before the last of them
  };
  Kind kind = Kind::None;
  size_t piece = 0;
  NodeId reduction = kNoNode;
};

struct RowChoice {
  std::vector<NamedDim> rows;  ///< outermost first
  RowObstacle obstacle;        ///< of the best choice, if none is possible
};

RowChoice choose_rows(const Program& program, const Graph& graph, const std::vector<RowPiece>& pieces);

/// Does the reduction run over `rows` (all, some, none of them)?
enum class OverRows : uint8_t { None, Some, All };
OverRows over_rows(const Node& reduction, const std::set<std::string>& rows);
/// Are all dimensions of `dims` among `names`?
bool covers(const std::set<std::string>& names, const std::vector<NamedDim>& dims);
/// The reductions below `value` that are below no other one, in a fixed order.
std::vector<NodeId> outermost_reductions(const Graph& graph, NodeId value);
/// Dimensions in the order of the axes of the first tensor read that has all of them.
std::vector<NamedDim> memory_order(const Program& program, const Graph& graph, const std::vector<Read>& reads,
                                   const std::vector<NamedDim>& dims);

}  // namespace coda
