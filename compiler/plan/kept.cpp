// What a plan of both directions keeps from the forward for the backward, and why it is that which is kept.
#include <algorithm>

#include "compiler/plan/report.h"

namespace coda {

namespace {

bool reads(const PlanKernel& kernel, int tensor) {
  for (size_t p = 0; p < kernel.arguments.size(); ++p) {
    if (kernel.arguments[p] == tensor && kernel.program.params[p].role != Param::Role::Out) return true;
  }
  return false;
}

/// The value that a kernel writes to a tensor; kNoNode if it writes none.
NodeId written(const PlanKernel& kernel, int tensor) {
  for (const auto& output : kernel.program.outputs) {
    if (kernel.arguments[static_cast<size_t>(output.param)] == tensor) return output.value;
  }
  return kNoNode;
}

/// Is the tensor an operand of the kernel's product as it is?
bool multiplies(const PlanKernel& kernel, int tensor) {
  const Graph& graph = kernel.program.graph;
  if (kernel.kind != KernelKind::Gemm) return false;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::Contract || node.over.empty() || node.args.size() != 2) continue;
    const size_t all = node.dims.size() + node.over.size();
    for (NodeId arg : node.args) {
      if (graph[arg].dims.size() == all) continue;
      while (graph[arg].kind == NodeKind::View) arg = graph[arg].args[0];
      const bool is_it =
          graph[arg].kind == NodeKind::Input && kernel.arguments[static_cast<size_t>(graph[arg].param)] == tensor;
      const bool covered = std::any_of(node.args.begin(), node.args.end(),
                                       [&](NodeId other) { return graph[other].dims.size() == all; });
      if (is_it && !covered) return true;
    }
  }
  return false;
}

std::string reason(const Plan& plan, const PlanKernel& maker, NodeId value, const KeptTensor& kept) {
  const PlanTensor& tensor = plan.tensors[static_cast<size_t>(kept.tensor)];
  if (tensor.param >= 0) return "an output, there anyway";
  for (const int k : kept.readers) {
    if (multiplies(plan.kernels[static_cast<size_t>(k)], kept.tensor)) {
      return "an operand of K" + std::to_string(k) + "'s product";
    }
  }
  const Graph& graph = maker.program.graph;
  const Node& node = graph[value];
  const bool sum = node.kind == NodeKind::Contract && !node.over.empty();
  const bool of_one = sum && std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
                        return graph[arg].dims.size() == node.dims.size() + node.over.size();
                      });
  if (tensor.dims.size() < 2 || of_one || node.kind == NodeKind::Reduce) return "a statistic";
  return sum ? "a product: what follows from it is computed again"
             : "fewer bytes than what it is made of: what follows from it is computed again";
}

}  // namespace

std::vector<KeptTensor> kept_between_directions(const Plan& plan) {
  std::vector<KeptTensor> all;
  for (size_t t = 0; t < plan.tensors.size(); ++t) {
    KeptTensor kept{.tensor = static_cast<int>(t), .readers = {}, .why = {}};
    const PlanKernel* maker = nullptr;
    for (size_t k = 0; k < plan.kernels.size(); ++k) {
      const PlanKernel& kernel = plan.kernels[k];
      if (!kernel.late && written(kernel, kept.tensor) != kNoNode) maker = &kernel;
      if (kernel.late && maker != nullptr && reads(kernel, kept.tensor)) kept.readers.push_back(static_cast<int>(k));
    }
    if (kept.readers.empty()) continue;
    kept.why = reason(plan, *maker, written(*maker, kept.tensor), kept);
    all.push_back(std::move(kept));
  }
  return all;
}

}  // namespace coda
