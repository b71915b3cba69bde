// Epilogue IR: what one kernel does around one GEMM, or to the rows of tensors where there is none. Values stay nodes
// of a tensor-IR graph; this says which node is the accumulator, how the GEMM's columns are cut into regions and
// segments, what is stored and reduced from which columns, and what is finished once statistics are whole. A code
// generator walks the stores and evaluates nodes at coordinates; the same program serves the host and the GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/epilogue/law.h"
#include "compiler/ir/graph.h"

namespace coda {

class Diagnostics;

/// A parameter read by the mainloop. Its element (outer, depth) is found by the axes' strides at launch.
struct GemmOperand {
  int param = -1;
  std::vector<int> outer_axes;  ///< axes of the param that form the GEMM's rows (A) or columns (B), outermost first
  int depth_axis = -1;          ///< axis of the summed dimension
  std::vector<int> batch_axes;  ///< axes that both operands have, outermost first
  /// Axes of the summed dimension outside `depth_axis`, outermost first: the depth is their mixed-radix number.
  std::vector<int> outer_depth_axes;
  /// Of gathered rows or columns: the parameter of whole numbers that says where along the only outer axis each of them
  /// lies, and its axes, outermost first, whose mixed-radix number is that of the row. Elsewhere than on the axis are
  /// zeros.
  int index_param = -1;
  std::vector<int> index_axes;

  bool gathered() const { return index_param >= 0; }
};

/// One product of several that are summed in the accumulator.
struct GemmTerm {
  GemmOperand a, b;
  Dim depth;
  /// A scalar, in terms of parameters: what the sum of this product and those before it is multiplied by, before the
  /// next product is added. kNoNode: 1.
  NodeId scale = kNoNode;
};

/// The GEMM's columns are visited region by region. A region has column coordinates c in [0, extent) and one or more
/// segments: coordinate c of segment s is column segments[s] + c of N. `halves` gives one region of two segments
/// (gate and up rows of the B tile are loaded from two places); q, k and v give three regions of one segment each.
/// Columns that no store or statistic needs are in no region.
struct Region {
  Dim extent;
  std::vector<Dim> segments;
  int64_t granule = 1;  ///< tiles start at multiples of it and hold whole granules (a head, a group, a pair)
};

/// How a region's column coordinate c makes the column dimensions of a value: c = phase + sum of stride * digit, with
/// digit in [0, extent), and the value's dimension is offset + digit. A coordinate with no such digits is skipped.
struct ColumnDigit {
  NamedDim dim;
  Dim extent, stride, offset;
};
struct ColumnSpace {
  std::vector<ColumnDigit> digits;  ///< outermost (largest stride) first; inner strides and extents are constants
  int64_t phase = 0;
};

/// One tile output: for each row and each c of the region, param[index(dims)] = value. An inout parameter that a value
/// reads is read at the very element that some store of the same region writes for the same row and c: evaluate all
/// values of an element before the first store to it.
struct Store {
  int param = -1;
  NodeId value = kNoNode;
  int region = 0;
  ColumnSpace columns;
  std::vector<AffineMap> index;  ///< one an axis of the param, over the value's dimensions
};

enum class StatScope : uint8_t {
  Row,     ///< one state a row, over all columns of its parts
  Column,  ///< one state a column, over all rows (but those that EpilogueProgram::kept says)
  All,     ///< one state, over rows (likewise) and columns
};

/// A reduction wider than a tile: partials a tile, finished inside the launch in a fixed order.
struct Statistic {
  NodeId node = kNoNode;  ///< the node of the graph it computes (a Contract or a Reduce)
  const Reduction* reduction = nullptr;
  StatScope scope = StatScope::Row;
  Dim count;  ///< number of elements reduced, for finish
  struct Part {
    int region = 0;
    NodeId body = kNoNode;  ///< value lifted at each element
    ColumnSpace columns;
  };
  /// In column order. Scope Column: exactly one, and `columns` also says at which c the state for given dimensions of
  /// `node` lies.
  std::vector<Part> parts;
};

/// An output of the finish stage: its value uses statistics of one scope, inputs and scalars only (perhaps no statistic
/// at all). Scope Row: stored for each row. Scope Column: for each c of the region, as a tile's store.
struct FinishStore {
  int param = -1;
  NodeId value = kNoNode;
  StatScope scope = StatScope::Row;
  int region = -1;               ///< scope Column
  ColumnSpace columns;           ///< scope Column
  std::vector<AffineMap> index;  ///< one an axis of the param
};

/// Without a GEMM (`accumulator` is kNoNode) the program is a pass over rows; operands, `column` and `depth` mean
/// nothing. A region is a walk over columns of one row: one segment at 0, digits in mixed radix, whose extents may all
/// be symbolic; stores and statistics whose walks have the same extents share it. A statistic of scope Row has one part
/// or several, another exactly one. Those of scope Row come in an order in which each uses earlier ones only, and
/// stores, bodies and finish stores of scope Row may use them; a reduction below them that is no statistic is done
/// within an element. No rows: there is one row.
struct EpilogueProgram {
  Program program;                ///< params and facts as declared; `graph` holds the lowered nodes used below
  NodeId accumulator = kNoNode;   ///< the sum of the products, dimensions rows and `column`; kNoNode
  GemmOperand a, b;               ///< of the only product, or of the last one
  std::vector<GemmTerm> earlier;  ///< products that are summed first
  std::vector<NamedDim> rows;     ///< outermost first; usually one. The row coordinate is their mixed-radix number
  int batch = 0;                  ///< so many of `rows` have a product for each element; no tile reaches into two
  /// So many of `rows`, all of the batch, are kept by the statistics of scope Column and All, which run over the
  /// others: their states, and the finish stores of these scopes, are one for each element of the kept rows.
  int kept = 0;
  NamedDim column;  ///< the GEMM's N
  Dim depth;        ///< the GEMM's K, of the last product
  std::vector<Region> regions;
  std::vector<Store> stores;
  std::vector<Statistic> statistics;
  std::vector<FinishStore> finish_stores;
  std::vector<LawUse> laws;  ///< what was done by algebra, in order

  bool is_rowwise() const { return accumulator == kNoNode; }
  DType operand_dtype(const GemmOperand& operand) const {
    return program.params[static_cast<size_t>(operand.param)].dtype;
  }
  std::vector<GemmTerm> terms() const;  ///< all products, in order; the last one's scale is kNoNode
  Dim total_depth() const;              ///< of all products
  Dim batches() const;                  ///< number of products of each term
  Dim rows_in_batch() const;            ///< of one product; times batches() it is all rows
  Dim kept_groups() const;              ///< elements of the kept rows; 1 if none are
  Dim batches_in_group() const;         ///< products of one of them
};

/// Lowers a `kernel` after elaboration. Structural extents (head sizes, groups) must be bound: each unbound one is
/// reported by name. Reports E03xx diagnostics and returns false for what one launch can't do.
bool lower_to_epilogue(const Program& program, EpilogueProgram& out, Diagnostics& diagnostics);

/// A readable dump: operands, regions, stores, statistics, finish, and the nodes below them.
std::string to_text(const EpilogueProgram& epilogue);

}  // namespace coda
