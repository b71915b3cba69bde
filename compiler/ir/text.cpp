#include "compiler/ir/text.h"

#include <charconv>

#include "compiler/ir/words.h"

namespace coda {

namespace {

/// The shortest decimal that reads back as the same number.
std::string number(double value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

template <typename List, typename Show>
std::string joined(const List& list, const Show& show) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + show(item);
  return text;
}

std::string dim_list(const std::vector<NamedDim>& dims) {
  return "[" + joined(dims, [](const NamedDim& dim) { return to_text(dim); }) + "]";
}

std::string ref(NodeId id) { return "%" + std::to_string(id); }

std::string escaped(const std::string& text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return line;
}

/// What follows a kind's word.
std::string details(const Node& node) {
  const std::string over = " over " + dim_list(node.over);
  switch (node.kind) {
    case NodeKind::Input:
      return std::to_string(node.param) + " " + std::string(word_of(kClassWords, node.num_class)) + " " +
             dim_list(node.dims);
    case NodeKind::Constant:
      return number(node.value) + " " + std::string(word_of(kClassWords, node.num_class));
    case NodeKind::Index:
      return dim_list({node.dim});
    case NodeKind::Extent:
      return "(" + node.map.offset.text() + ")";
    case NodeKind::Contract:
      return "(" + joined(node.args, ref) + ")" + over;
    case NodeKind::Sum: {
      std::string terms;
      for (size_t i = 0; i < node.args.size(); ++i) {
        terms += (i > 0 ? ", " : "") + number(node.coefficients[i]) + " * " + ref(node.args[i]);
      }
      return "(" + terms + ")";
    }
    case NodeKind::Apply:
      return std::string(node.op->name) + " (" + joined(node.args, ref) + ")";
    case NodeKind::View:
    case NodeKind::Put:
      return ref(node.args[0]) + " " + dim_list({node.dim}) + " at " + to_text(node.map);
    case NodeKind::Reduce:
      return std::string(node.reduction->name) + " " + ref(node.args[0]) + over;
    case NodeKind::Gather:
      return ref(node.args[0]) + " " + dim_list({node.dim}) + " by " + ref(node.args[1]);
    case NodeKind::Cast:
      return std::string(info(node.dtype).name) + " " + ref(node.args[0]);
  }
  return "";
}

std::string param_line(const Param& param) {
  std::string line = "param " + param.name + " : " + std::string(info(param.dtype).name) + " " + dim_list(param.dims) +
                     " " + std::string(word_of(kRoleWords, param.role));
  if (const auto* layout = find_layout(param.layout)) line += " layout " + std::string(layout->name);
  if (param.is_const) line += " const";
  if (param.default_value) line += " default " + number(*param.default_value);
  return line + "\n";
}

std::string fact_line(const DimFact& fact) {
  const std::string modulus = fact.modulus ? " % (" + fact.modulus->text() + ")" : "";
  return "fact (" + fact.left.text() + ")" + modulus + " " + fact.relation + " (" + fact.right.text() + ")\n";
}

}  // namespace

std::string to_text(const NamedDim& dim) {
  return dim.name == dim.extent.text() ? dim.name : dim.name + "=" + dim.extent.text();
}

std::string to_text(const AffineMap& map) {
  const std::string terms =
      joined(map.terms, [](const AffineMap::Term& term) { return to_text(term.dim) + " : " + term.stride.text(); });
  return "(" + map.offset.text() + ";" + (terms.empty() ? "" : " ") + terms + ")";
}

std::string to_text(const Node& node) { return std::string(word_of(kKindWords, node.kind)) + " " + details(node); }

std::string to_text(const Program& program) {
  std::string text = (program.is_block ? "block " : "kernel ") + program.name + "\n";
  if (!program.doc.empty()) text += "doc " + escaped(program.doc) + "\n";
  for (const auto& param : program.params) text += param_line(param);
  for (const auto& [name, value] : program.bound) text += "bound " + name + " = " + std::to_string(value) + "\n";
  for (const auto& fact : program.facts) text += fact_line(fact);
  for (const auto& [key, value] : program.schedule) text += "schedule " + key + " = " + number(value) + "\n";
  for (NodeId id = 0; id < program.graph.size(); ++id) text += ref(id) + " = " + to_text(program.graph[id]) + "\n";
  for (const auto& output : program.outputs) {
    text += "output " + std::to_string(output.param) + " = " + ref(output.value) + "\n";
  }
  return text;
}

}  // namespace coda
