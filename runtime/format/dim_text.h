// Reads the canonical text of a dimension, into a Dim or into a short program that is evaluated without allocating.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coda/status.h"
#include "runtime/format/dim.h"

namespace coda {

/// The dimension whose text() is `text`. Any other spelling is an error, so that what is read is what was written.
Expected<Dim> parse_dim(std::string_view text);

/// A dimension compiled against a numbering of symbols, for launches.
class DimProgram {
 public:
  /// `symbols[i]` is read from `values[i]` later; nothing if `dim` has a symbol that is not among them.
  static std::optional<DimProgram> compile(const Dim& dim, std::span<const std::string> symbols);

  /// As Dim::evaluate: nothing if a quotient leaves a remainder or the value overflows.
  std::optional<int64_t> evaluate(std::span<const int64_t> values) const;

 private:
  friend class DimProgramBuilder;
  static constexpr int kMaxStack = 32;

  enum class Op : uint8_t { Constant, Symbol, Add, Subtract, Multiply, Divide };
  struct Step {
    Op op;
    int64_t operand;
  };
  std::vector<Step> steps_;
};

}  // namespace coda
