// Arithmetic: sums, products, matrix products, reductions and ops.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/grad/operands.h"
#include "compiler/print/printer.h"
#include "compiler/rewrite/algebra.h"

namespace coda {

namespace {

struct OperatorOp {
  std::string_view op, spelling;
  Level level;
};
constexpr OperatorOp kOperators[] = {{"eq", "==", Level::Comparison}, {"ne", "!=", Level::Comparison},
                                     {"lt", "<", Level::Comparison},  {"le", "<=", Level::Comparison},
                                     {"gt", ">", Level::Comparison},  {"ge", ">=", Level::Comparison},
                                     {"and", "and", Level::And},      {"or", "or", Level::Or}};

/// The shortest text that reads back as the value; the language writes exponents without sign and zeros.
std::string shortest(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string result(text, end);
  const size_t exponent = result.find('e');
  if (exponent == std::string::npos) return result;
  size_t digits = exponent + 1;
  if (result[digits] == '+') result.erase(digits, 1);
  if (result[digits] == '-') ++digits;
  while (digits + 1 < result.size() && result[digits] == '0') result.erase(digits, 1);
  return result;
}

}  // namespace

std::string Printer::number(double value) { return shortest(value); }

Piece Printer::constant(const Node& node, bool as_real) const {
  if (node.num_class == NumClass::Bool) return {node.value != 0 ? "true" : "false"};
  if (std::isnan(node.value)) return {"0.0 / 0.0", Level::Product};
  if (std::isinf(node.value)) return {node.value < 0 ? "-1.0 / 0.0" : "1.0 / 0.0", Level::Product};
  std::string text = shortest(std::fabs(node.value));
  const bool whole = text.find_first_of(".e") == std::string::npos;
  if (whole && (as_real || std::fabs(node.value) > 1e15) && node.num_class == NumClass::Real) text += ".0";
  if (std::signbit(node.value)) return {"-" + text, Level::Prefix};
  return {text};
}

Piece Printer::extent(const Dim& extent) {
  for (const std::string& symbol : extent.symbols()) {
    if (!names_.is_hidden(symbol)) continue;
    // A parameter has the symbol's name: count instead.
    const NamedDim dim{extent.text(), extent};
    return {"sum(select(index(" + names_.spelled(dim) + ") >= 0, 1, 0), over = " + names_.spelled(dim) + ")"};
  }
  const std::string& text = extent.text();
  if (is_identifier(text)) return {text};
  if (text.find('/') != std::string::npos) return {"to_int(" + text + ")"};
  return {text, Level::Sum};
}

Piece Printer::make(NodeId id) {
  const Node& node = graph_[id];
  switch (node.kind) {
    case NodeKind::Input: {
      const Param& param = program_.params[static_cast<size_t>(node.param)];
      return {param.name, Level::Primary, param.dims, true};
    }
    case NodeKind::Constant:
      return constant(node);
    case NodeKind::Index:
      return {"index(" + names_.spelled(node.dim) + ")", Level::Primary, {node.dim}};
    case NodeKind::Extent:
      return extent(node.map.offset);
    case NodeKind::Contract:
      return contract(id, node);
    case NodeKind::Sum:
      if (auto piece = joined(node.args, node.coefficients)) return *piece;
      return sum(node.args, node.coefficients);
    case NodeKind::Apply:
      return apply(node);
    case NodeKind::View:
      return view(id, node);
    case NodeKind::Put:
      return put(node);
    case NodeKind::Reduce:
      if (node.reduction->custom != nullptr) return custom(node);
      return reduced(std::string(node.reduction->label()), expression(node.args[0]), node.over);
    case NodeKind::Gather:
      return gathered(expression(node.args[0]), node.dim, expression(node.args[1]));
    case NodeKind::Cast: {
      Piece piece = expression(node.args[0]);
      piece.text = std::string(info(node.dtype).name) + "(" + piece.text + ")";
      piece.level = Level::Primary;
      piece.is_stored = true;
      return piece;
    }
  }
  return {};
}

Piece Printer::apply(const Node& node) {
  std::vector<Piece> args;
  Piece result;
  // Whole numbers divide differently: where no argument says that reals are meant, constants do.
  bool real = node.op->rule == ClassRule::Same;
  for (const NodeId arg : node.args) {
    const Node& a = graph_[arg];
    real = real && (a.kind == NodeKind::Constant || a.num_class != NumClass::Real);
  }
  for (const NodeId arg : node.args) {
    const Node& a = graph_[arg];
    args.push_back(a.kind == NodeKind::Constant ? constant(a, real) : expression(arg));
  }
  // As the language orders them: by a selection's values, then its condition.
  const size_t first = node.op->rule == ClassRule::Select ? 1 : 0;
  for (size_t i = 0; i < args.size(); ++i) broadcast_with(result.dims, args[(first + i) % args.size()].dims);
  for (const OperatorOp& row : kOperators) {
    if (row.op != node.op->name) continue;
    const bool comparison = row.level == Level::Comparison;
    const std::string left = comparison ? args[0].right_of(row.level) : args[0].at(row.level);
    result.text = left + " " + std::string(row.spelling) + " " + args[1].right_of(row.level);
    result.level = row.level;
    return result;
  }
  if (node.op->name == "not") {
    result.text = "not " + args[0].at(Level::Not);
    result.level = Level::Not;
    return result;
  }
  result.text = (node.op->packs ? "" : std::string(node.op->name)) + "(";  // packed: a tuple
  for (size_t i = 0; i < args.size(); ++i) result.text += (i > 0 ? ", " : "") + args[i].text;
  result.text += ")";
  return result;
}

Piece Printer::sum(const std::vector<NodeId>& args, const std::vector<double>& coefficients) {
  Piece result;
  result.level = Level::Sum;
  std::vector<size_t> order;
  for (size_t i = 0; i < args.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {  // constants and what is subtracted come last
    const auto last = [&](size_t i) { return coefficients[i] > 0 ? graph_[args[i]].kind == NodeKind::Constant : 2; };
    return last(a) < last(b);
  });
  for (const size_t i : order) {
    const bool first = i == order.front();
    const Node& node = graph_[args[i]];
    const double magnitude = std::fabs(coefficients[i]);
    Piece term = expression(args[i]);
    if (node.kind == NodeKind::Constant && node.value < 0 && !first) term.level = Level::Or;  // in parentheses
    if (magnitude != 1) {
      Node factor{.kind = NodeKind::Constant, .value = magnitude};
      if (magnitude != std::nearbyint(magnitude)) factor.num_class = NumClass::Real;
      term.text = constant(factor).at(Level::Product) + "*" + term.right_of(Level::Product);
      term.level = Level::Product;
    }
    const bool minus = std::signbit(coefficients[i]);
    if (first) {
      result.text = minus ? "-" + term.at(Level::Prefix) : term.at(Level::Sum);
      if (args.size() == 1) result.level = minus ? Level::Prefix : term.level;
    } else {
      result.text += (minus ? " - " : " + ") + term.right_of(Level::Sum);
    }
    broadcast_with(result.dims, term.dims);
  }
  if (args.empty()) result = {"0.0"};
  return result;
}

/// `sum(x) * recip(count)`, as the front end writes a mean.
std::optional<Piece> Printer::mean(const std::vector<NodeId>& factors) {
  if (factors.size() != 2) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Node &total = graph_[factors[i]], &share = graph_[factors[1 - i]];
    const bool shape = total.kind == NodeKind::Contract && !total.over.empty() && share.kind == NodeKind::Apply &&
                       share.op->name == "recip" && graph_[share.args[0]].kind == NodeKind::Extent;
    if (!shape || uses_.at(factors[i]) > 1) continue;
    Dim count(1);
    for (const NamedDim& dim : total.over) count = count * dim.extent;
    if (!(count == graph_[share.args[0]].map.offset)) continue;
    for (const NodeId arg : total.args) expression(arg);
    return reduced("mean", product(total.args), total.over);
  }
  return std::nullopt;
}

