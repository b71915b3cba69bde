#include "compiler/ir/combine_text.h"

#include <charconv>
#include <map>
#include <optional>

#include "compiler/ir/verify.h"
#include "compiler/ir/words.h"

namespace coda {

namespace {

constexpr std::string_view kConstant = "const", kSum = "sum", kProduct = "mul";

std::string number_text(double value) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

class Writer {
 public:
  explicit Writer(const CombineProgram& program)
      : graph_(program.graph), inputs_(static_cast<int>(2 * program.identity.size())) {}

  void visit(NodeId id) {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::Input || numbers_.contains(id)) return;
    for (const NodeId arg : node.args) visit(arg);
    steps_ += (steps_.empty() ? "" : ";") + step(node);
    const int next = static_cast<int>(numbers_.size());
    numbers_[id] = next;
  }
  std::string number(NodeId id) const {
    const Node& node = graph_[id];
    return std::to_string(node.kind == NodeKind::Input ? node.param : inputs_ + numbers_.at(id));
  }
  const std::string& steps() const { return steps_; }

 private:
  std::string step(const Node& node) const {
    if (node.kind == NodeKind::Constant) {
      return std::string(kConstant) + "(" + number_text(node.value) + "," +
             std::string(word_of(kClassWords, node.num_class)) + ")";
    }
    std::string text = node.kind == NodeKind::Sum        ? std::string(kSum)
                       : node.kind == NodeKind::Contract ? std::string(kProduct)
                                                         : std::string(node.op->name);
    text += "(";
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (i > 0) text += ",";
      if (node.kind == NodeKind::Sum) text += number_text(node.coefficients[i]) + "*";
      text += number(node.args[i]);
    }
    return text + ")";
  }

  const Graph& graph_;
  int inputs_;
  std::map<NodeId, int> numbers_;
  std::string steps_;
};

std::vector<std::string_view> cut(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] != at || depth != 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (begin < text.size() || !parts.empty()) parts.push_back(text.substr(begin));
  return parts;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Each member returns false for text that is no combination.
class Reader {
 public:
  bool read(std::string_view text) {
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return false;
    const auto parts = cut(text.substr(1, text.size() - 2), '|');
    if (parts.size() != 4 || !identity(parts[0])) return false;
    for (const std::string_view step : cut(parts[1], ';')) {
      if (!this->step(step)) return false;
    }
    for (const std::string_view result : cut(parts[2], ';')) {
      const auto value = this->value(result);
      if (!value || out.program.graph[*value].num_class != NumClass::Real) return false;
      out.program.results.push_back(*value);
    }
    const auto word = number<int>(parts[3]);
    if (!word || *word < 0 || out.program.results.size() != out.program.identity.size()) return false;
    out.word = *word;
    return out.word < static_cast<int>(out.program.results.size());
  }
  ReadCombine out;

 private:
  bool identity(std::string_view text) {
    for (const std::string_view word : cut(text, ';')) {
      const auto value = number<double>(word);
      if (!value) return false;
      out.program.identity.push_back(*value);
    }
    const size_t words = out.program.identity.size();
    if (words == 0 || words > static_cast<size_t>(kMaxStateWords)) return false;
    for (int i = 0; i < static_cast<int>(2 * words); ++i) {
      values_.push_back(out.program.graph.input(i, {}, NumClass::Real, {}));
    }
    return true;
  }

  std::optional<NodeId> value(std::string_view text) const {
    const auto index = number<size_t>(text);
    if (!index || *index >= values_.size()) return std::nullopt;
    return values_[*index];
  }

  bool step(std::string_view text) {
    const size_t open = text.find('(');
    if (open == std::string_view::npos || text.back() != ')') return false;
    const std::string_view name = text.substr(0, open);
    const auto arguments = cut(text.substr(open + 1, text.size() - open - 2), ',');
    Graph& graph = out.program.graph;
    if (name == kConstant) {
      if (arguments.size() != 2) return false;
      const auto constant = number<double>(arguments[0]);
      const auto num_class = from_word<NumClass>(kClassWords, arguments[1]);
      if (!constant || !num_class) return false;
      values_.push_back(graph.constant(*constant, *num_class));
      return true;
    }
    Node node{.kind = NodeKind::Apply};
    if (name == kSum) node.kind = NodeKind::Sum;
    if (name == kProduct) node.kind = NodeKind::Contract;
    for (std::string_view argument : arguments) {
      if (node.kind == NodeKind::Sum) {
        const size_t star = argument.find('*');
        const auto coefficient = number<double>(argument.substr(0, star));
        if (star == std::string_view::npos || !coefficient) return false;
        node.coefficients.push_back(*coefficient);
        argument = argument.substr(star + 1);
      }
      const auto argument_value = value(argument);
      if (!argument_value) return false;
      node.args.push_back(*argument_value);
    }
    if (node.kind == NodeKind::Apply) {
      node.op = find_op(name);
      if (node.op == nullptr || node.op->packs) return false;
    }
    if (argument_violation(graph, node)) return false;
    values_.push_back(node.kind == NodeKind::Sum        ? graph.sum(node.args, node.coefficients)
                      : node.kind == NodeKind::Contract ? graph.contract(node.args, {})
                                                        : graph.apply(node.op, node.args));
    return true;
  }

  std::vector<NodeId> values_;
};

}  // namespace

std::string combine_to_text(const CombineProgram& program, int word) {
  Writer writer(program);
  for (const NodeId result : program.results) writer.visit(result);
  std::string text = "{";
  for (size_t i = 0; i < program.identity.size(); ++i) text += (i > 0 ? ";" : "") + number_text(program.identity[i]);
  text += "|" + writer.steps() + "|";
  for (size_t i = 0; i < program.results.size(); ++i) {
    text += (i > 0 ? ";" : "") + writer.number(program.results[i]);
  }
  return text + "|" + std::to_string(word) + "}";
}

Expected<ReadCombine> combine_from_text(std::string_view text) {
  Reader reader;
  if (!reader.read(text)) return Status(Code::InvalidArgument, "'" + std::string(text) + "' is no reduction");
  return std::move(reader.out);
}

}  // namespace coda
