#include "compiler/grad/directions.h"

#include <algorithm>
#include <set>

#include "compiler/ir/remake.h"
#include "compiler/ir/storage_type.h"
#include "compiler/plan/min_cut.h"
#include "compiler/rewrite/algebra.h"

namespace coda {

namespace {

/// The cut must not change with the sizes that a program is compiled for: its result is part of two signatures.
constexpr int64_t kNotionalExtent = 4096;

class Directions {
 public:
  Directions(const Program& source, NodeId forward_nodes, Gradient& gradient)
      : source_(source),
        forward_nodes_(forward_nodes),
        whole_(gradient.whole),
        forward_(gradient.forward),
        backward_(gradient.backward),
        storage_(storage_type(source)) {
    for (const Param& param : source.params) names_.insert(param.name);
    find_exact();
    exact_.merge(elements_by_distance(whole_.graph, demanded()));
    for (size_t i = 0; i < source.outputs.size(); ++i) {
      const auto& output = whole_.outputs[i];
      const Param& param = whole_.params[static_cast<size_t>(output.param)];
      const bool whole = param.dims.size() == whole_.graph[output.value].dims.size();
      const int least = exact_.contains(output.value) ? 32 : 16;
      const bool is_kept = param.role == Param::Role::Out && whole && !again_.contains(output.value);
      if (is_kept && info(param.dtype).bits >= least) {
        output_of_.emplace(output.value, output.param);
      }
    }
  }

  void run() { make(cut()); }

  /// Computes more again until what is kept fits; gives the bytes of what is.
  double run_within(double limit, const Bindings& sizes) {
    const SizeHints hints(sizes, kNotionalExtent);
    std::set<NodeId> kept = cut();
    while (bytes_of(kept, hints) > limit) {
      NodeId largest = kNoNode;
      for (const NodeId id : kept) {
        if (!can_be_again(id)) continue;
        if (largest == kNoNode || bytes(id, hints) > bytes(largest, hints)) largest = id;
      }
      if (largest == kNoNode) break;
      again_.insert(largest);
      kept = cut();
    }
    make(kept);
    return bytes_of(kept, hints);
  }

 private:
  void make(const std::set<NodeId>& kept) {
    make_forward(kept);
    make_backward(kept);
  }

  double bytes(NodeId id, const SizeHints& sizes) const {
    return info(kept_type(id)).bits / 8.0 * sizes.elements(whole_.graph[id].dims);
  }
  double bytes_of(const std::set<NodeId>& kept, const SizeHints& sizes) const {
    double sum = 0;
    for (const NodeId id : kept) sum += output_of_.contains(id) ? 0 : bytes(id, sizes);
    return sum;
  }
  /// An output is there anyway, and what an inout parameter held is gone.
  bool can_be_again(NodeId id) const {
    return whole_.graph[id].kind != NodeKind::Input && !output_of_.contains(id) && !again_.contains(id);
  }

  /// What the backward takes extremes of is kept unrounded, for among rounded values another one may be the greatest.
  /// An extreme that elements are compared with is taken again, of just those elements.
  void find_exact() {
    for (const NodeId id : topological(whole_.graph, backward_roots())) {
      const Node& node = whole_.graph[id];
      if (is_forward(id)) continue;
      if (node.kind == NodeKind::Reduce) add_exact(id);
      for (const NodeId arg : node.args) {
        const bool compared = node.num_class == NumClass::Bool && whole_.graph[arg].kind == NodeKind::Reduce;
        if (!compared || !is_forward(arg)) continue;
        again_.insert(arg);
        add_exact(arg);
      }
    }
  }
  void add_exact(NodeId root) {
    for (const NodeId below : topological(whole_.graph, {root})) {
      if (is_forward(below)) exact_.insert(below);
    }
  }

  bool is_forward(NodeId id) const { return id < forward_nodes_; }
  std::vector<NodeId> backward_roots() const {
    std::vector<NodeId> roots;
    for (size_t i = source_.outputs.size(); i < whole_.outputs.size(); ++i) roots.push_back(whole_.outputs[i].value);
    return roots;
  }

  /// Forward values that the backward's nodes use.
  std::vector<NodeId> demanded() const {
    std::set<NodeId> found;
    for (const NodeId root : backward_roots()) {
      if (is_forward(root)) found.insert(root);
    }
    for (const NodeId id : topological(whole_.graph, backward_roots())) {
      if (is_forward(id)) continue;
      for (const NodeId arg : whole_.graph[id].args) {
        if (is_forward(arg)) found.insert(arg);
      }
    }
    return {found.begin(), found.end()};
  }

