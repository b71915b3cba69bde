#include "compiler/grad/records.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "compiler/elaborate/elaborate.h"
#include "compiler/rewrite/algebra.h"
#include "dsl/parser.h"

namespace coda {

namespace {

/// One program whose outputs are the derivatives of all records of a table.
class Templates {
 public:
  Templates(const std::string& parameters, const std::string& type) : parameters_(parameters), type_(type) {}

  void add(const std::string& name, std::string_view expression) {
    if (expression.empty() || expression == "0") return;
    outputs_ += (outputs_.empty() ? "" : ", ") + name + ": " + type_;
    body_ += "    " + name + " = " + std::string(expression) + "\n";
  }

  /// A record that is no expression of the language is a bug of the compiler, and the tests' to find.
  void compile() {
    SourceMap sources;
    Diagnostics diagnostics(sources);
    const std::string text = "block derivatives(" + parameters_ + ") -> (" + outputs_ + ") {\n" + body_ + "}\n";
    const FileId file = sources.add("<derivatives>", text);
    const auto module = parse(file, sources, diagnostics);
    auto program = module ? elaborate(*module, file, sources, {}, diagnostics) : std::nullopt;
    if (!program) {
      std::fprintf(stderr, "coda: internal error: derivatives of the op table:\n%s", diagnostics.render_text().c_str());
      std::abort();
    }
    program_ = std::move(*program);
    for (const auto& output : program_.outputs) {
      roots_[program_.params[static_cast<size_t>(output.param)].name] = output.value;
    }
  }

  NodeId root(const std::string& name) const {
    const auto it = roots_.find(name);
    return it == roots_.end() ? kNoNode : it->second;
  }
  const Graph& graph() const { return program_.graph; }
  const std::vector<Param>& params() const { return program_.params; }

 private:
  std::string parameters_, type_, outputs_, body_;
  Program program_;
  std::map<std::string, NodeId> roots_;
};

std::string name_of(const Op& op, int operand) { return std::string(op.name) + "_" + std::to_string(operand); }
std::string name_of(const Reduction& reduction) { return std::string(reduction.name) + "_over"; }

const Templates& op_templates() {
  static const Templates templates = [] {
    Templates all("x: f32, y: f32, c: bool, r: f32, g: f32", "f32");
    for (const Op* op : op_table()) {
      for (int i = 0; i < op->arity; ++i) all.add(name_of(*op, i), op->grad[i]);
    }
    all.compile();
    return all;
  }();
  return templates;
}

const Templates& reduction_templates() {
  static const Templates templates = [] {
    Templates all("x: f32[N], r: f32, g: f32", "f32[N]");
    for (const Reduction* reduction : reduction_table()) all.add(name_of(*reduction), reduction->grad);
    all.compile();
    return all;
  }();
  return templates;
}

/// Copies a template with nodes for its parameters and dimensions for its N.
NodeId set_in(Simplifier& make, const Templates& templates, NodeId root, const std::map<std::string, NodeId>& values,
              const std::vector<NamedDim>& over) {
  const Graph& from = templates.graph();
  Graph& graph = make.graph();
  std::map<NodeId, NodeId> copies;
  for (const NodeId id : topological(from, {root})) {
    Node node = from[id];
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(copies.at(arg));
    if (!node.over.empty()) node.over = over;
    NodeId copy = kNoNode;
    if (node.kind == NodeKind::Input) {
      copy = values.at(templates.params()[static_cast<size_t>(node.param)].name);
    } else if (node.kind == NodeKind::Index) {
      copy = graph.index(over.front());
    } else if (node.kind == NodeKind::Extent) {
      Dim count(1);
      for (const NamedDim& dim : over) count = count * dim.extent;
      copy = graph.extent(count);
    } else {
      copy = make.rebuild(node, std::move(args));
    }
    copies[id] = copy;
  }
  return copies.at(root);
}

bool uses_coordinates(const Templates& templates, NodeId root) {
  for (const NodeId id : topological(templates.graph(), {root})) {
    if (templates.graph()[id].kind == NodeKind::Index) return true;
  }
  return false;
}

}  // namespace

NodeId op_gradient(Simplifier& make, const Op& op, std::span<const NodeId> args, int operand, NodeId result,
                   NodeId gradient) {
  const Templates& templates = op_templates();
  const NodeId root = templates.root(name_of(op, operand));
  if (root == kNoNode) return kNoNode;
  std::map<std::string, NodeId> values{{"r", result}, {"g", gradient}};
  const size_t first = op.rule == ClassRule::Select ? 1 : 0;
  if (first == 1) values["c"] = args[0];
  constexpr const char* kOperands[] = {"x", "y"};
  for (size_t i = first; i < args.size(); ++i) values[kOperands[i - first]] = args[i];
  return set_in(make, templates, root, values, {});
}

NodeId reduction_gradient(Simplifier& make, const Reduction& reduction, NodeId x, const std::vector<NamedDim>& over,
                          NodeId result, NodeId gradient) {
  const Templates& templates = reduction_templates();
  const NodeId root = templates.root(name_of(reduction));
  if (root == kNoNode) return kNoNode;
  if (over.size() > 1 && uses_coordinates(templates, root)) {
    // One dimension at a time: the first element along the first, then along the next.
    const std::vector<NamedDim> last{over.back()}, others(over.begin(), over.end() - 1);
    const NodeId inner = make.graph().reduce(&reduction, x, last);
    const NodeId inner_gradient = reduction_gradient(make, reduction, inner, others, result, gradient);
    return set_in(make, templates, root, {{"x", x}, {"r", inner}, {"g", inner_gradient}}, last);
  }
  return set_in(make, templates, root, {{"x", x}, {"r", result}, {"g", gradient}}, over);
}

}  // namespace coda
