#include "shape.h"

#include <algorithm>
#include <set>

#include "compiler/rewrite/algebra.h"

namespace coda::test {

Shape shape_of(const Plan& plan) {
  Shape shape;
  for (const auto& kernel : plan.kernels) {
    shape.gemms += kernel.kind == KernelKind::Gemm;
    shape.row_wise += kernel.kind == KernelKind::RowWise;
    shape.once += kernel.kind == KernelKind::Once;
  }
  return shape;
}

std::string shape_text(const Plan& plan) {
  const Shape shape = shape_of(plan);
  std::string text = std::to_string(shape.gemms) + "+" + std::to_string(shape.row_wise);
  return shape.once > 0 ? text + "+" + std::to_string(shape.once) : text;
}

std::string odd_kernel(const Plan& plan) {
  for (const PlanKernel& kernel : plan.kernels) {
    const Program& program = kernel.program;
    std::vector<NodeId> roots;
    for (const auto& output : program.outputs) roots.push_back(output.value);
    int gemms = 0;
    for (const NodeId id : topological(program.graph, roots)) {
      const Node& node = program.graph[id];
      const bool covering = std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
        return subset(set_union(node.dims, node.over), program.graph[arg].dims);
      });
      gemms += node.kind == NodeKind::Contract && !node.over.empty() && !covering;
    }
    if (gemms != (kernel.kind == KernelKind::Gemm ? 1 : 0)) {
      return program.name + " multiplies " + std::to_string(gemms) + " pairs of matrices";
    }
    const std::set<int> distinct(kernel.arguments.begin(), kernel.arguments.end());
    if (distinct.size() != kernel.arguments.size()) return program.name + " is given a tensor twice";
    if (kernel.arguments.size() != program.params.size()) return program.name + " has another number of arguments";
  }
  return "";
}

}  // namespace coda::test