  bool is_parameter(const Node& node) const {
    return node.kind == NodeKind::Input && whole_.params[static_cast<size_t>(node.param)].role != Param::Role::InOut;
  }

  /// Sums are the forward's, and what an inout parameter held before is gone afterwards.
  bool has_to_be_kept(const Node& node) const {
    return node.kind == NodeKind::Reduce || node.kind == NodeKind::Gather || !node.over.empty() ||
           (node.kind == NodeKind::Input && !is_parameter(node));
  }

  /// A statistic, or made of vectors and statistics alone.
  bool is_light(NodeId id) const {
    const Node& node = whole_.graph[id];
    if (node.dims.size() < 2 || node.kind == NodeKind::Reduce) return true;
    if (node.kind == NodeKind::Input || node.args.empty()) return false;
    if (!node.over.empty()) {
      const size_t all = node.dims.size() + node.over.size();
      return std::any_of(node.args.begin(), node.args.end(),
                         [&](NodeId arg) { return whole_.graph[arg].dims.size() == all; });
    }
    return std::all_of(node.args.begin(), node.args.end(), [&](NodeId arg) { return is_light(arg); });
  }

  DType kept_type(NodeId id) const {
    const Node& node = whole_.graph[id];
    if (node.num_class == NumClass::Int) return DType::I64;
    if (node.num_class == NumClass::Bool) return DType::Bool;
    if (node.kind == NodeKind::Cast) return node.dtype;
    if (node.kind == NodeKind::Input) return whole_.params[static_cast<size_t>(node.param)].dtype;
    return is_light(id) || exact_.contains(id) ? DType::F32 : storage_;
  }

  double cost(NodeId id) const {
    const Node& node = whole_.graph[id];
    const double bytes = info(kept_type(id)).bits / 8.0 * sizes_.elements(node.dims);
    const bool stored_anyway = is_parameter(node) || output_of_.contains(id);
    return stored_anyway ? bytes : 2 * bytes;
  }

  /// Forward values that the backward reads; parameters among them are read as they are.
  std::set<NodeId> cut() const {
    const auto wanted = demanded();
    const auto below = topological(whole_.graph, wanted);
    MinCut cut;
    const int source = -1, sink = -2;
    const auto in = [](NodeId id) { return 2 * id; };
    const auto out = [](NodeId id) { return 2 * id + 1; };
    for (const NodeId id : below) {
      const Node& node = whole_.graph[id];
      const bool again = again_.contains(id);
      cut.edge(in(id), out(id), again ? MinCut::kInfinite : cost(id));
      if (!again && (is_parameter(node) || has_to_be_kept(node))) cut.edge(source, in(id), MinCut::kInfinite);
      for (const NodeId arg : node.args) cut.edge(out(arg), in(id), MinCut::kInfinite);
    }
    for (const NodeId id : wanted) cut.edge(out(id), sink, MinCut::kInfinite);
    const std::set<int> side = cut.source_side(source, sink);
    std::set<NodeId> kept;
    for (const NodeId id : below) {
      if (side.contains(in(id)) && !side.contains(out(id)) && !is_parameter(whole_.graph[id])) kept.insert(id);
    }
    return kept;
  }

  /// Rows first: in the order in which parameters name dimensions.
  std::vector<NamedDim> in_order(std::vector<NamedDim> dims) const {
    std::vector<std::string> known;
    for (const Param& param : whole_.params) {
      for (const NamedDim& dim : param.dims) known.push_back(dim.name);
    }
    const auto rank = [&](const NamedDim& dim) { return std::find(known.begin(), known.end(), dim.name); };
    std::stable_sort(dims.begin(), dims.end(), [&](const NamedDim& a, const NamedDim& b) { return rank(a) < rank(b); });
    return dims;
  }

  /// What a value without a name is called.
  std::string hint(const Node& node) const {
    if (node.kind == NodeKind::Input) return whole_.params[static_cast<size_t>(node.param)].name;
    if (node.kind == NodeKind::Reduce) return std::string(node.reduction->name);
    if (node.kind == NodeKind::Contract && !node.over.empty()) {
      const size_t all = node.dims.size() + node.over.size();
      const bool statistic = std::any_of(node.args.begin(), node.args.end(),
                                         [&](NodeId arg) { return whole_.graph[arg].dims.size() == all; });
      return statistic ? "sum" : "product";
    }
    return node.kind == NodeKind::Apply ? std::string(node.op->name) : "value";
  }

