#include "compiler/plan/merge_passes.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/epilogue/epilogue.h"
#include "compiler/ir/remake.h"
#include "compiler/plan/pass_work.h"
#include "compiler/plan/report.h"
#include "compiler/rewrite/algebra.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

struct Access {
  std::set<int> reads, writes;  // tensors
};

/// Of a GPU that does nothing else: some tens of instructions on each of its lanes.
constexpr double kSecondsPerWalk = 1e-12;

Access access_of(const PlanKernel& kernel) {
  Access access;
  for (size_t p = 0; p < kernel.arguments.size(); ++p) {
    if (kernel.program.params[p].role != Param::Role::Out) access.reads.insert(kernel.arguments[p]);
  }
  for (const auto& output : kernel.program.outputs) {
    access.writes.insert(kernel.arguments[static_cast<size_t>(output.param)]);
  }
  return access;
}

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int tensor) { return b.contains(tensor); });
}

/// The programs of two kernels as one: what the first writes, the second uses without reading it back.
class Joined {
 public:
  Joined(const PlanKernel& first, const PlanKernel& second, const std::set<int>& wanted) {
    result_.kind = KernelKind::RowWise;
    result_.program.facts = first.program.facts;
    result_.program.bound = first.program.bound;
    add(first);
    add(second);
    for (const auto& [tensor, output] : outputs_) {
      if (wanted.contains(tensor)) write(tensor, output);
    }
  }
  PlanKernel take() { return std::move(result_); }

 private:
  struct Output {
    Param param;
    NodeId value;
  };

  NodeId read(const PlanKernel& kernel, const Node& input) {
    const int tensor = kernel.arguments[static_cast<size_t>(input.param)];
    if (const auto made = outputs_.find(tensor); made != outputs_.end()) return made->second.value;
    if (const auto known = inputs_.find(tensor); known != inputs_.end()) return known->second;
    Param param = kernel.program.params[static_cast<size_t>(input.param)];
    if (param.role == Param::Role::InOut) param.role = Param::Role::In;
    const int index = static_cast<int>(result_.program.params.size());
    places_[tensor] = index;
    const NodeId node = result_.program.graph.input(index, param.dims, input.num_class, input.span);
    result_.program.params.push_back(std::move(param));
    result_.arguments.push_back(tensor);
    return inputs_[tensor] = node;
  }

  void add(const PlanKernel& kernel) {
    const Graph& graph = kernel.program.graph;
    std::vector<NodeId> roots;
    for (const auto& output : kernel.program.outputs) roots.push_back(output.value);
    std::map<NodeId, NodeId> copies;
    for (const NodeId id : topological(graph, roots)) {
      const Node& node = graph[id];
      if (node.kind == NodeKind::Input) {
        copies[id] = read(kernel, node);
        continue;
      }
      std::vector<NodeId> args;
      for (const NodeId arg : node.args) args.push_back(copies.at(arg));
      copies[id] = remake(result_.program.graph, node, std::move(args));
    }
    for (const auto& output : kernel.program.outputs) {
      const auto param = static_cast<size_t>(output.param);
      outputs_[kernel.arguments[param]] = {kernel.program.params[param], copies.at(output.value)};
    }
  }

  void write(int tensor, const Output& output) {
    Program& program = result_.program;
    if (const auto place = places_.find(tensor); place != places_.end()) {
      program.params[static_cast<size_t>(place->second)].role = Param::Role::InOut;
      program.outputs.push_back({place->second, output.value, {}});
      return;
    }
    program.outputs.push_back({static_cast<int>(program.params.size()), output.value, {}});
    program.params.push_back(output.param);
    program.params.back().role = Param::Role::Out;
    result_.arguments.push_back(tensor);
  }

  PlanKernel result_;
  std::map<int, NodeId> inputs_;
  std::map<int, int> places_;
  std::map<int, Output> outputs_;
};

class Merging {
 public:
  Merging(const Program& block, const SizeHints& sizes, const MachineModel& machine, Plan& plan)
      : block_(block), sizes_(sizes), machine_(machine), plan_(plan) {}

  std::vector<LawUse> run() {
    while (step()) {
    }
    drop_unused();
    return std::move(uses_);
  }

 private:
  bool step() {
    for (size_t i = 0; i < plan_.kernels.size(); ++i) {
      for (size_t j = i + 1; j < plan_.kernels.size(); ++j) {
        if (is_pass(i) && is_pass(j) && merge(i, j)) return true;
      }
    }
    return false;
  }
  bool is_pass(size_t k) const { return plan_.kernels[k].kind == KernelKind::RowWise; }

  /// May the first be done when the second is, or the second when the first is?
  std::optional<size_t> place(size_t i, size_t j, const Access& first, const Access& second) const {
    bool later = true, earlier = true;
    for (size_t k = i + 1; k < j; ++k) {
      const Access between = access_of(plan_.kernels[k]);
      later = later && !meet(between.reads, first.writes) && !meet(between.writes, first.writes) &&
              !meet(between.writes, first.reads);
      earlier = earlier && !meet(between.writes, second.reads) && !meet(between.writes, second.writes) &&
                !meet(between.reads, second.writes);
    }
    if (later) return j;
    return earlier ? std::optional(i) : std::nullopt;
  }

  double bytes(int tensor) const {
    const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
    return sizes_.elements(t.dims) * info(t.dtype).bits / 8.0;
  }

