// Reductions that a program defines: `reduce(…)`, and the functions by which their states meet.
#include "compiler/ir/combine_text.h"
#include "compiler/print/printer.h"

namespace coda {

namespace {

/// "(a, b)", or "a" alone.
std::string tuple(const std::vector<std::string>& items) {
  if (items.size() == 1) return items[0];
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "(" : ", ") + item;
  return text + ")";
}

/// The name of a custom reduction says all of it but the word that it gives.
std::string definition_of(const Reduction& reduction) {
  return std::string(reduction.name.substr(0, reduction.name.rfind('|')));
}

}  // namespace

/// The combination as a function: its graph is printed as that of a program whose scalars are the words of both states.
std::string Printer::combine_function(const std::string& name, const CombineProgram& combine) {
  Program program;
  program.graph = combine.graph;
  const size_t words = combine.identity.size();
  std::vector<std::string> states[2];
  for (const int state : {0, 1}) {
    for (size_t w = 0; w < words; ++w) {
      Param param;
      param.role = Param::Role::Scalar;
      param.name = std::string(state == 0 ? "a" : "b") + (words == 1 ? "" : std::to_string(w + 1));
      states[state].push_back(param.name);
      program.params.push_back(std::move(param));
    }
  }
  for (const NodeId result : combine.results) program.outputs.push_back({0, result, {}});
  Printer printer(program);
  std::vector<std::string> results;
  for (const NodeId result : combine.results) results.push_back(printer.expression(result).text);
  std::string text = "fn " + name + "(a, b) {\n";
  if (words > 1) text += "    let " + tuple(states[0]) + " = a\n    let " + tuple(states[1]) + " = b\n";
  for (const std::string& line : printer.lines_) text += "    " + line + "\n";
  return text + "    " + tuple(results) + "\n}\n\n";
}

Piece Printer::custom(const Node& node) {
  const Reduction& reduction = *node.reduction;
  const std::string definition = definition_of(reduction);
  const auto words = static_cast<size_t>(reduction.state_size);
  auto function = combines_.find(definition);
  if (function == combines_.end()) {
    const auto read = combine_from_text(reduction.name);
    const std::string name = names_.fresh(program_.name + "_combine");
    function = combines_.emplace(definition, name).first;
    if (read.ok()) functions_ += combine_function(name, read->program);
  }
  std::vector<std::string> identity;
  for (size_t w = 0; w < words; ++w) {
    const Node start{.kind = NodeKind::Constant, .num_class = NumClass::Real, .value = reduction.identity[w]};
    identity.push_back(constant(start).text);
  }
  Piece piece = reduced("reduce", expression(node.args[0]), node.over);
  piece.text.pop_back();
  piece.text += ", identity = " + tuple(identity) + ", combine = " + function->second + ")";
  if (words == 1) return piece;
  // All words of one reduction have a name each.
  const std::string key = definition + "\n" + piece.text;
  auto& names = words_[key];
  if (names.empty()) {
    for (size_t w = 0; w < words; ++w) names.push_back(names_.fresh(stem_));
    lines_.push_back("let " + tuple(names) + " = " + piece.text);
  }
  piece.text = names[static_cast<size_t>(reduction.word)];
  return piece;
}

}  // namespace coda
