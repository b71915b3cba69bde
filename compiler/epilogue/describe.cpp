#include "compiler/epilogue/describe.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "compiler/epilogue/describe_map.h"

namespace coda {

namespace {

/// How tightly a text holds together.
enum class Bond : uint8_t { Compare, Sum, Matmul, Product, Primary };

struct Text {
  std::string text;
  Bond bond = Bond::Primary;
  std::string at(Bond needed) const { return bond < needed ? "(" + text + ")" : text; }
};

struct Operator {
  std::string_view op, spelling;
};
constexpr Operator kComparisons[] = {{"eq", " == "}, {"ne", " != "}, {"lt", " < "},    {"le", " <= "},
                                     {"gt", " > "},  {"ge", " >= "}, {"and", " and "}, {"or", " or "}};

/// "1e-5", as the language writes it.
std::string number(double value) {
  std::ostringstream stream;
  stream << value;
  std::string text = stream.str();
  const size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  size_t digits = exponent + 1;
  if (text[digits] == '+') text.erase(digits, 1);
  if (text[digits] == '-') ++digits;
  while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  return text;
}

std::string dims_text(const std::vector<NamedDim>& dims) {
  std::string text;
  for (const auto& dim : dims) text += (text.empty() ? "" : ", ") + dim_text(dim);
  return dims.size() == 1 ? text : "(" + text + ")";
}

bool has(const std::vector<NamedDim>& dims, const NamedDim& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

class Describer {
 public:
  Describer(const Program& program, const Graph& graph, const NodeNames& names, int deepest)
      : program_(program), graph_(graph), names_(names), deepest_(deepest) {
    for (const bool out : {true, false}) {  // as the results have them, then as the parameters do
      for (const Param& param : program.params) {
        if ((param.role == Param::Role::Out) == out) order_.insert(order_.end(), param.dims.begin(), param.dims.end());
      }
    }
    for (const auto& [id, name] : names) {
      const Node& node = graph[id];
      if (node.kind == NodeKind::Contract && node.over.empty()) products_.emplace(sorted(node.args), name);
    }
  }

  std::string by_name(NodeId id) const { return of(id, 0).text; }

 private:
  Text of(NodeId id, int depth) const {
    if (const auto named = names_.find(id); named != names_.end()) return {named->second};
    return made(id, depth);
  }

  Text made(NodeId id, int depth) const {
    const Node& node = graph_[id];
    if (depth > deepest_) return {"…"};
    switch (node.kind) {
      case NodeKind::Input:
        return {program_.params[static_cast<size_t>(node.param)].name};
      case NodeKind::Constant:
        return {number(node.value), node.value < 0 ? Bond::Sum : Bond::Primary};
      case NodeKind::Index:
        return {"index(" + dim_text(node.dim) + ")"};
      case NodeKind::Extent:
        return {node.map.offset.text(), is_word(node.map.offset.text()) ? Bond::Primary : Bond::Sum};
      case NodeKind::Contract:
        return contract(node, depth);
      case NodeKind::Sum:
        return sum(node, depth);
      case NodeKind::Reduce:
        return {std::string(node.reduction->label()) + "(" + of(node.args[0], depth + 1).text +
                ", over = " + dims_text(node.over) + ")"};
      case NodeKind::Gather:
        return {"gather(" + of(node.args[0], depth + 1).text + ", " + dim_text(node.dim) + " = " +
                of(node.args[1], depth + 1).text + ")"};
      case NodeKind::Cast:
        return {std::string(info(node.dtype).name) + "(" + of(node.args[0], depth + 1).text + ")"};
      case NodeKind::View: {
        const std::string part = part_text(node.dim, node.map);
        if (part.empty()) return of(node.args[0], depth);
        return {of(node.args[0], depth + 1).at(Bond::Primary) + part};
      }
      case NodeKind::Put: {
        const std::string part = part_text(node.dim, node.map);
        if (part.empty()) return of(node.args[0], depth);
        return {"put(" + of(node.args[0], depth + 1).text + ", at " + part + ")"};
      }
      case NodeKind::Apply:
        break;
    }
    return apply(node, depth);
  }

  static std::vector<NodeId> sorted(std::vector<NodeId> nodes) {
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  static bool is_word(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  }

  Text apply(const Node& node, int depth) const {
    for (const Operator& row : kComparisons) {
      if (row.op != node.op->name) continue;
      return {of(node.args[0], depth + 1).at(Bond::Sum) + std::string(row.spelling) +
                  of(node.args[1], depth + 1).at(Bond::Sum),
              Bond::Compare};
    }
    if (node.op->name == "div") {
      return {of(node.args[0], depth + 1).at(Bond::Product) + "/" + of(node.args[1], depth + 1).at(Bond::Primary),
              Bond::Product};
    }
    if (node.op->name == "recip") return {"1/" + of(node.args[0], depth + 1).at(Bond::Primary), Bond::Product};
    if (node.op->name == "to_real") return of(node.args[0], depth);
    std::string text = std::string(node.op->name) + "(";
    for (size_t i = 0; i < node.args.size(); ++i) text += (i ? ", " : "") + of(node.args[i], depth + 1).text;
    return {text + ")"};
  }

  bool is_reciprocal(NodeId id) const {
    const Node& node = graph_[id];
    return node.kind == NodeKind::Apply && node.op->name == "recip" && !names_.contains(id);
  }

  /// The sum of which `factors` is the mean, by its place among them; nothing if it is none.
  std::optional<size_t> mean_of(const std::vector<NodeId>& factors, size_t inverse) const {
    const Node& count = graph_[graph_[factors[inverse]].args[0]];
    if (count.kind != NodeKind::Extent) return std::nullopt;
    for (size_t i = 0; i < factors.size(); ++i) {
      const Node& total = graph_[factors[i]];
      if (total.kind != NodeKind::Contract || total.over.empty() || names_.contains(factors[i])) continue;
      Dim extent(1);
      for (const NamedDim& dim : total.over) extent = extent * dim.extent;
      if (extent == count.map.offset && !sides(total)) return i;
    }
    return std::nullopt;
  }

  /// Factors with exponents, then what they are divided by.
  Text product(std::vector<NodeId> factors, int depth) const {
    std::vector<Text> over, under;
    for (size_t i = 0; i < factors.size(); ++i) {
      if (!is_reciprocal(factors[i])) continue;
      const auto total = mean_of(factors, i);
      if (!total) continue;
      const Node& node = graph_[factors[*total]];
      over.push_back({"mean(" + product(node.args, depth + 1).text + ", over = " + dims_text(node.over) + ")"});
      const auto first = static_cast<ptrdiff_t>(std::max(i, *total)),
                 second = static_cast<ptrdiff_t>(std::min(i, *total));
      factors.erase(factors.begin() + first);
      factors.erase(factors.begin() + second);
      break;
    }
    for (size_t i = 0; i < factors.size(); ++i) {
      const auto before = factors.begin() + static_cast<ptrdiff_t>(i);
      if (std::find(factors.begin(), before, factors[i]) != before) continue;
      const auto times = std::count(factors.begin(), factors.end(), factors[i]);
      const bool divides = is_reciprocal(factors[i]);
      Text text = divides ? of(graph_[factors[i]].args[0], depth + 1) : of(factors[i], depth + 1);
      if (times > 1) text = {text.at(Bond::Primary) + "**" + std::to_string(times), Bond::Primary};
      (divides ? under : over).push_back(std::move(text));
    }
    if (over.empty()) over.push_back({"1"});
    if (over.size() == 1 && under.empty()) return over[0];
    std::string text;
    for (const Text& factor : over) text += (text.empty() ? "" : "*") + factor.at(Bond::Product);
    for (const Text& factor : under)
      text += "/" + (factor.bond < Bond::Primary ? "(" + factor.text + ")" : factor.text);
    return {text, Bond::Product};
  }

  size_t rank(const NamedDim& dim) const {
    return static_cast<size_t>(std::find(order_.begin(), order_.end(), dim) - order_.begin());
  }

  /// The factors of a matrix product by its two operands, rows first.
  std::optional<std::pair<std::vector<NodeId>, std::vector<NodeId>>> sides(const Node& node) const {
    if (node.over.size() != 1 || node.args.size() < 2 || node.dims.size() < 2) return std::nullopt;
    const NamedDim& depth = node.over[0];
    std::vector<std::pair<std::vector<NamedDim>, std::vector<NodeId>>> groups;
    std::vector<NodeId> gains;
    for (const NodeId arg : node.args) {
      std::vector<NamedDim> own;
      for (const NamedDim& dim : graph_[arg].dims) {
        if (!(dim == depth)) own.push_back(dim);
      }
      if (own.empty() && !has(graph_[arg].dims, depth)) return std::nullopt;
      if (own.empty()) {
        gains.push_back(arg);
        continue;
      }
      std::pair<std::vector<NamedDim>, std::vector<NodeId>> joined{own, {arg}};
      std::erase_if(groups, [&](const auto& group) {
        const bool meets =
            std::any_of(own.begin(), own.end(), [&](const NamedDim& dim) { return has(group.first, dim); });
        if (!meets) return false;
        joined.first.insert(joined.first.end(), group.first.begin(), group.first.end());
        joined.second.insert(joined.second.begin(), group.second.begin(), group.second.end());
        return true;
      });
      groups.push_back(std::move(joined));
    }
    if (groups.size() != 2) return std::nullopt;
    const auto first = [&](const auto& group) {
      size_t least = SIZE_MAX;
      for (const NamedDim& dim : group.first) least = std::min(least, rank(dim));
      return least;
    };
    if (first(groups[1]) < first(groups[0])) std::swap(groups[0], groups[1]);
    groups[0].second.insert(groups[0].second.end(), gains.begin(), gains.end());
    return std::pair(groups[0].second, groups[1].second);
  }

  /// `x`, or `x.T` where a parameter's dimensions lie the other way round.
  std::string side(const std::vector<NodeId>& factors, const NamedDim& depth, bool depth_last, int level) const {
    const auto known = products_.find(sorted(factors));  // one value, though laws see its factors
    const Text text = known != products_.end() ? Text{known->second} : product(factors, level);
    for (const NodeId factor : factors) {
      const Node& node = graph_[factor];
      if (node.kind != NodeKind::Input || node.dims.size() != 2) continue;
      const auto& dims = program_.params[static_cast<size_t>(node.param)].dims;
      const bool fits = has(dims, depth) && (dims.back() == depth) == depth_last;
      if (!fits && has(dims, depth)) return text.at(Bond::Primary) + ".T";
      break;
    }
    return depth_last ? text.at(Bond::Product) : text.at(Bond::Primary);
  }

  Text contract(const Node& node, int depth) const {
    if (node.over.empty()) return product(node.args, depth);
    if (const auto operands = sides(node)) {
      return {side(operands->first, node.over[0], true, depth + 1) + " @ " +
                  side(operands->second, node.over[0], false, depth + 1),
              Bond::Matmul};
    }
    return {"sum(" + product(node.args, depth + 1).text + ", over = " + dims_text(node.over) + ")"};
  }

  /// Parts side by side.
  std::string joined(const Node& node, int depth) const {
    std::vector<NodeId> puts = node.args;
    for (size_t i = 0; i < puts.size(); ++i) {
      const Node& put = graph_[puts[i]];
      const bool fits = put.kind == NodeKind::Put && put.dim == graph_[puts[0]].dim && node.coefficients[i] == 1 &&
                        !names_.contains(puts[i]) && part_text(put.dim, put.map).find(":") != std::string::npos &&
                        part_text(put.dim, put.map).find("::") == std::string::npos;
      if (!fits) return "";
    }
    if (puts.size() < 2) return "";
    std::stable_partition(puts.begin(), puts.end(), [&](NodeId put) { return graph_[put].map.offset.is_zero(); });
    std::string text;
    for (const NodeId put : puts) text += (text.empty() ? "join(" : ", ") + of(graph_[put].args[0], depth + 1).text;
    return text + ")";
  }

  Text sum(const Node& node, int depth) const {
    if (const std::string join = joined(node, depth); !join.empty()) return {join};
    std::vector<size_t> order;  // constants and what is subtracted come last
    for (size_t i = 0; i < node.args.size(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return last(node, a) < last(node, b); });
    std::string text;
    for (const size_t i : order) {
      const double c = node.coefficients[i];
      text += text.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
      const bool scaled = std::abs(c) != 1;
      if (scaled) text += number(std::abs(c)) + "*";
      text += of(node.args[i], depth + 1).at(scaled || c < 0 ? Bond::Product : Bond::Sum);
    }
    return {text, Bond::Sum};
  }

  int last(const Node& node, size_t i) const {
    return graph_[node.args[i]].kind == NodeKind::Constant ? 2 : node.coefficients[i] < 0 ? 1 : 0;
  }

  const Program& program_;
  const Graph& graph_;
  const NodeNames& names_;
  const int deepest_;
  std::map<std::vector<NodeId>, std::string> products_;  // that have a name, by their factors
  std::vector<NamedDim> order_;                          // as the parameters have them
};

}  // namespace

std::string describe(const Program& program, const Graph& graph, NodeId node) {
  constexpr int kDeepest = 10;
  constexpr size_t kLongest = 80;
  static const NodeNames kNone;
  const NodeNames& names = &graph == &program.graph ? program.value_names : kNone;
  const std::string text = Describer(program, graph, names, kDeepest).by_name(node);
  if (text.size() <= kLongest) return text;
  size_t cut = kLongest - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not inside a code point
  return text.substr(0, cut) + "…";
}

std::string describe_whole(const Program& program, const Graph& graph, NodeId node, const NodeNames& names) {
  constexpr int kDeepest = 100;  // of calls, not of what anybody reads
  return Describer(program, graph, names, kDeepest).by_name(node);
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
