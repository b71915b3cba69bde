#include "compiler/epilogue/describe.h"

#include <cmath>
#include <sstream>

namespace coda {

namespace {

constexpr int kDeepest = 6;

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string dims_text(const std::vector<NamedDim>& dims) {
  std::string text;
  for (const auto& dim : dims) text += (text.empty() ? "" : ", ") + dim.name;
  return dims.size() == 1 ? text : "(" + text + ")";
}

class Describer {
 public:
  Describer(const Program& program, const Graph& graph) : program_(program), graph_(graph) {}

  /// `tight`: the context binds closer than a sum.
  std::string of(NodeId id, int depth, bool tight) const {
    const Node& node = graph_[id];
    if (depth > kDeepest) return "…";
    switch (node.kind) {
      case NodeKind::Input:
        return program_.params[static_cast<size_t>(node.param)].name;
      case NodeKind::Constant:
        return number(node.value);
      case NodeKind::Index:
        return "index(" + node.dim.name + ")";
      case NodeKind::Extent:
        return node.map.offset.text();
      case NodeKind::Contract:
        return contract(node, depth, tight);
      case NodeKind::Sum:
        return sum(node, depth, tight);
      case NodeKind::Reduce:
        return std::string(node.reduction->label()) + "(" + of(node.args[0], depth + 1, false) +
               ", over = " + dims_text(node.over) + ")";
      case NodeKind::Gather:
        return "gather(" + of(node.args[0], depth + 1, false) + ", " + node.dim.name + " = " +
               of(node.args[1], depth + 1, false) + ")";
      case NodeKind::Cast:
        return std::string(info(node.dtype).name) + "(" + of(node.args[0], depth + 1, false) + ")";
      case NodeKind::View:
      case NodeKind::Put:
        return of(node.args[0], depth, tight);
      case NodeKind::Apply:
        break;
    }
    std::string text = std::string(node.op->name) + "(";
    for (size_t i = 0; i < node.args.size(); ++i) text += (i ? ", " : "") + of(node.args[i], depth + 1, false);
    return text + ")";
  }

 private:
  std::string contract(const Node& node, int depth, bool tight) const {
    const bool matmul = node.over.size() == 1 && node.args.size() == 2 &&
                        graph_[node.args[0]].has_dim(node.over[0].name) &&
                        graph_[node.args[1]].has_dim(node.over[0].name) && node.dims.size() >= 2;
    std::string text;
    for (const NodeId arg : node.args) text += (text.empty() ? "" : matmul ? " @ " : "*") + of(arg, depth + 1, true);
    if (matmul) return tight ? "(" + text + ")" : text;
    if (node.over.empty()) return text;
    return "sum(" + text + ", over = " + dims_text(node.over) + ")";
  }

  std::string sum(const Node& node, int depth, bool tight) const {
    std::string text;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const double c = node.coefficients[i];
      text += text.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
      if (std::abs(c) != 1) text += number(std::abs(c)) + "*";
      text += of(node.args[i], depth + 1, std::abs(c) != 1);
    }
    return tight && node.args.size() > 1 ? "(" + text + ")" : text;
  }

  const Program& program_;
  const Graph& graph_;
};

}  // namespace

std::string describe(const Program& program, const Graph& graph, NodeId node) {
  const std::string text = Describer(program, graph).of(node, 0, false);
  constexpr size_t kLongest = 80;
  if (text.size() <= kLongest) return text;
  size_t cut = kLongest - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not inside a code point
  return text.substr(0, cut) + "…";
}

Span own_span(const Program& program, Span span, Span otherwise) {
  const bool own = span.valid() && (!program.span.valid() || span.file == program.span.file);
  return own ? span : otherwise;
}

std::string name_list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += "`" + names[i] + "`";
  }
  return text;
}

}  // namespace coda
