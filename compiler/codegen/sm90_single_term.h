// What a gather of one column has become: the sum over n of select(n == v, x, 0), v the same for all n. At most one of
// its terms counts, so that no sum is needed. LLVM-free.
#pragma once

#include <optional>

#include "compiler/epilogue/epilogue.h"

namespace coda {

struct Sm90SingleTerm {
  NodeId condition, value;  ///< n == v, and x
  NodeId wanted;            ///< v
  /// Of a row: whoever has column v of the product's only walk over it leaves x for the finish, which knows from v
  /// whether anybody did.
  bool direct = false;
};

/// If the part of the statistic is such a sum.
std::optional<Sm90SingleTerm> sm90_single_term(const EpilogueProgram& epilogue, const Statistic& statistic,
                                               const Statistic::Part& part);
/// Whether the statistic's only part is one whose term is left by whoever has it.
std::optional<Sm90SingleTerm> sm90_direct_term(const EpilogueProgram& epilogue, const Statistic& statistic);

}  // namespace coda
