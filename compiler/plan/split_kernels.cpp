#include "compiler/plan/split_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/epilogue/epilogue.h"
#include "compiler/ir/remake.h"
#include "compiler/rewrite/algebra.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

using Outputs = std::vector<size_t>;  // of a kernel's program

/// The kernel with these outputs alone, and what they read.
PlanKernel only(const PlanKernel& kernel, const Outputs& outputs) {
  const Program& from = kernel.program;
  PlanKernel part = kernel;
  part.arguments.clear();
  Program& to = part.program;
  to.params.clear();
  to.outputs.clear();
  to.value_names.clear();
  to.graph = {};
  std::vector<NodeId> roots;
  for (const size_t output : outputs) roots.push_back(from.outputs[output].value);
  std::map<NodeId, NodeId> copies;
  const auto add = [&](int param) {
    to.params.push_back(from.params[static_cast<size_t>(param)]);
    part.arguments.push_back(kernel.arguments[static_cast<size_t>(param)]);
    return static_cast<int>(to.params.size()) - 1;
  };
  for (const NodeId id : topological(from.graph, roots)) {
    Node node = from.graph[id];
    if (node.kind == NodeKind::Input) node.param = add(node.param);
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(copies.at(arg));
    copies[id] = remake(to.graph, node, std::move(args));
    const auto name = from.value_names.find(id);
    if (name != from.value_names.end()) to.value_names.emplace(copies[id], name->second);
  }
  for (const size_t output : outputs) {
    auto written = from.outputs[output];
    written.value = copies.at(written.value);
    written.param = add(written.param);
    to.outputs.push_back(written);
  }
  return part;
}

bool lowers(const Program& program) {
  SourceMap sources;
  Diagnostics quiet(sources);
  EpilogueProgram lowered;
  return lower_to_epilogue(program, lowered, quiet);
}

/// Is it refused for what its outputs are beside one another, and not for what any of them is?
bool outputs_disagree(const Program& program) {
  SourceMap sources;
  Diagnostics quiet(sources);
  EpilogueProgram lowered;
  if (lower_to_epilogue(program, lowered, quiet)) return false;
  return std::any_of(quiet.all().begin(), quiet.all().end(), [](const Diagnostic& one) {
    constexpr DiagId kOfParts[] = {DiagId::E0304, DiagId::E0325, DiagId::E0327, DiagId::E0340};
    return std::find(std::begin(kOfParts), std::end(kOfParts), one.id) != std::end(kOfParts);
  });
}

/// Outputs that go together, as many as possible with the first ones; nothing if one goes with none, not even alone.
std::vector<Outputs> divided(const PlanKernel& kernel) {
  std::vector<Outputs> groups;
  for (size_t output = 0; output < kernel.program.outputs.size(); ++output) {
    const auto takes = [&](Outputs& group) {
      group.push_back(output);
      if (lowers(only(kernel, group).program)) return true;
      group.pop_back();
      return false;
    };
    if (std::any_of(groups.begin(), groups.end(), takes)) continue;
    groups.emplace_back();
    if (!takes(groups.back())) return {};
  }
  return groups;
}

}  // namespace

void split_kernels(const MachineModel& machine, Plan& plan) {
  std::vector<PlanKernel> kernels;
  for (PlanKernel& kernel : plan.kernels) {
    const auto& params = kernel.program.params;
    // What one part overwrites another would read.
    const bool in_place =
        std::any_of(params.begin(), params.end(), [](const Param& p) { return p.role == Param::Role::InOut; });
    const bool several = kernel.program.outputs.size() > 1 && !in_place && outputs_disagree(kernel.program);
    const std::vector<Outputs> groups = several ? divided(kernel) : std::vector<Outputs>{};
    if (groups.empty()) {
      kernels.push_back(std::move(kernel));
      continue;
    }
    for (const Outputs& group : groups) kernels.push_back(only(kernel, group));
    const auto more = static_cast<double>(groups.size() - 1);
    plan.bytes += more * kernel.bytes;
    plan.flops += more * kernel.flops;
    plan.seconds += more * (kernel.seconds + machine.seconds_per_launch);
  }
  plan.kernels = std::move(kernels);
}

}  // namespace coda