  bool merge(size_t i, size_t j) {
    const PlanKernel &one = plan_.kernels[i], &two = plan_.kernels[j];
    if (one.late != two.late) return false;
    const Access first = access_of(one), second = access_of(two);
    if (meet(first.writes, second.writes) || meet(first.reads, second.writes)) return false;
    const auto at = place(i, j, first, second);
    if (!at) return false;
    // What the second reads of the first, or both read, is read once less; what nobody else reads is not written.
    double saved = 0;
    bool related = false;
    std::set<int> wanted = second.writes;
    for (const int tensor : second.reads) {
      if (!first.reads.contains(tensor) && !first.writes.contains(tensor)) continue;
      saved += bytes(tensor);
      related = related || plan_.tensors[static_cast<size_t>(tensor)].dims.size() > 1;
    }
    for (const int tensor : first.writes) {
      bool used = plan_.tensors[static_cast<size_t>(tensor)].param >= 0;
      for (size_t k = 0; k < plan_.kernels.size(); ++k) {
        used = used || (k != i && k != j && access_of(plan_.kernels[k]).reads.contains(tensor));
      }
      if (used) wanted.insert(tensor);
      if (!used) saved += bytes(tensor);
    }
    if (!related) return false;
    PlanKernel both = Joined(one, two, wanted).take();
    both.program.name = block_.name;
    const auto together = walk_of(both.program), alone = walk_of(one.program), other = walk_of(two.program);
    if (!together) return false;
    if (alone && other) {
      // Of passes over other rows each, what both have in common may be few rows: no work for many processors.
      if (together->rows < std::min(alone->rows, other->rows)) return false;
      // What was a row's statistic may become a reduction within each element.
      const double more = together->walks - alone->walks - other->walks;
      if (more * kSecondsPerWalk > saved / machine_.bytes_per_second + machine_.seconds_per_launch) return false;
    }

    both.bytes = one.bytes + two.bytes - saved;
    both.flops = one.flops + two.flops;
    both.late = one.late;
    both.seconds = one.seconds + two.seconds - saved / machine_.bytes_per_second - machine_.seconds_per_launch;
    plan_.bytes -= saved;
    plan_.seconds -= one.seconds + two.seconds - both.seconds;
    both.waits = one.waits;
    if (waits_for_others(second, first)) both.waits.insert(both.waits.end(), two.waits.begin(), two.waits.end());
    std::sort(both.waits.begin(), both.waits.end());
    both.waits.erase(std::unique(both.waits.begin(), both.waits.end()), both.waits.end());
    report(first, second, saved);
    plan_.kernels[*at] = std::move(both);
    plan_.kernels.erase(plan_.kernels.begin() + static_cast<std::ptrdiff_t>(*at == i ? j : i));
    return true;
  }

  struct Walk {
    double rows, walks;  ///< rows of the pass; elements that it walks over within elements
  };
  /// Nothing if it can't be one pass.
  std::optional<Walk> walk_of(const Program& program) const {
    SourceMap sources;
    Diagnostics quiet(sources);
    EpilogueProgram lowered;
    if (!lower_to_epilogue(program, lowered, quiet)) return std::nullopt;
    return Walk{sizes_.elements(lowered.rows), walks_within_elements(lowered, sizes_)};
  }

  /// Does the second read a statistic of another kernel than the first?
  bool waits_for_others(const Access& second, const Access& first) const {
    return std::any_of(second.reads.begin(), second.reads.end(), [&](int tensor) {
      const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
      return t.param < 0 && t.dims.size() < 2 && !first.writes.contains(tensor);
    });
  }

  void report(const Access& first, const Access& second, double saved) {
    const auto names = [&](const std::set<int>& tensors) {
      std::string text;
      for (const int tensor : tensors) {
        text += (text.empty() ? "" : ", ") + plan_.tensors[static_cast<size_t>(tensor)].name;
      }
      return text;
    };
    uses_.push_back({std::string(kOnePass.name),
                     std::string(kOnePass.equation) + ", with f = " + names(first.writes) + ", g = " +
                         names(second.writes) + ": " + std::to_string(static_cast<int64_t>(saved / 1e6)) + " MB less",
                     {}});
  }

  /// Tensors that no kernel names any more leave the plan.
  void drop_unused() {
    std::set<int> used;
    for (const PlanKernel& kernel : plan_.kernels) used.insert(kernel.arguments.begin(), kernel.arguments.end());
    std::vector<PlanTensor> kept;
    std::map<int, int> renumbered;
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
      if (plan_.tensors[t].param < 0 && !used.contains(static_cast<int>(t))) continue;
      renumbered[static_cast<int>(t)] = static_cast<int>(kept.size());
      kept.push_back(std::move(plan_.tensors[t]));
    }
    plan_.tensors = std::move(kept);
    for (PlanKernel& kernel : plan_.kernels) {
      for (int& tensor : kernel.arguments) tensor = renumbered.at(tensor);
    }
  }

  const Program& block_;
  const SizeHints& sizes_;
  const MachineModel& machine_;
  Plan& plan_;
  std::vector<LawUse> uses_;
};

}  // namespace

std::vector<LawUse> merge_passes(const Program& block, const SizeHints& sizes, const MachineModel& machine,
                                 Plan& plan) {
  return Merging(block, sizes, machine, plan).run();
}

}  // namespace coda
