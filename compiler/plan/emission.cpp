#include "compiler/plan/emission.h"

#include <algorithm>
#include <cmath>

#include "compiler/epilogue/describe.h"
#include "compiler/ir/remake.h"
#include "compiler/ir/storage_type.h"
#include "compiler/plan/memory_order.h"

namespace coda {

namespace {

class Emission {
 public:
  Emission(Algebra& algebra, const Program& block, const BlockValues& values, const Hosting& hosting,
           const CostedPlan& costs, NodeNames& names)
      : graph_(algebra.graph()),
        algebra_(algebra),
        block_(block),
        hosting_(hosting),
        costs_(costs),
        storage_(storage_type(block)),
        by_distance_(elements_by_distance(algebra.graph(), topological(algebra.graph(), values.roots()))),
        names_(names) {
    for (const Param& param : block.params) taken_.insert(param.name);
    for (const auto& [param, value] : values.outputs) outputs_[value].push_back(param);
    operand_types();
  }

  Plan run() {
    plan_.name = block_.name;
    plan_.bytes = costs_.bytes;
    plan_.flops = costs_.flops;
    plan_.seconds = costs_.seconds;
    for (size_t p = 0; p < block_.params.size(); ++p) {
      const Param& param = block_.params[p];
      plan_.tensors.push_back(
          {.name = param.name, .dtype = param.dtype, .dims = param.dims, .param = static_cast<int>(p)});
    }
    for (size_t k = 0; k < hosting_.kernels.size(); ++k) emit(static_cast<int>(k));
    remaining_outputs();
    describe_waits();
    keep_old_values();
    return std::move(plan_);
  }

 private:
  /// One kernel's program under construction.
  struct Builder {
    int index;
    PlanKernel kernel;
    std::map<NodeId, NodeId> copied;
    std::map<int, NodeId> inputs;  // by tensor
  };

  /// The types of each product's operands; two that are computed have that of whatever else they are multiplied with,
  /// or that of any other product of 16 bits.
  void operand_types() {
    std::vector<const HostKernel*> open;
    std::optional<DType> known_elsewhere;
    const auto settle = [&](const HostKernel& kernel, DType a, DType b) {
      add_operand(kernel, kernel.operands[0], a);
      add_operand(kernel, kernel.operands[1], b);
      if (info(a).bits == 16 && !known_elsewhere) known_elsewhere = a;
    };
    for (const HostKernel& kernel : hosting_.kernels) {
      if (kernel.operands.size() != 2) continue;
      const OperandTypes types = hosting_.types_of(kernel.operands);
      if (types.first && types.second) {
        settle(kernel, *types.first, *types.second);
      } else {
        open.push_back(&kernel);
      }
    }
    for (bool more = true; more && !open.empty();) {
      const size_t before = open.size();
      std::erase_if(open, [&](const HostKernel* kernel) {
        for (const NodeId side : kernel->operands) {
          const auto it = operand_types_.find(hosting_.kept_as(side));
          if (it == operand_types_.end() || info(it->second[0]).bits < 16) continue;
          settle(*kernel, it->second[0], it->second[0]);
          return true;
        }
        return false;
      });
      more = open.size() != before;
    }
    for (const HostKernel* kernel : open) {
      const DType type = storage_ == DType::F32 && known_elsewhere ? *known_elsewhere : storage_;
      settle(*kernel, type, type);
    }
  }

  void add_operand(const HostKernel& kernel, NodeId side, DType type) {
    sides_[{kernel.accumulator, side}] = type;
    if (hosting_.is_source(side)) return;
    auto& types = operand_types_[hosting_.kept_as(side)];
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }

