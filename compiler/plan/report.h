// A plan for people and tools: readable text, JSON, and one self-contained HTML page with a picture.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/plan.h"

namespace coda {

class SourceMap;

/// What a report says beside the plan itself.
struct PlanContext {
  const SourceMap& sources;  ///< laws are shown at the user's lines
  PlanOptions options;       ///< that the plan was made with: sizes and rates
};

/// The sizes, and what the plan's facts fix.
Bindings sizes_of(const Plan& plan, const PlanContext& context);

/// Symbols of the plan's tensors that have no size: it is made as if they were `kAssumedSize`.
std::vector<std::string> assumed_symbols(const Plan& plan, const PlanContext& context);
inline constexpr int64_t kAssumedSize = 4096;  // see SizeHints
/// "T = 8192, D = 4096; taken as 4096 for want of a value: F"
std::string sizes_text(const Plan& plan, const PlanContext& context);

/// What the plan's laws ask of dimensions at a launch: "1 <= D".
std::vector<std::string> requirements(const Plan& plan);

std::string to_text(const Plan& plan, const PlanContext& context);
std::string to_json(const Plan& plan, const PlanContext& context);
std::string to_html(const Plan& plan, const PlanContext& context);

/// A roofline of one kernel, or of all of them: seconds if nothing but the memory, or the tensor cores, were limits.
struct Roofline {
  double memory_seconds = 0, compute_seconds = 0;
  const char* bound() const { return memory_seconds > compute_seconds ? "memory" : "compute"; }
};
Roofline roofline(double bytes, double flops, const MachineModel& machine);

const char* kind_name(KernelKind kind);
/// "x: bf16[T, D]"
std::string tensor_text(const std::string& name, DType dtype, const std::vector<NamedDim>& dims);
/// "67.1 MB"
std::string bytes_text(double bytes);
/// What a kernel computes, as statements of the language.
std::vector<std::string> statements_text(const PlanKernel& kernel);
/// The kernel that writes the tensor, -1 if none does.
int maker_of(const Plan& plan, int tensor);
/// "block.coda:7", or nothing where a span has no file.
std::string place_text(const SourceMap& sources, Span span);
/// The line of the source a span begins in, without blanks around it.
std::string line_text(const SourceMap& sources, Span span);
/// Why a kernel is a pass of its own: the sentences of `explain`.
std::string own_pass_text(const PlanKernel& kernel);
/// A tensor that the forward leaves for the backward: of the plan's own, or an output.
struct KeptTensor {
  int tensor = -1;
  std::vector<int> readers;  ///< kernels of the backward
  std::string why;
};
std::vector<KeptTensor> kept_between_directions(const Plan& plan);
/// "K1, K2 and K5"
std::string kernels_text(const std::vector<int>& kernels);
/// The most bytes of its own tensors that a plan keeps at one time.
double kept_bytes(const Plan& plan, const Bindings& sizes);
/// Bytes of a tensor under the sizes.
double tensor_bytes(const PlanTensor& tensor, const Bindings& sizes);

}  // namespace coda