  Param kept_param(NodeId id) {
    if (const auto output = output_of_.find(id); output != output_of_.end()) {
      return whole_.params[static_cast<size_t>(output->second)];
    }
    const auto known = whole_.value_names.find(id);
    const Node& node = whole_.graph[id];
    const std::string stem = "saved_" + (known != whole_.value_names.end() ? known->second : hint(node));
    std::string name = stem;
    for (int i = 2; !names_.insert(name).second; ++i) name = stem + std::to_string(i);
    return {.name = name, .dtype = kept_type(id), .dims = in_order(node.dims), .span = whole_.span};
  }

  void describe(Direction direction) {
    const DirectionInfo& info = kDirections[static_cast<size_t>(direction)];
    Program& program = direction == Direction::Forward ? forward_ : backward_;
    program.name = source_.name + info.suffix;
    program.is_block = true;
    program.facts = source_.facts;
    program.bound = source_.bound;
    program.span = whole_.span;
    program.doc = doc_of(info, source_.name);
  }

  /// A copy of `root`; what has a copy already, as values that are read, is not looked below.
  NodeId copy(Program& into, std::map<NodeId, NodeId>& copies, NodeId root) const {
    std::vector<std::pair<NodeId, bool>> stack{{root, false}};
    while (!stack.empty()) {
      const auto [id, ready] = stack.back();
      stack.pop_back();
      if (copies.contains(id)) continue;
      const Node& node = whole_.graph[id];
      if (!ready) {
        stack.push_back({id, true});
        for (const NodeId arg : node.args) stack.push_back({arg, false});
        continue;
      }
      std::vector<NodeId> args;
      for (const NodeId arg : node.args) args.push_back(copies.at(arg));
      copies[id] = remake(into.graph, node, std::move(args));
      if (const auto name = whole_.value_names.find(id); name != whole_.value_names.end()) {
        into.value_names.emplace(copies[id], name->second);
      }
    }
    return copies.at(root);
  }

  void make_forward(const std::set<NodeId>& kept) {
    describe(Direction::Forward);
    forward_.schedule = source_.schedule;
    std::map<NodeId, NodeId> copies;
    for (size_t p = 0; p < whole_.params.size(); ++p) {
      const Param& param = whole_.params[p];
      const bool own = std::any_of(source_.params.begin(), source_.params.end(),
                                   [&](const Param& other) { return other.name == param.name; });
      if (own) forward_.params.push_back(param);  // the first ones: their places stay
    }
    for (size_t i = 0; i < source_.outputs.size(); ++i) {
      const auto& output = whole_.outputs[i];
      forward_.outputs.push_back({output.param, copy(forward_, copies, output.value), output.span});
    }
    for (const NodeId id : kept) {
      Param param = kept_param(id);
      kept_params_[id] = param;
      if (output_of_.contains(id)) continue;
      param.role = Param::Role::Out;
      forward_.outputs.push_back({static_cast<int>(forward_.params.size()), copy(forward_, copies, id), whole_.span});
      forward_.params.push_back(std::move(param));
    }
  }

  void make_backward(const std::set<NodeId>& kept) {
    describe(Direction::Backward);
    std::map<NodeId, NodeId> copies;
    const auto add = [&](Param param, NodeId id) {
      if (param.role == Param::Role::Out) param.role = Param::Role::In;
      if (param.role == Param::Role::In && param.dims.empty()) param.role = Param::Role::Scalar;
      const NodeId input = backward_.graph.input(static_cast<int>(backward_.params.size()), param.dims,
                                                 info(param.dtype).num_class, param.span);
      backward_.value_names.emplace(input, param.name);
      backward_.params.push_back(std::move(param));
      if (id != kNoNode) copies[id] = input;
    };
    for (const NodeId id : kept) add(kept_params_.at(id), id);
    // Parameters of both kinds, the forward's first, as far as they are used.
    std::set<NodeId> seen;
    std::vector<NodeId> stack = backward_roots();
    std::map<int, NodeId> used;
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (copies.contains(id) || !seen.insert(id).second) continue;
      if (whole_.graph[id].kind == NodeKind::Input) used[whole_.graph[id].param] = id;
      stack.insert(stack.end(), whole_.graph[id].args.begin(), whole_.graph[id].args.end());
    }
    for (const auto& [param, id] : used) add(whole_.params[static_cast<size_t>(param)], id);
    determine_symbols(add);
    for (size_t i = source_.outputs.size(); i < whole_.outputs.size(); ++i) {
      const auto& output = whole_.outputs[i];
      const Param& param = whole_.params[static_cast<size_t>(output.param)];
      int place = -1;
      for (size_t p = 0; p < backward_.params.size(); ++p) {
        if (backward_.params[p].name == param.name) place = static_cast<int>(p);
      }
      if (place < 0) {
        place = static_cast<int>(backward_.params.size());
        backward_.params.push_back(param);
      }
      const NodeId value = copy(backward_, copies, output.value);
      backward_.outputs.push_back({place, value, output.span});
    }
  }