  /// What the text calls the value, if no other tensor is called so.
  std::string tensor_name(NodeId id) {
    const std::string number = std::to_string(plan_.tensors.size() - block_.params.size());
    const auto known = names_.find(id);
    std::string name = known == names_.end() ? "" : known->second;
    if (name.empty() || taken_.contains(name)) name = (algebra_.wide(id) ? "t" : "s") + number;
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  int new_tensor(NodeId id, DType dtype) {
    PlanTensor tensor;
    tensor.name = tensor_name(id);
    tensor.dtype = dtype;
    tensor.dims = memory_order(algebra_, block_, hosting_, id, [&](NodeId below) {
      const auto it = tensors_.find(below);
      return it == tensors_.end() ? nullptr : &plan_.tensors[static_cast<size_t>(it->second)].dims;
    });
    plan_.tensors.push_back(tensor);
    return static_cast<int>(plan_.tensors.size()) - 1;
  }

  /// The tensor that holds a stored value or a finished statistic.
  int tensor_of(NodeId id) {
    if (const auto it = tensors_.find(id); it != tensors_.end()) return it->second;
    if (const auto it = outputs_.find(id); it != outputs_.end()) {
      names_[id] = block_.params[static_cast<size_t>(it->second[0])].name;
      return tensors_[id] = it->second[0];
    }
    const int tensor = new_tensor(id, kept_type(id));
    names_[id] = plan_.tensors[static_cast<size_t>(tensor)].name;
    return tensors_[id] = tensor;
  }

  /// As its readers have it, or as it is written; else in the block's type, statistics in f32.
  DType kept_type(NodeId id) const {
    const auto written = written_type(graph_, block_, id);
    const auto operand = operand_types_.find(id);
    const std::vector<DType> types = operand == operand_types_.end() ? std::vector<DType>{} : operand->second;
    const auto read_as = [&](DType type) { return std::find(types.begin(), types.end(), type) != types.end(); };
    const bool as_written = written && info(*written).bits >= 8 && !hosting_.elastic.contains(id);
    if (as_written && (types.empty() || read_as(*written))) return *written;
    const bool statistic = types.empty() && hosting_.is_statistic(id);
    if (!algebra_.wide(id) || by_distance_.contains(id) || statistic) return DType::F32;
    return types.empty() || read_as(storage_) ? storage_ : types[0];
  }

  /// The same value as a product reads it: a tensor of its own where it is kept in another type.
  int operand_tensor(NodeId id, DType type) {
    const bool kept = algebra_.wide(id) || hosting_.stored.contains(id) || tensors_.contains(id) || type == DType::F32;
    if (kept) {
      const int tensor = tensor_of(id);
      if (plan_.tensors[static_cast<size_t>(tensor)].dtype == type) return tensor;
    }
    const auto it = rounded_.find({id, type});
    return it != rounded_.end() ? it->second : rounded_[{id, type}] = new_tensor(id, type);
  }

  void write_operands(Builder& b, NodeId id) {
    const auto types = operand_types_.find(id);
    if (types == operand_types_.end()) return;
    for (const DType type : types->second) {
      const int tensor = operand_tensor(id, type);
      if (!written_.contains(tensor)) write(b, id, tensor);
    }
  }

  NodeId read(Builder& b, int tensor) {
    if (const auto it = b.inputs.find(tensor); it != b.inputs.end()) return it->second;
    const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
    Param param{.name = t.name, .role = Param::Role::In, .dtype = t.dtype, .dims = t.dims};
    if (t.param >= 0) {
      const Param& source = block_.params[static_cast<size_t>(t.param)];
      const bool output = source.role == Param::Role::Out;  // an output of an earlier kernel is an input here
      param.role = output || source.role == Param::Role::InOut ? Param::Role::In : source.role;
      param.default_value = source.default_value;
      param.is_const = source.is_const;
    }
    const int index = static_cast<int>(b.kernel.program.params.size());
    b.kernel.program.params.push_back(param);
    b.kernel.arguments.push_back(tensor);
    return b.inputs[tensor] = b.kernel.program.graph.input(index, t.dims, info(t.dtype).num_class, {});
  }

  NodeId copy(Builder& b, NodeId id) {
    if (const auto it = b.copied.find(id); it != b.copied.end()) return it->second;
    const NodeId result = copy_new(b, id);
    b.copied[id] = result;
    const auto named = names_.find(id);
    if (named != names_.end() && b.kernel.program.graph[result].kind != NodeKind::Input) {
      b.kernel.program.value_names.emplace(result, named->second);
    }
    return result;
  }

  NodeId copy_new(Builder& b, NodeId id) {
    Graph& graph = b.kernel.program.graph;
    const Node& node = graph_[id];
    if (node.kind == NodeKind::Input) return read(b, node.param);
    if (b.index < static_cast<int>(hosting_.kernels.size()) &&
        id == hosting_.kernels[static_cast<size_t>(b.index)].accumulator) {
      const HostKernel& kernel = hosting_.kernels[static_cast<size_t>(b.index)];
      std::vector<NodeId> sides;
      for (const NodeId side : kernel.operands) sides.push_back(operand(b, kernel, side));
      return graph.contract(sides, node.over, node.span);
    }
    const auto home = hosting_.home.find(id);
    const bool stored_elsewhere =
        hosting_.stored.contains(id) && home != hosting_.home.end() && home->second >= 0 && home->second < b.index;
    const bool finished_elsewhere = !algebra_.wide(id) && hosting_.taken_elsewhere(id, b.index);
    if (stored_elsewhere || finished_elsewhere) return read(b, tensor_of(id));
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(copy(b, arg));
    return remake(graph, node, args);
  }

  NodeId operand(Builder& b, const HostKernel& kernel, NodeId side) {
    const auto type = sides_.find({kernel.accumulator, side});
    if (hosting_.is_source(side) || type == sides_.end()) return copy(b, side);
    const NodeId kept = hosting_.kept_as(side), stored = read(b, operand_tensor(kept, type->second));
    return kept == side ? stored : remake(b.kernel.program.graph, graph_[side], {stored});
  }

  void write(Builder& b, NodeId value, int tensor) {
    if (hosting_.elastic.contains(value)) value = graph_[value].args[0];
    write_node(b, copy(b, value), tensor);
  }

  void write_node(Builder&, NodeId node, int tensor) {
    const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
    pending_.push_back({{.name = t.name, .role = Param::Role::Out, .dtype = t.dtype, .dims = t.dims}, tensor, node});
    written_.insert(tensor);
  }

  void emit(int k) {
    const HostKernel& host = hosting_.kernels[static_cast<size_t>(k)];
    if (host.kind == KernelKind::External) {
      late_ = true;
      return;
    }
    const KernelTraffic& traffic = costs_.traffic[static_cast<size_t>(k)];
    Builder b{.index = k};
    b.kernel.kind = host.kind;
    b.kernel.bytes = traffic.bytes;
    b.kernel.flops = traffic.flops;
    b.kernel.seconds = traffic.seconds;
    if (host.kind == KernelKind::RowWise && traffic.seconds == 0) b.kernel.kind = KernelKind::Once;
    waits_.push_back(host.waits);
    name(b, k);
    for (const NodeId store : traffic.stores) {
      write(b, store, tensor_of(store));
      write_operands(b, store);
    }
    for (const NodeId statistic : traffic.statistics) {  // a large one may be among the stores
      if (!written_.contains(tensor_of(statistic))) write(b, statistic, tensor_of(statistic));
    }
    const bool light_result = host.accumulator != kNoNode && !algebra_.wide(host.accumulator);
    if (light_result) write(b, host.accumulator, tensor_of(host.accumulator));
    for (const NodeId light : hosting_.light_operands) {
      if (std::ceil(hosting_.known_after(light)) == k) write_operands(b, light);
    }
    // The finish stage: outputs made of statistics whole after this kernel.
    for (const auto& [value, params] : outputs_) {
      if (algebra_.wide(value) || std::ceil(hosting_.known_after(value)) != k) continue;
      for (const int param : params) {
        if (!written_.contains(param)) write(b, value, param);
      }
    }
    finish(b);
  }

  void finish(Builder& b) {
    Program& program = b.kernel.program;
    for (const auto& output : pending_) {
      const auto& arguments = b.kernel.arguments;
      const auto read = std::find(arguments.begin(), arguments.end(), output.tensor);
      if (read != arguments.end()) {  // read and written: in place
        const int param = static_cast<int>(read - arguments.begin());
        program.params[static_cast<size_t>(param)].role = Param::Role::InOut;
        program.outputs.push_back({param, output.value});
        continue;
      }
      program.outputs.push_back({static_cast<int>(program.params.size()), output.value});
      program.params.push_back(output.param);
      b.kernel.arguments.push_back(output.tensor);
    }
    pending_.clear();
    b.kernel.late = late_;
    plan_.kernels.push_back(std::move(b.kernel));
  }

  /// Once all values that are stored have their names.
  void describe_waits() {
    for (size_t k = 0; k < waits_.size(); ++k) {
      for (const NodeId wait : waits_[k]) {
        plan_.kernels[k].waits.push_back(describe_whole(block_, graph_, wait, names_));
      }
    }
  }

  /// What no kernel wrote: copies (one value assigned to several outputs) and vectors made of parameters alone.
  void remaining_outputs() {
    for (const auto& [value, params] : outputs_) {
      for (const int param : params) {
        if (written_.contains(param)) continue;
        Builder b{.index = static_cast<int>(hosting_.kernels.size())};
        b.kernel.kind = KernelKind::RowWise;
        name(b, static_cast<int>(plan_.kernels.size()));
        const bool stored = hosting_.stored.contains(value) && tensor_of(value) != param;
        const NodeId node = stored ? read(b, tensor_of(value)) : copy(b, value);
        write_node(b, node, param);
        finish(b);
      }
    }
  }

  /// An inout that is written before a later kernel reads its old value is copied first.
  void keep_old_values() {
    for (size_t p = 0; p < block_.params.size(); ++p) {
      if (block_.params[p].role != Param::Role::InOut) continue;
      size_t writer = plan_.kernels.size();
      for (size_t k = 0; k < plan_.kernels.size(); ++k) {
        for (const auto& output : plan_.kernels[k].program.outputs) {
          const int tensor = plan_.kernels[k].arguments[static_cast<size_t>(output.param)];
          if (tensor == static_cast<int>(p)) writer = std::min(writer, k);
        }
      }
      const auto reads = [&](size_t k) {
        const auto& arguments = plan_.kernels[k].arguments;
        return std::find(arguments.begin(), arguments.end(), static_cast<int>(p)) != arguments.end();
      };
      bool late = false;
      for (size_t k = writer + 1; k < plan_.kernels.size(); ++k) late = late || reads(k);
      if (!late) continue;
      PlanTensor copy{
          .name = block_.params[p].name + "_before", .dtype = block_.params[p].dtype, .dims = block_.params[p].dims};
      plan_.tensors.push_back(copy);
      const int tensor = static_cast<int>(plan_.tensors.size()) - 1;
      for (size_t k = writer + 1; k < plan_.kernels.size(); ++k) {
        std::replace(plan_.kernels[k].arguments.begin(), plan_.kernels[k].arguments.end(), static_cast<int>(p), tensor);
      }
      Builder b{.index = static_cast<int>(hosting_.kernels.size())};
      b.kernel.kind = KernelKind::RowWise;
      name(b, static_cast<int>(plan_.kernels.size()));
      write_node(b, read(b, static_cast<int>(p)), tensor);
      finish(b);
      std::rotate(plan_.kernels.begin(), plan_.kernels.end() - 1, plan_.kernels.end());
    }
  }

  void name(Builder& b, int number) {
    b.kernel.program.name = block_.name + "_" + std::to_string(number);
    b.kernel.program.facts = block_.facts;
    b.kernel.program.bound = block_.bound;
  }

  struct Pending {
    Param param;
    int tensor;
    NodeId value;
  };

  const Graph& graph_;
  Algebra& algebra_;
  const Program& block_;
  const Hosting& hosting_;
  const CostedPlan& costs_;
  const DType storage_;
  const std::set<NodeId> by_distance_;
  std::map<NodeId, std::vector<int>> outputs_;
  std::map<NodeId, int> tensors_;
  std::map<std::pair<NodeId, DType>, int> rounded_;
  std::map<NodeId, std::vector<DType>> operand_types_;  // of what is computed, each once
  std::map<std::pair<NodeId, NodeId>, DType> sides_;    // of an accumulator and an operand
  std::vector<Pending> pending_;
  std::set<int> written_;
  NodeNames& names_;
  std::set<std::string> taken_;             // names of tensors
  std::vector<std::vector<NodeId>> waits_;  // of each kernel: what keeps it from being an epilogue
  bool late_ = false;                       // behind the arrival of gradients
  Plan plan_;
};

}  // namespace

Plan emit_plan(Algebra& algebra, const Program& block, const BlockValues& values, const Hosting& hosting,
               const CostedPlan& costs, NodeNames& names) {
  return Emission(algebra, block, values, hosting, costs, names).run();
}

void settle_plan(Plan& plan) {
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    PlanKernel& kernel = plan.kernels[k];
    kernel.program.name = plan.name + "_" + std::to_string(k);
    for (const int index : kernel.arguments) {
      PlanTensor& tensor = plan.tensors[static_cast<size_t>(index)];
      if (tensor.first_use < 0) tensor.first_use = static_cast<int>(k);
      tensor.last_use = static_cast<int>(k);
    }
    // Values kept between kernels in fewer bits than they are computed in.
    for (const auto& output : kernel.program.outputs) {
      const PlanTensor& tensor = plan.tensors[static_cast<size_t>(kernel.arguments[static_cast<size_t>(output.param)])];
      if (tensor.param >= 0 || tensor.dtype == DType::F32) continue;
      const Node& value = kernel.program.graph[output.value];
      const bool as_written = value.kind == NodeKind::Cast && holds_exactly(tensor.dtype, value.dtype);
      if (as_written || info(tensor.dtype).num_class != NumClass::Real) continue;
      plan.roundings.push_back(tensor.name + " is kept in " + std::string(info(tensor.dtype).name) + " after K" +
                               std::to_string(k));
    }
  }
}

}  // namespace coda
