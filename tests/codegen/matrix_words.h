// What the kernels of the language's matrix compute: one word of the language each.
#pragma once

#include <string>
#include <vector>

namespace coda::test {

/// What the columns of a kernel are, which says what its words are applied to:
/// `z`, sums of products over 256, and `u`, another tensor over 4, with the same dimensions;
/// `r` with M, `c` with the last dimension, whole numbers over 4; `t` with M, whole numbers from 0 to 3.
enum class MatrixForm {
  Whole,   ///< z[M, N]
  Blocks,  ///< z[M, N], N a multiple of 16
  Gated,   ///< z[M, 2*F]
  Heads,   ///< z[M, H, Dh], Dh = 16; all_cos and all_sin of [M, Dh/2], few_cos and few_sin of [M, Dh/4]
};

struct MatrixWord {
  std::string name;  ///< of the op, reduction or function
  MatrixForm form;
  std::string lets;       ///< statements before
  std::string value;      ///< what is stored
  std::string dims;       ///< of the output
  std::string type;       ///< of the output; empty: real, of each type in turn
  bool relative = false;  ///< right element by element
  double ulps = 2;
};

bool uses(const std::string& text, const std::string& word);

std::vector<MatrixWord> op_words();
std::vector<MatrixWord> reduction_words();
std::vector<MatrixWord> prelude_words();

}  // namespace coda::test
