#include "compiler/print/printer.h"

#include <algorithm>

#include "compiler/print/print.h"
#include "compiler/rewrite/algebra.h"
#include "dsl/format.h"

namespace coda {

namespace {

std::string formatted(const std::string& text) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add("<printed>", text);
  return format(file, sources, diagnostics).value_or(text);
}

constexpr size_t kLongest = 90;  // of an expression without a name

/// Several values at once, which have no name together.
bool is_pack(const Node& node) { return node.kind == NodeKind::Apply && node.op->packs; }

bool is_leaf(const Node& node) {
  return node.kind == NodeKind::Input || node.kind == NodeKind::Constant || node.kind == NodeKind::Index ||
         node.kind == NodeKind::Extent;
}

}  // namespace

Printer::Printer(const Program& program, std::string stem)
    : program_(program), graph_(program.graph), names_(program), stem_(std::move(stem)) {
  for (const auto& output : program.outputs) {
    const Param& param = program.params[static_cast<size_t>(output.param)];
    const Node& node = graph_[output.value];
    const bool same_class = node.num_class == info(param.dtype).num_class;
    if (param.role == Param::Role::Out && same_class && !is_leaf(node)) output_of_.emplace(output.value, output.param);
  }
  count_uses();
}

void Printer::count_uses() {
  std::vector<NodeId> roots;
  for (const auto& output : program_.outputs) {
    roots.push_back(output.value);
    ++uses_[output.value];
  }
  std::set<std::pair<NodeId, std::string>> cut;  // one word takes a dimension apart for all its views
  for (const NodeId id : topological(graph_, roots)) {
    reachable_.insert(id);
    const Node& node = graph_[id];
    if (node.kind == NodeKind::View && !cut.insert({node.args[0], node.dim.name}).second) continue;
    for (const NodeId arg : node.args) ++uses_[arg];
  }
}

bool Printer::is_named(NodeId id) const {
  const Node& node = graph_[id];
  if (is_leaf(node) || is_pack(node)) return false;
  const bool scaled_leaf = node.kind == NodeKind::Sum && node.args.size() == 1 && is_leaf(graph_[node.args[0]]);
  const bool count = node.kind == NodeKind::Apply && node.op->name == "recip" &&
                     graph_[node.args[0]].kind == NodeKind::Extent;  // printed as a quotient
  if (scaled_leaf || count) return false;
  return uses_.at(id) > 1 || (program_.value_names.contains(id) && !output_of_.contains(id));
}

Piece Printer::expression(NodeId id) {
  // An explicit stack: graphs are deeper than calls may be.
  std::vector<std::pair<NodeId, bool>> stack{{id, false}};
  while (!stack.empty()) {
    const auto [at, ready] = stack.back();
    stack.pop_back();
    if (done_.contains(at)) continue;
    if (!ready) {
      stack.push_back({at, true});
      const auto& args = graph_[at].args;
      for (size_t i = args.size(); i-- > 0;) stack.push_back({args[i], false});
      continue;
    }
    Piece piece = make(at);
    if (done_.contains(at)) continue;
    const bool names = is_named(at) || (piece.text.size() > kLongest && !is_leaf(graph_[at]) && !is_pack(graph_[at]));
    done_[at] = names ? named(at, std::move(piece)) : std::move(piece);
  }
  return done_.at(id);
}

Piece Printer::named(NodeId id, Piece piece) {
  if (const auto output = output_of_.find(id); output != output_of_.end()) {
    const Param& param = program_.params[static_cast<size_t>(output->second)];
    lines_.push_back(param.name + " = " + piece.text);
    assigned_.insert(output->second);
    piece.is_stored = false;
    piece.text = param.name;
    piece.level = Level::Primary;
    return piece;
  }
  const auto known = program_.value_names.find(id);
  if (known == program_.value_names.end() && is_identifier(piece.text)) return piece;  // part of a value that was cut
  return let(known != program_.value_names.end() ? known->second : stem_, std::move(piece));
}

Piece Printer::let(const std::string& wanted, Piece piece) {
  const std::string name = names_.fresh(wanted);
  lines_.push_back("let " + name + " = " + piece.text);
  piece.text = name;
  piece.level = Level::Primary;
  return piece;
}

