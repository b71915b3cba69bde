// The artefact of a block: its kernels in order, the tensors between them, and what each kernel is given. Lifetimes and
// sizes follow from these; nothing is stored twice.
#pragma once

#include "runtime/format/kernel_image.h"

namespace coda {

/// A tensor that the plan keeps between kernels: row-major.
struct PlanTensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Dim> extents;
};

struct PlanStep {
  KernelImage kernel;
  /// For each of the kernel's parameters: a parameter of the plan, or params.size() + a tensor of it.
  std::vector<int> arguments;
  /// Makes tensors of weights alone. Runs once for each set of weights; its tensors are kept from launch to launch.
  bool once = false;
};

struct PlanImage : Signature {
  std::vector<PlanTensorSpec> tensors;
  std::vector<PlanStep> steps;

  int tensor_of(int argument) const { return argument - static_cast<int>(params.size()); }  ///< negative: a param
};

extern const FileKind kPlanFile;
std::vector<uint8_t> to_bytes(const PlanImage& image);
Expected<PlanImage> plan_from_bytes(std::span<const uint8_t> bytes);

/// What is wrong with a plan: an index, a tensor read before it is written or written twice, a kernel whose parameter
/// has another type or shape than the tensor it is given.
Status check_plan(const PlanImage& image);

}  // namespace coda