  /// A parameter that the backward does not read may be the only one that gives a symbol its value.
  template <typename Add>
  void determine_symbols(const Add& add) {
    std::set<std::string> known;
    const auto learn = [&](const std::vector<Param>& params) {
      for (const Param& param : params) {
        for (const NamedDim& dim : param.dims) {
          if (dim.extent.symbols().size() == 1) known.merge(dim.extent.symbols());
        }
      }
    };
    for (const auto& [name, value] : source_.bound) known.insert(name);
    learn(backward_.params);
    std::vector<Param> outputs;
    for (size_t i = source_.outputs.size(); i < whole_.outputs.size(); ++i) {
      outputs.push_back(whole_.params[static_cast<size_t>(whole_.outputs[i].param)]);
    }
    learn(outputs);
    for (size_t p = 0; p < source_.params.size(); ++p) {
      const Param& param = whole_.params[p];
      const bool is_new = std::none_of(backward_.params.begin(), backward_.params.end(),
                                       [&](const Param& other) { return other.name == param.name; });
      std::set<std::string> symbols;
      for (const NamedDim& dim : param.dims) symbols.merge(dim.extent.symbols());
      const bool adds = std::any_of(symbols.begin(), symbols.end(),
                                    [&](const std::string& symbol) { return needed().contains(symbol); }) &&
                        std::any_of(symbols.begin(), symbols.end(),
                                    [&](const std::string& symbol) { return !known.contains(symbol); });
      if (!is_new || !adds || param.role == Param::Role::InOut || param.role == Param::Role::Out) continue;
      add(param, kNoNode);
      learn({param});
    }
  }

  /// Symbols of the backward's extents.
  std::set<std::string> needed() const {
    std::set<std::string> symbols;
    for (const NodeId id : topological(whole_.graph, backward_roots())) {
      const Node& node = whole_.graph[id];
      if (is_forward(id)) continue;
      for (const NamedDim& dim : node.dims) symbols.merge(dim.extent.symbols());
      for (const NamedDim& dim : node.over) symbols.merge(dim.extent.symbols());
      for (const NodeId arg : node.args) symbols.merge(whole_.graph[arg].map.offset.symbols());
      symbols.merge(node.map.offset.symbols());
      for (const auto& term : node.map.terms) symbols.merge(term.stride.symbols());
    }
    return symbols;
  }

  const Program& source_;
  const NodeId forward_nodes_;
  const Program& whole_;
  Program& forward_;
  Program& backward_;
  SizeHints sizes_{{}, kNotionalExtent};
  const DType storage_;
  std::set<std::string> names_;
  std::map<NodeId, int> output_of_;
  std::map<NodeId, Param> kept_params_;
  std::set<NodeId> again_;  // not kept, whatever it costs to compute them twice
  std::set<NodeId> exact_;  ///< kept unrounded, if at all
};

}  // namespace

void cut_directions(const Program& source, NodeId forward_nodes, Gradient& gradient) {
  Directions(source, forward_nodes, gradient).run();
}

double keep_at_most(const Program& source, double bytes, const Bindings& sizes, Gradient& gradient) {
  // The forward's nodes come first, then the gradients that come in.
  const Program& whole = gradient.whole;
  NodeId forward_nodes = whole.graph.size();
  for (NodeId id = whole.graph.size(); id-- > 0;) {
    const Node& node = whole.graph[id];
    if (node.kind != NodeKind::Input) continue;
    const std::string& name = whole.params[static_cast<size_t>(node.param)].name;
    const bool own =
        std::any_of(source.params.begin(), source.params.end(), [&](const Param& param) { return param.name == name; });
    if (!own) forward_nodes = id;
  }
  gradient.forward = {};
  gradient.backward = {};
  return Directions(source, forward_nodes, gradient).run_within(bytes, sizes);
}

}  // namespace coda