void Printer::outputs() {
  std::vector<std::pair<std::string, NodeId>> in_place;
  for (const auto& output : program_.outputs) {
    const Param& param = program_.params[static_cast<size_t>(output.param)];
    if (param.role == Param::Role::InOut) {
      in_place.push_back({param.name, output.value});
      continue;
    }
    if (assigned_.contains(output.param)) continue;
    const Piece value = expression(output.value);
    if (assigned_.insert(output.param).second) lines_.push_back(param.name + " = " + value.text);
  }
  // Every old value is read before the first one is overwritten.
  std::vector<std::string> stores;
  for (const auto& [name, id] : in_place) {
    const Node& node = graph_[id];
    std::vector<NodeId> rest;
    std::vector<double> coefficients;
    bool adds = false;
    for (size_t i = 0; i < node.args.size() && node.kind == NodeKind::Sum; ++i) {
      const Node& arg = graph_[node.args[i]];
      const bool own = arg.kind == NodeKind::Input && program_.params[static_cast<size_t>(arg.param)].name == name;
      if (own && node.coefficients[i] == 1 && !adds) {
        adds = true;
        continue;
      }
      rest.push_back(node.args[i]);
      coefficients.push_back(node.coefficients[i]);
    }
    adds = adds && !rest.empty() && uses_.at(id) == 1;
    for (const NodeId arg : rest) {
      if (adds) expression(arg);
    }
    Piece value = adds ? sum(rest, coefficients) : expression(id);
    if (in_place.size() > 1) value = let("next_" + name, std::move(value));
    stores.push_back(name + (adds ? " += " : " = ") + value.text);
  }
  lines_.insert(lines_.end(), stores.begin(), stores.end());
}

std::string Printer::type_text(const Param& param) {
  std::string text(info(param.dtype).name);
  if (param.dims.empty()) return text;
  text += "[";
  for (size_t i = 0; i < param.dims.size(); ++i) {
    const std::string& name = names_.spelled(param.dims[i]);
    const std::string& extent = param.dims[i].extent.text();
    text += (i > 0 ? ", " : "") + extent + (name == extent ? "" : " as " + name);
  }
  return text + "]";
}

std::string Printer::facts_text() const {
  std::string text;
  for (const DimFact& fact : program_.facts) {
    text += (text.empty() ? "\nwhere " : ", ") + fact.left.text();
    if (fact.modulus) text += " % (" + fact.modulus->text() + ")";
    text += " " + std::string(fact.modulus && fact.relation == "=" ? "==" : fact.relation) + " " + fact.right.text();
  }
  return text;
}

std::string Printer::signature() {
  std::string text = std::string(program_.is_block ? "block " : "kernel ") + program_.name + "(";
  std::string inputs, outputs;
  for (const Param& param : program_.params) {
    const bool out = param.role == Param::Role::Out;
    std::string& list = out ? outputs : inputs;
    if (!list.empty()) list += ", ";
    if (param.role == Param::Role::InOut) list += "inout ";
    if (param.is_const) list += "const ";
    list += param.name + ": " + type_text(param);
    if (const auto* layout = find_layout(param.layout)) list += " layout " + std::string(layout->name);
    if (param.default_value) list += " = " + number(*param.default_value);
  }
  text += inputs + ")";
  if (!outputs.empty()) text += " -> (" + outputs + ")";
  text += facts_text();
  if (!program_.schedule.empty()) {
    text += " schedule { ";
    for (size_t i = 0; i < program_.schedule.size(); ++i) {
      const auto& [name, value] = program_.schedule[i];
      text += (i > 0 ? ", " : "") + name + " = " + number(value);
    }
    text += " }";
  }
  return text;
}

std::string Printer::run() {
  std::string text;
  for (size_t at = 0; at < program_.doc.size();) {
    const size_t end = std::min(program_.doc.find('\n', at), program_.doc.size());
    text += "// " + program_.doc.substr(at, end - at) + "\n";
    at = end + 1;
  }
  text += signature() + " {\n";
  outputs();
  for (const std::string& line : lines_) text += "    " + line + "\n";
  return functions_ + text + "}\n";
}

std::vector<std::string> statements_of(const Program& program, const std::string& stem) {
  const std::string text = formatted(Printer(program, stem).run());
  constexpr std::string_view kIndent = "    ";
  std::vector<std::string> lines;
  bool header = false, inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (inside && line == "}") break;
    if (inside) lines.push_back(line.substr(std::min(kIndent.size(), line.size())));
    const bool begins = line.starts_with("kernel ") || line.starts_with("block ");
    header = header || begins;  // behind the functions that reductions are combined by
    inside = inside || (header && line.ends_with("{"));
  }
  return lines;
}

std::string to_source(const Program& program) { return formatted(Printer(program).run()); }

}  // namespace coda
