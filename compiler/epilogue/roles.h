// Which operand of the GEMM gives its rows and which its columns, and the accumulator in that form: row dimensions and
// one column dimension.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"
#include "compiler/epilogue/normalise.h"
#include "compiler/epilogue/reads.h"

namespace coda {

struct Roles {
  NodeId accumulator = kNoNode;
  GemmOperand a, b;
  std::vector<GemmTerm> earlier;
  std::vector<NamedDim> rows;
  int batch = 0;
  int kept = 0;  ///< as EpilogueProgram says
  NamedDim column;
  NamedDim depth;
  /// Other names and groupings of rows, in terms of `rows`: M2 → M, T → S*b + s.
  Substitution row_alias;
  bool either = false;  ///< the other operand could give the rows as well

  bool is_row(const std::string& name) const;
};

/// `values` are the normalised outputs, in the order of `program.outputs`; with `other_way` the operand that would give
/// the columns gives the rows, if it can. After this `reindexer` reads the accumulator
/// in its final form. Reports and returns nothing where the operands or the index maps of both sides don't allow it.
std::optional<Roles> assign_roles(const Program& program, Graph& graph, Reindexer& reindexer, const GemmCandidate& gemm,
                                  const std::vector<NodeId>& values, bool other_way, Diagnostics& diagnostics);

}  // namespace coda
