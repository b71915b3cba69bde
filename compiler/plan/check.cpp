#include "compiler/plan/check.h"

#include <cstdio>

#include "compiler/ir/remake.h"

namespace coda {

namespace {

constexpr uint32_t kSeed = 20;
/// Both sides are f64; kernels leave f32 between them. A wrong law is off by far more.
constexpr double kValues = 1e-7, kKernels = 1e-4;

}  // namespace

PassCheck::PassCheck(const Program& block, bool on) : block_(block) {
  if (!on) return;
  sizes_ = small_sizes(block, kSeed);
  if (sizes_) source_ = interpret_source(block, *sizes_, kSeed);
}

bool PassCheck::compare(std::string_view pass, const Meaning& meaning) {
  if (!meaning.failure.empty()) {
    failure_ = {std::string(pass), meaning.failure, "everything"};
    return false;
  }
  std::string where;
  const double worst = difference(source_, meaning, &where);
  if (worst <= (pass == "kernels" ? kKernels : kValues)) return true;
  char amount[32];
  std::snprintf(amount, sizeof amount, "%.2g", worst);
  failure_ = {std::string(pass), where, amount};
  return false;
}

bool PassCheck::values(std::string_view pass, const Graph& graph, const BlockValues& values) {
  if (!sizes_ || failure_ || !source_.failure.empty()) return !failure_;
  Program program = block_;
  program.graph = Graph();
  std::map<NodeId, NodeId> copies;
  for (const NodeId id : topological(graph, values.roots())) {
    std::vector<NodeId> args;
    for (const NodeId arg : graph[id].args) args.push_back(copies.at(arg));
    copies[id] = remake(program.graph, graph[id], std::move(args));
  }
  for (size_t i = 0; i < values.outputs.size(); ++i) program.outputs[i].value = copies.at(values.outputs[i].second);
  return compare(pass, interpret_source(program, *sizes_, kSeed));
}

bool PassCheck::plan(const Plan& plan) {
  if (!sizes_ || failure_ || !source_.failure.empty()) return !failure_;
  return compare("kernels", interpret_plan(block_, plan, *sizes_, kSeed));
}

}  // namespace coda