Piece Printer::product(const std::vector<NodeId>& factors) {
  Piece result;
  std::vector<NodeId> order = factors;
  const auto divides = [&](NodeId id) {
    const Node& node = graph_[id];
    return node.kind == NodeKind::Apply && node.op->name == "recip" && done_.at(id).text.rfind("recip(", 0) == 0;
  };
  for (const NodeId factor : factors) expression(factor);
  std::stable_partition(order.begin(), order.end(), [&](NodeId id) { return !divides(id); });
  result.level = order.size() > 1 ? Level::Product : Level::Primary;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool quotient = i > 0 && divides(order[i]);
    const Piece piece = expression(quotient ? graph_[order[i]].args[0] : order[i]);
    if (i == 0) {
      result.text = order.size() > 1 ? piece.at(Level::Product) : piece.text;
      if (order.size() == 1) result = piece;
    } else {
      result.text += std::string(quotient ? "/" : "*") + piece.right_of(Level::Product);
    }
    broadcast_with(result.dims, piece.dims);
  }
  return result;
}

Piece Printer::reduced(const std::string& name, const Piece& body, const std::vector<NamedDim>& over) {
  Piece result;
  result.text = name + "(" + body.text + ", over = ";
  for (size_t i = 0; i < over.size(); ++i) {
    result.text += (i > 0 ? ", " : over.size() > 1 ? "(" : "") + names_.spelled(over[i]);
  }
  result.text += over.size() > 1 ? "))" : ")";
  for (const NamedDim& dim : body.dims) {
    if (std::find(over.begin(), over.end(), dim) == over.end()) result.dims.push_back(dim);
  }
  return result;
}

