// One program on the host back end, from text to outputs, beside the reference on the same inputs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/host.h"
#include "compiler/ir/graph.h"
#include "runtime/host.h"

namespace coda::test {

/// Compiled once, run at many sizes. Fails the running test if it does not compile.
struct HostProgram {
  std::string text;
  Program program;  ///< as elaborated: what the reference evaluates
  std::shared_ptr<const KernelImage> image;
  std::shared_ptr<const HostCode> code;
  double front_ms = 0, host_ms = 0;
};
/// `bound` gives the symbols that the kernel's structure needs; `cpu` another processor than this one.
HostProgram compile_for_host(const std::string& text, const Bindings& bound = {}, const std::string& cpu = "");
/// The reason why it is refused; fails the test if it compiles.
std::string refusal(const std::string& text, const Bindings& bound = {});

struct HostRun {
  Bindings sizes;
  int threads = 2;
  std::map<std::string, double> scalars;
  int64_t pitch = 0;        ///< extra elements between rows of each tensor
  int64_t last_stride = 1;  ///< stride of the last axis
  bool non_finite = false;  ///< NaN and infinities in row 1 of the first input and nowhere else
  double range = 2;         ///< Real inputs are multiples of range/16 up to it
  bool relative = false;    ///< `ulps` are of each element instead
  double units = 0.5;       ///< of the output's type; 1 where it is rounded inside the program already
  double ulps = 16;         ///< of f32, of the largest result: what the epilogue's own arithmetic may lose
};

/// An array with poison between and around its elements.
struct HostArray {
  DType dtype = DType::F32;
  std::vector<int64_t> shape, strides;
  ParamLayout layout = ParamLayout::RowMajor;
  std::vector<uint8_t> bytes;
  int64_t count() const;
  int64_t offset(int64_t index) const;  ///< of the index-th element in row-major order, in elements
  double at(int64_t index) const;
};

struct HostResult {
  std::map<std::string, HostArray> arrays;  ///< every tensor after the run
};

/// Runs and compares every output with the reference: within half a unit of the output's type and `ulps`; NaN where
/// the reference has NaN. Memory between elements must be untouched.
HostResult run_and_check(const HostProgram& program, const HostRun& run);
/// That at all sizes, by one thread on dense rows and by several on rows with elements between them.
void run_all(const std::string& text, const std::vector<Bindings>& sizes, HostRun run = {});

/// The same without failing a test: what is wrong, or an empty text.
std::string compile_error(const std::string& text, const Bindings& bound, HostProgram& program);
std::string difference(const HostProgram& program, const HostRun& run, HostResult& result);

}  // namespace coda::test
