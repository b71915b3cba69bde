#include "compiler/grad/gradient.h"

#include <algorithm>
#include <set>

#include "compiler/grad/adjoint.h"
#include "compiler/grad/directions.h"
#include "compiler/rewrite/algebra.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

bool is_output(const Param& param) { return param.role == Param::Role::Out || param.role == Param::Role::InOut; }
bool is_real(DType dtype) { return info(dtype).num_class == NumClass::Real; }

DType gradient_type(const Param& param, const Wrt& wrt) {
  if (wrt.dtype) return *wrt.dtype;
  return info(param.dtype).bits < 16 ? DType::F32 : param.dtype;
}

class Differentiation {
 public:
  Differentiation(const Program& source, const std::vector<Wrt>& wrt, Span span, Diagnostics& diagnostics)
      : source_(source), wrt_(wrt), span_(span), diagnostics_(diagnostics) {}

  std::optional<Gradient> run() {
    if (!resolve() || !check_names() || !check_reductions()) return std::nullopt;
    Program& whole = result_.whole;
    const DirectionInfo& direction = kDirections[static_cast<size_t>(Direction::Whole)];
    whole.name = source_.name + direction.suffix;
    whole.is_block = true;
    whole.facts = source_.facts;
    whole.bound = source_.bound;
    whole.span = span_;
    whole.doc = doc_of(direction, source_.name);
    copy_forward();
    const NodeId forward_nodes = whole.graph.size();
    declare_seeds();
    const auto gradients = parameter_gradients(whole, seeds_, wanted_);
    store(gradients);
    cut_directions(source_, forward_nodes, result_);
    return std::move(result_);
  }

 private:
  bool fail(DiagId id, Span span, std::vector<std::string> arguments) {
    diagnostics_.report(id, span, std::move(arguments));
    return false;
  }

  /// Which parameters, by index.
  bool resolve() {
    bool ok = true;
    std::vector<std::string> inputs;
    for (const Param& param : source_.params) {
      if (param.role != Param::Role::Out) inputs.push_back(param.name);
    }
    for (const Wrt& wrt : wrt_) {
      const auto it = std::find_if(source_.params.begin(), source_.params.end(),
                                   [&](const Param& p) { return p.name == wrt.parameter; });
      if (it == source_.params.end() || it->role == Param::Role::Out) {
        ok =
            fail(DiagId::E0283, wrt.span,
                 {source_.name, wrt.parameter, suggestion(wrt.parameter, inputs, "its parameters are", "it has none")});
        continue;
      }
      const int index = static_cast<int>(it - source_.params.begin());
      if (!is_real(it->dtype)) {
        ok = fail(DiagId::E0285, wrt.span, {wrt.parameter, std::string(info(it->dtype).name)});
      } else if (wrt.dtype && !is_real(*wrt.dtype)) {
        ok = fail(DiagId::E0285, wrt.span, {"d_" + wrt.parameter, std::string(info(*wrt.dtype).name)});
      } else if (it->role == Param::Role::InOut && wrt.accumulate) {
        ok = fail(DiagId::E0288, wrt.span, {wrt.parameter});
      } else if (!wanted_.insert(index).second) {
        ok = fail(DiagId::E0284, wrt.span, {wrt.parameter});
      } else {
        targets_.push_back({index, &wrt});
      }
    }
    return ok;
  }

  /// Gradients are called d_x: no parameter may be.
  bool check_names() {
    bool ok = true;
    std::set<std::string> taken, made;
    for (const Param& param : source_.params) taken.insert(param.name);
    const auto make = [&](const Param& param) {
      const std::string name = "d_" + param.name;
      if (made.insert(name).second && taken.contains(name)) ok = fail(DiagId::E0286, span_, {name, source_.name});
    };
    for (const auto& target : targets_) make(source_.params[static_cast<size_t>(target.param)]);
    for (const Param& param : source_.params) {
      if (is_output(param)) make(param);
    }
    return ok;
  }

  /// A reduction of the program's own has no derivative in a record.
  bool check_reductions() {
    std::vector<NodeId> roots;
    for (const auto& output : source_.outputs) roots.push_back(output.value);
    bool ok = true;
    for (const NodeId id : topological(source_.graph, roots)) {
      const Node& node = source_.graph[id];
      if (node.kind == NodeKind::Reduce && node.reduction->custom) ok = fail(DiagId::E0297, node.span, {source_.name});
    }
    return ok;
  }