std::optional<Piece> Printer::matmul(const Node& node, const std::vector<NamedDim>& wanted) {
  if (node.over.size() != 1 || node.dims.size() != 2) return std::nullopt;
  std::vector<NodeId> left, right;
  if (node.args.size() == 2) {
    left = {node.args[0]}, right = {node.args[1]};
  } else if (auto groups = operand_groups(graph_, node)) {
    left = (*groups)[0], right = (*groups)[1];
  } else {
    return std::nullopt;
  }
  Piece a = product(left), b = product(right);
  const NamedDim& k = node.over[0];
  if (a.dims.size() != 2 || b.dims.size() != 2 || !a.has(k) || !b.has(k)) return std::nullopt;
  if (!a.is_stored && !b.is_stored) return std::nullopt;
  const auto kept = [&](const Piece& piece) { return piece.dims[0] == k ? piece.dims[1] : piece.dims[0]; };
  if (kept(a) == kept(b)) return std::nullopt;
  const auto rank = [&](const Piece& piece) { return std::find(wanted.begin(), wanted.end(), kept(piece)); };
  if (rank(b) < rank(a)) std::swap(a, b);
  Piece result;
  result.level = Level::Product;
  result.dims = {kept(a), kept(b)};
  const auto oriented = [&](const Piece& piece, bool last, bool is_right) {
    const bool fits = (piece.dims[1] == k) == last;
    if (!fits) return piece.at(Level::Primary) + ".T";
    return is_right ? piece.right_of(Level::Product) : piece.at(Level::Product);
  };
  result.text = oriented(a, true, false) + " @ " + oriented(b, false, true);
  return result;
}

Piece Printer::contract(NodeId id, const Node& node) {
  if (node.over.empty()) {
    if (auto piece = mean(node.args)) return *piece;
    Piece piece = product(node.args);
    if (node.args.size() == 1) piece = {"to_real(" + piece.text + ")", Level::Primary, piece.dims};
    return piece;
  }
  std::vector<NamedDim> wanted;
  if (const auto output = output_of_.find(id); output != output_of_.end()) {
    wanted = program_.params[static_cast<size_t>(output->second)].dims;
  }
  for (const Param& param : program_.params) {  // as the results have them
    if (param.role == Param::Role::Out) broadcast_with(wanted, param.dims);
  }
  for (const Param& param : program_.params) broadcast_with(wanted, param.dims);
  if (auto piece = matmul(node, wanted)) return *piece;
  return reduced("sum", product(node.args), node.over);
}

}  // namespace coda
