// Text to epilogue program, and the comparison of what it computes with the reference evaluation of the source.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/elaborate/elaborate.h"
#include "compiler/epilogue/epilogue.h"

namespace coda::test {

struct Lowered {
  std::optional<Program> program;
  std::optional<EpilogueProgram> epilogue;
  std::string diagnostics;
};

/// `bound`: symbols given at compile.
Lowered lower(const std::string& text, const Bindings& bound = {}, const std::string& path = "test.coda");

struct Comparison {
  std::string failure;  ///< empty if everything agreed
  std::string dump;     ///< of the epilogue program
};

/// Lowers `text`, verifies it, runs it by loops on random inputs of the given sizes and compares every output with the
/// reference. `tolerance` is relative to the largest value of the output.
Comparison compare(const std::string& text, const Bindings& sizes, const Bindings& bound = {}, double tolerance = 1e-9);

}  // namespace coda::test
