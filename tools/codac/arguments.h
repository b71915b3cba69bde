// The arguments of one run: values of dimension symbols found from what was given, inputs read from files or made from
// a seed, and outputs to be written.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/codac/problem.h"
#include "tools/codac/random_fill.h"
#include "tools/codac/tensor_files.h"

namespace coda {

struct ArgumentOptions {
  std::vector<std::string> inputs;  ///< "x=x.npy", "w=model.safetensors:name", "lr=0.1", "x=normal(0, 2)"
  uint64_t seed = 1;
  bool round_inputs = false;  ///< files of a wider type than the parameter's may be rounded
};

struct Arguments {
  Bindings dims;                    ///< of every symbol of the parameters
  std::vector<HostTensor> tensors;  ///< by parameter; scalars have one element; outputs are zero
};

/// What `--in` gives: headers of files, read before the program is compiled, distributions and numbers.
class InputFiles {
 public:
  static Expected<InputFiles> read(const ArgumentOptions& options);

  const std::map<std::string, TensorFile>& files() const { return files_; }
  /// Adds the symbols that the files' shapes determine; `dims` holds those given. Names what contradicts.
  Status solve(const std::vector<Param>& params, Bindings& dims) const;
  /// Allocates and fills everything. Every symbol must be in `dims`.
  Expected<Arguments> make(const Program& program, const Problem& problem, const Bindings& dims,
                           const ArgumentOptions& options);

 private:
  // By parameter.
  std::map<std::string, TensorFile> files_;
  std::map<std::string, Distribution> words_;
};

/// The symbols of the parameters' extents that `dims` lacks.
std::vector<std::string> missing_symbols(const std::vector<Param>& params, const Bindings& dims);

}  // namespace coda
