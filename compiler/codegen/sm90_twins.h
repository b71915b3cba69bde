// Regions of a GEMM's columns whose code would differ only in which parameters it names and what their extents are
// called, as those of queries and keys do. One of them, the leader, has code, and it serves its twins with their
// arguments. LLVM-free.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"
#include "runtime/format/kernel_image.h"

namespace coda {

struct Sm90Plan;

/// How one region stands to the one whose code it uses.
struct Sm90Likeness {
  int leader = 0;                              ///< itself: it has code of its own
  std::map<int, int> params;                   ///< of the leader to the region's own
  std::map<std::string, std::string> symbols;  ///< likewise, of extents

  Dim own(const Dim& extent) const { return extent.renamed(symbols); }
  WordSpec own(WordSpec word) const;
  ConditionSpec own(ConditionSpec condition) const;
};

/// One for each region of a program with a product, whose plan is made but for this.
std::vector<Sm90Likeness> find_sm90_twins(const EpilogueProgram& epilogue, const Sm90Plan& plan);

}  // namespace coda