  void copy_forward() {
    Program& whole = result_.whole;
    for (const Param& param : source_.params) {
      if (param.role != Param::Role::Out) whole.params.push_back(param);
    }
    Simplifier make(whole.graph, Simplifier::RowFactors::Leave);
    std::vector<NodeId> roots;
    for (const auto& output : source_.outputs) roots.push_back(output.value);
    std::map<NodeId, NodeId> copies;
    for (const NodeId id : topological(source_.graph, roots)) {
      const Node& node = source_.graph[id];
      std::vector<NodeId> args;
      for (const NodeId arg : node.args) args.push_back(copies.at(arg));
      NodeId copy = kNoNode;
      if (node.kind == NodeKind::Input) {
        copy = whole.graph.input(new_index(node.param), node.dims, node.num_class, node.span);
      } else {
        copy = make.rebuild(node, std::move(args));
      }
      copies[id] = copy;
      if (const auto name = source_.value_names.find(id); name != source_.value_names.end()) {
        whole.value_names.emplace(copy, name->second);
      }
    }
    for (const Param& param : source_.params) {
      if (param.role == Param::Role::Out) whole.params.push_back(param);
    }
    for (const auto& output : source_.outputs) {
      const NodeId value = copies.at(output.value);
      whole.outputs.push_back({new_index(output.param), value, output.span});
      whole.value_names.emplace(value, source_.params[static_cast<size_t>(output.param)].name);
    }
  }

  /// Outputs follow the inputs, each in their order.
  int new_index(int param) const {
    const bool out = source_.params[static_cast<size_t>(param)].role == Param::Role::Out;
    int index = 0;
    for (size_t i = 0; i < source_.params.size(); ++i) {
      const bool other_out = source_.params[i].role == Param::Role::Out;
      if (static_cast<int>(i) == param) break;
      if (other_out == out) ++index;
    }
    if (!out) return index;
    return index + static_cast<int>(std::count_if(source_.params.begin(), source_.params.end(),
                                                  [](const Param& p) { return p.role != Param::Role::Out; }));
  }

  NodeId add_input(Param param) {
    Program& whole = result_.whole;
    const int index = static_cast<int>(whole.params.size());
    const NodeId node = whole.graph.input(index, param.dims, info(param.dtype).num_class, param.span);
    whole.value_names.emplace(node, param.name);
    whole.params.push_back(std::move(param));
    return node;
  }

  bool is_wanted(int param) const { return wanted_.contains(param); }

  /// The outputs' gradients. That of an inout parameter is one tensor, before and after.
  void declare_seeds() {
    for (size_t i = 0; i < source_.outputs.size(); ++i) {
      const int index = source_.outputs[i].param;
      const Param& output = source_.params[static_cast<size_t>(index)];
      if (!is_real(output.dtype)) continue;
      Param seed{.name = "d_" + output.name, .role = Param::Role::In, .dtype = output.dtype, .dims = output.dims};
      seed.span = span_;
      if (seed.dims.empty()) seed.role = Param::Role::Scalar;
      if (info(output.dtype).bits < 16) seed.dtype = DType::F32;
      if (output.role == Param::Role::InOut && is_wanted(index)) seed.role = Param::Role::InOut;
      seeds_.push_back({result_.whole.outputs[i].value, add_input(std::move(seed))});
    }
    // The sweep knows parameters by their place in `whole`.
    std::set<int> moved;
    for (const int param : wanted_) moved.insert(new_index(param));
    wanted_ = std::move(moved);
  }

  void store(const std::map<int, NodeId>& gradients) {
    Program& whole = result_.whole;
    Simplifier make(whole.graph);
    for (const auto& [index, wrt] : targets_) {
      const Param& param = source_.params[static_cast<size_t>(index)];
      const auto found = gradients.find(new_index(index));
      NodeId value = found != gradients.end() ? found->second : whole.graph.constant(0);
      if (found == gradients.end()) diagnostics_.report(DiagId::E0289, wrt->span, {param.name});
      Param stored{.name = "d_" + param.name, .role = Param::Role::Out, .dtype = gradient_type(param, *wrt)};
      stored.dims = param.dims;
      stored.span = wrt->span;
      const auto seed =
          std::find_if(whole.params.begin(), whole.params.end(), [&](const Param& p) { return p.name == stored.name; });
      int place = static_cast<int>(seed - whole.params.begin());
      if (seed == whole.params.end()) {
        if (wrt->accumulate) {
          stored.role = Param::Role::InOut;
          const NodeId before = add_input(stored);
          value = make.linear({{1, before}, {1, value}});
        } else {
          whole.params.push_back(stored);
        }
      }
      whole.outputs.push_back({place, make.as_real(value), wrt->span});
    }
  }

  struct Target {
    int param;
    const Wrt* wrt;
  };

  const Program& source_;
  const std::vector<Wrt>& wrt_;
  Span span_;
  Diagnostics& diagnostics_;
  std::set<int> wanted_;
  std::vector<Target> targets_;
  std::vector<Seed> seeds_;
  Gradient result_;
};

}  // namespace

std::string doc_of(const DirectionInfo& info, const std::string& routine) {
  std::string text = info.doc;
  for (size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}")) text.replace(at, 2, routine);
  return text;
}

std::vector<Wrt> all_parameters(const Program& program) {
  std::vector<Wrt> all;
  for (const Param& param : program.params) {
    if (param.role == Param::Role::In && is_real(param.dtype)) all.push_back({.parameter = param.name});
  }
  return all;
}

std::optional<Gradient> differentiate(const Program& program, const std::vector<Wrt>& wrt, Span span,
                                      Diagnostics& diagnostics) {
  return Differentiation(program, wrt, span, diagnostics).run();
}

}  // namespace coda
