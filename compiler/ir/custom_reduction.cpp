#include "compiler/ir/custom_reduction.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "compiler/ir/combine_text.h"
#include "compiler/ir/meaning.h"

namespace coda {

namespace {

bool is_arithmetic(const Node& node) {
  const bool is_known = node.kind == NodeKind::Input || node.kind == NodeKind::Constant || node.kind == NodeKind::Sum ||
                        node.kind == NodeKind::Contract || (node.kind == NodeKind::Apply && !node.op->packs);
  return is_known && node.dims.empty() && node.over.empty();
}

Val convert(Emitter& e, Val value, NumClass from, NumClass to) {
  if (from == to) return value;
  if (to == NumClass::Real) return from == NumClass::Int ? e.int_to_real(value) : e.bool_to_real(value);
  if (to == NumClass::Int) return from == NumClass::Real ? e.real_to_int(value) : e.bool_to_int(value);
  return e.compare(Compare::Ne, value, from == NumClass::Real ? e.real(0) : e.integer(0), from);
}

/// Walks the combination's nodes in order of their ids, in which arguments come first.
class Combination final : public CustomCombine {
 public:
  explicit Combination(CombineProgram program) : program_(std::move(program)) {
    const Graph& graph = program_.graph;
    needed_.assign(static_cast<size_t>(graph.size()), false);
    for (const NodeId result : program_.results) needed_[static_cast<size_t>(result)] = true;
    for (NodeId id = graph.size(); id-- > 0;) {
      if (!needed_[static_cast<size_t>(id)]) continue;
      for (const NodeId arg : graph[id].args) needed_[static_cast<size_t>(arg)] = true;
    }
  }

  void combine(double* into, const double* other) const override {
    const Graph& graph = program_.graph;
    const int words = static_cast<int>(program_.identity.size());
    std::vector<double> values(needed_.size()), args;
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (!needed_[static_cast<size_t>(id)]) continue;
      const Node& node = graph[id];
      args.clear();
      for (const NodeId arg : node.args) args.push_back(values[static_cast<size_t>(arg)]);
      double& value = values[static_cast<size_t>(id)];
      if (node.kind == NodeKind::Input) value = node.param < words ? into[node.param] : other[node.param - words];
      if (node.kind == NodeKind::Constant) value = node.value;
      if (node.kind == NodeKind::Sum) value = linear_combination(args, node.coefficients);
      if (node.kind == NodeKind::Apply) value = apply_op(*node.op, args, node.num_class);
      if (node.kind == NodeKind::Contract) {
        value = args.empty() ? 1 : args[0];
        for (size_t i = 1; i < args.size(); ++i) value *= args[i];
      }
    }
    for (int w = 0; w < words; ++w) into[w] = values[static_cast<size_t>(program_.results[static_cast<size_t>(w)])];
  }

  void emit_combine(Emitter& e, Val* into, const Val* other) const override {
    const Graph& graph = program_.graph;
    const int words = static_cast<int>(program_.identity.size());
    std::vector<Val> values(needed_.size());
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (!needed_[static_cast<size_t>(id)]) continue;
      const Node& node = graph[id];
      Val& value = values[static_cast<size_t>(id)];
      if (node.kind == NodeKind::Input) {
        value = node.param < words ? into[node.param] : other[node.param - words];
      } else {
        value = emit(e, node, values);
      }
    }
    for (int w = 0; w < words; ++w) into[w] = values[static_cast<size_t>(program_.results[static_cast<size_t>(w)])];
  }

 private:
  Val emit(Emitter& e, const Node& node, const std::vector<Val>& values) const {
    const Graph& graph = program_.graph;
    const auto arg = [&](size_t i, NumClass wanted) {
      return convert(e, values[static_cast<size_t>(node.args[i])], graph[node.args[i]].num_class, wanted);
    };
    const bool whole = node.num_class == NumClass::Int;
    const NumClass own = whole ? NumClass::Int : NumClass::Real;
    Val value;
    switch (node.kind) {
      case NodeKind::Constant:
        if (node.num_class == NumClass::Real) return e.real(node.value);
        return whole ? e.integer(static_cast<int64_t>(node.value)) : e.boolean(node.value != 0);
      case NodeKind::Sum:
        for (size_t i = 0; i < node.args.size(); ++i) {
          const Val term = scaled(e, arg(i, own), node.coefficients[i], whole);
          value = !value ? term : whole ? e.int_add(value, term) : e.add(value, term);
        }
        return value ? value : whole ? e.integer(0) : e.real(0);
      case NodeKind::Contract:
        for (size_t i = 0; i < node.args.size(); ++i) {
          const Val factor = arg(i, own);
          value = !value ? factor : whole ? e.int_mul(value, factor) : e.mul(value, factor);
        }
        return value ? value : whole ? e.integer(1) : e.real(1);
      default: {
        const NumClass wanted = argument_class(graph, *node.op, node.args);
        std::vector<Val> args;
        for (size_t i = 0; i < node.args.size(); ++i) {
          const bool is_condition = node.op->rule == ClassRule::Select && i == 0;
          args.push_back(arg(i, is_condition ? NumClass::Bool : wanted));
        }
        return node.op->emit(e, args, wanted);
      }
    }
  }

  static Val scaled(Emitter& e, Val term, double coefficient, bool whole) {
    if (coefficient == 1) return term;
    if (whole) return e.int_mul(term, e.integer(static_cast<int64_t>(coefficient)));
    return coefficient == -1 ? e.neg(term) : e.mul(e.real(coefficient), term);
  }

  CombineProgram program_;
  std::vector<bool> needed_;
};

struct Record {
  std::string name;
  std::unique_ptr<Combination> combination;
  Reduction reduction;
};

}  // namespace

NodeId foreign_node(const CombineProgram& program) {
  std::vector<NodeId> pending = program.results;
  std::vector<bool> seen(static_cast<size_t>(program.graph.size()), false);
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (seen[static_cast<size_t>(id)]) continue;
    seen[static_cast<size_t>(id)] = true;
    const Node& node = program.graph[id];
    if (!is_arithmetic(node)) return id;
    pending.insert(pending.end(), node.args.begin(), node.args.end());
  }
  return kNoNode;
}

const Reduction* custom_reduction(const CombineProgram& program, int word) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Record>, std::less<>> records;
  const std::string name = combine_to_text(program, word);
  const std::lock_guard lock(mutex);
  auto& record = records[name];
  if (record) return &record->reduction;
  auto made = std::make_unique<Record>();
  made->name = name;
  made->combination = std::make_unique<Combination>(program);
  made->reduction = {.name = made->name,
                     .doc = "A reduction that the program defines.",
                     .example = {},
                     .result = NumClass::Real,
                     .state_size = static_cast<int>(program.identity.size()),
                     .identity = {},
                     .lift_value = nullptr,
                     .combine_states = nullptr,
                     .finish_state = nullptr,
                     .emit_lift_value = nullptr,
                     .emit_combine_states = nullptr,
                     .emit_finish_state = nullptr,
                     .custom = made->combination.get(),
                     .word = word};
  std::copy(program.identity.begin(), program.identity.end(), made->reduction.identity);
  record = std::move(made);
  return &record->reduction;
}

Expected<const Reduction*> custom_reduction_from_text(std::string_view name) {
  auto read = combine_from_text(name);
  if (!read.ok()) return read.status();
  return custom_reduction(read->program, read->word);
}

}  // namespace coda
