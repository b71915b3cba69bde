// The reference evaluator: the f64 meaning of a program's source graph, computed only where it is asked for. It is the
// oracle of every test and of `--verify`. Rigid casts round; nothing else does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coda/status.h"
#include "compiler/ir/graph.h"

namespace coda {

/// What a parameter holds before the program runs: an array (strides in elements, any sign), or a scalar's number.
struct ReferenceInput {
  const void* data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape, strides;  ///< in the parameter's declared order of dimensions
  double scalar = 0;                    ///< Scalar parameters; rounded to the parameter's type
};

struct ReferenceOptions {
  int threads = 0;  ///< 0: one a core
  /// Elements of an intermediate block; operands of contractions may have 16 times as many. Memory, not meaning.
  int64_t block = int64_t{1} << 17;
};

/// Not thread-safe; computes with threads of its own. `program` and the arrays must outlive it.
class Reference {
 public:
  /// `inputs` are in the order of `program.params`; entries of outputs and of parameters no output needs are ignored.
  /// Fails with a message if an extent is unbound, an array does not fit its parameter, or an index map leaves its
  /// dimension.
  static Expected<Reference> make(const Program& program, const Bindings& bindings, std::vector<ReferenceInput> inputs,
                                  ReferenceOptions options = {});
  Reference(Reference&&) noexcept;
  Reference& operator=(Reference&&) noexcept;
  ~Reference();

  /// Extents of an output (an index into `program.outputs`), in its parameter's declared order.
  std::vector<int64_t> shape(int output) const;
  /// Values of an output at coordinates in declared order; whatever rectangle or list they form, each value below them
  /// is computed about once.
  Expected<std::vector<double>> evaluate(int output, std::span<const std::vector<int64_t>> coordinates);
  /// All of an output, row-major in declared order.
  Expected<std::vector<double>> evaluate_all(int output);

  /// Multiply-adds done so far by contractions: what a demand cost.
  int64_t multiply_adds() const;

 private:
  struct State;
  explicit Reference(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace coda
