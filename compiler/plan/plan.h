// What a block becomes: kernels, each a small program of its own over stored tensors and finished statistics, and the
// tensors between them. The planner minimises counted time: bytes over bandwidth, operations over rate, launches.
#pragma once

#include <string>
#include <vector>

#include "compiler/epilogue/law.h"
#include "compiler/ir/graph.h"
#include "runtime/format/dim.h"

namespace coda {

class Diagnostics;
struct Law;

/// Rates that rank plans; they predict nothing absolute. Measured on an H200 (docs/performance.md).
struct MachineModel {
  double bytes_per_second = 4.3e12;
  double flops_per_second = 700e12;
  double seconds_per_launch = 3e-6;
};

struct PlanOptions {
  Bindings sizes;  ///< extents the plan is made for; they decide choices, never meaning
  MachineModel machine;
  bool rewrites = true;  ///< false: no decision is taken beyond what running at all needs
  std::string drop_law;  ///< a law of the table to do without, for `explain` and tests
  bool verify =
      false;  ///< interpret before and after every pass at small sizes; the first that changes the meaning stops
  std::vector<const Law*> more_laws;  ///< tried after those of the table
  int64_t effort = 20'000'000;        ///< nodes looked at before the search settles for the best plan so far
  std::vector<std::string> late;      ///< parameters that arrive after all else: gradients that come in
};

struct PlanTensor {
  std::string name;
  DType dtype = DType::BF16;
  std::vector<NamedDim> dims;         ///< in order of memory, the last has unit stride; empty for scalars
  int param = -1;                     ///< of the block; -1: workspace
  int first_use = -1, last_use = -1;  ///< kernels, for the lifetime of workspace
};

enum class KernelKind : uint8_t {
  Gemm,      ///< one GEMM and its epilogue
  RowWise,   ///< touches no GEMM: a pass over rows
  Once,      ///< a row-wise pass over `const` parameters only: run when weights change
  External,  ///< inside the planner only: what happens between forward and backward
};

struct PlanKernel {
  KernelKind kind = KernelKind::Gemm;
  Program program;             ///< a kernel; its params are the tensors it reads and writes
  std::vector<int> arguments;  ///< a tensor of the plan for each param
  double bytes = 0, flops = 0, seconds = 0;
  std::vector<std::string> waits;  ///< RowWise: the statistics that keep it from being an epilogue
  bool late = false;               ///< after the gradients that come in: the backward
};

/// A choice that was weighed: what was taken and what the alternative would have cost.
struct PlanDecision {
  std::string law, what;
  Span span;
  bool taken = false;
  double seconds_if_taken = 0, seconds_if_not = 0;
};

struct Plan {
  std::string name;
  std::vector<PlanTensor> tensors;
  std::vector<PlanKernel> kernels;  ///< in order of execution
  double bytes = 0, flops = 0, seconds = 0;
  std::vector<PlanDecision> decisions;
  std::vector<LawUse> laws;
  std::vector<DimFact> facts;          ///< beside the block's own: what laws take for granted; checked at launch
  std::vector<std::string> roundings;  ///< the elastic ones: what is rounded where, as text
  int replans = 0;
  bool exhausted = false;  ///< the search stopped at its limit: the best plan until then was taken
};

/// Plans a `block` (or a kernel) after elaboration. False with diagnostics E036x for what can't be planned.
bool plan_block(const Program& block, const PlanOptions& options, Plan& plan, Diagnostics& diagnostics);

/// Kernels, tensors, bytes, decisions, laws as readable text.
std::string to_text(const Plan& plan);

}  // namespace coda
