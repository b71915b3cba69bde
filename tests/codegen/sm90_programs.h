// Epilogue programs made by hand, so that the back end is tested without the front end.
#pragma once

#include "compiler/epilogue/epilogue.h"

namespace coda::test {

/// D[M, N] = A B^T in the given layouts and output type.
EpilogueProgram plain_gemm(bool a_depth_major, bool b_depth_major, DType operand, DType output);
/// act[M, F] = silu(gate) * up of (x @ w.T) * rstd.
EpilogueProgram gate_up();

/// All of them by name: what the tests assemble and the GPU check runs.
std::vector<std::pair<std::string, EpilogueProgram>> all_programs();

}  // namespace coda::test
