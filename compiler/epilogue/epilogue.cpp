#include "compiler/epilogue/epilogue.h"

#include "compiler/epilogue/affine.h"

namespace coda {

std::vector<GemmTerm> EpilogueProgram::terms() const {
  std::vector<GemmTerm> all = earlier;
  all.push_back({a, b, depth, kNoNode});
  return all;
}

Dim EpilogueProgram::total_depth() const {
  Dim total = depth;
  for (const GemmTerm& term : earlier) total = total + term.depth;
  return total;
}

Dim EpilogueProgram::batches() const { return product({rows.begin(), rows.begin() + batch}); }
Dim EpilogueProgram::kept_groups() const { return product({rows.begin(), rows.begin() + kept}); }
Dim EpilogueProgram::batches_in_group() const { return product({rows.begin() + kept, rows.begin() + batch}); }
Dim EpilogueProgram::rows_in_batch() const { return product({rows.begin() + batch, rows.end()}); }

}  // namespace coda
