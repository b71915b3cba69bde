// Reads the text form back, line by line. Every node is checked by the verifier's argument rules before it is built, so
// that no text can trip the graph's own checks.
#include <map>

#include "compiler/ir/custom_reduction.h"
#include "compiler/ir/remake.h"
#include "compiler/ir/text.h"
#include "compiler/ir/text_cursor.h"
#include "compiler/ir/verify.h"
#include "compiler/ir/words.h"

namespace coda {

namespace {

class Reader {
 public:
  Expected<Program> read(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      Cursor line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      if (line.at_end() || line.eat("//")) continue;
      read_line(line);
      if (!line.at_end()) line.fail("'" + std::string(line.rest()) + "' is left over");
      if (line.failed()) {
        return Status(Code::InvalidArgument, "line " + std::to_string(number) + ": " + line.error());
      }
    }
    if (const auto report = verify(program_); !report.empty()) return Status(Code::InvalidArgument, report.front());
    return std::move(program_);
  }

 private:
  void read_line(Cursor& line) {
    if (line.eat("%")) return read_node(line);
    static const std::map<std::string_view, void (Reader::*)(Cursor&)> lines = {
        {"kernel", &Reader::read_name},   {"block", &Reader::read_block},       {"doc", &Reader::read_doc},
        {"param", &Reader::read_param},   {"bound", &Reader::read_bound},       {"fact", &Reader::read_fact},
        {"output", &Reader::read_output}, {"schedule", &Reader::read_schedule},
    };
    const std::string_view word = line.word();
    const auto it = lines.find(word);
    if (it == lines.end()) return line.fail("'" + std::string(word) + "' begins no line");
    (this->*it->second)(line);
  }

  void read_name(Cursor& line) { program_.name = std::string(line.rest()); }
  void read_block(Cursor& line) {
    program_.is_block = true;
    read_name(line);
  }

  void read_doc(Cursor& line) {
    const std::string_view text = line.rest();
    for (size_t i = 0; i < text.size(); ++i) {
      const bool is_escape = text[i] == '\\' && i + 1 < text.size();
      program_.doc += !is_escape ? text[i] : text[++i] == 'n' ? '\n' : text[i];
    }
  }

  void read_param(Cursor& line) {
    Param param;
    param.name = std::string(line.word());
    line.expect(":");
    const std::string_view type = line.word();
    const auto dtype = dtype_from_name(type);
    if (!dtype) return line.fail("'" + std::string(type) + "' is no element type");
    param.dtype = *dtype;
    param.dims = line.dim_list();
    const std::string_view role = line.word();
    const auto known = from_word<Param::Role>(kRoleWords, role);
    if (!known) return line.fail("'" + std::string(role) + "' is no role of a parameter");
    param.role = *known;
    if (line.eat("layout")) {
      const std::string_view name = line.word();
      const auto layout = layout_from_name(name);
      if (!layout) return line.fail("'" + std::string(name) + "' is no layout");
      param.layout = *layout;
    }
    param.is_const = line.eat("const");
    if (line.eat("default")) param.default_value = line.number<double>();
    program_.params.push_back(std::move(param));
  }

  void read_bound(Cursor& line) {
    const std::string name(line.word());
    line.expect("=");
    program_.bound[name] = line.number<int64_t>();
  }

  void read_fact(Cursor& line) {
    DimFact fact;
    fact.left = line.bracketed_dim();
    if (line.eat("%")) fact.modulus = line.bracketed_dim();
    fact.relation = std::string(line.until("("));
    fact.right = line.bracketed_dim();
    program_.facts.push_back(std::move(fact));
  }

  void read_schedule(Cursor& line) {
    const std::string key(line.word());
    line.expect("=");
    program_.schedule.emplace_back(key, line.number<double>());
  }

  void read_output(Cursor& line) {
    const int param = line.number<int>();
    line.expect("=");
    program_.outputs.push_back({param, reference(line)});
  }

  NodeId reference(Cursor& line) {
    line.expect("%");
    const int label = line.number<int>();
    const auto it = nodes_.find(label);
    if (it == nodes_.end()) line.fail("%" + std::to_string(label) + " is not defined above");
    return it == nodes_.end() ? kNoNode : it->second;
  }

  /// "(item, item)" with `item` reading one.
  template <typename Item>
  void list(Cursor& line, const Item& item) {
    line.expect("(");
    if (line.eat(")")) return;
    do item();
    while (!line.failed() && line.eat(","));
    line.expect(")");
  }

  void read_node(Cursor& line) {
    const int label = line.number<int>();
    line.expect("=");
    const std::string_view word = line.word();
    const auto kind = from_word<NodeKind>(kKindWords, word);
    if (!kind) return line.fail("'" + std::string(word) + "' is no kind of node");
    Node node{.kind = *kind};
    read_details(line, node);
    if (line.failed() || !line.at_end()) return;
    if (auto violation = argument_violation(program_.graph, node)) return line.fail(*violation);
    if (!nodes_.emplace(label, remake(program_.graph, node, node.args)).second)
      line.fail("%" + std::to_string(label) + " is defined twice");
  }

  void read_class(Cursor& line, Node& node) {
    const std::string_view word = line.word();
    const auto known = from_word<NumClass>(kClassWords, word);
    if (!known) line.fail("'" + std::string(word) + "' is no number class");
    node.num_class = known.value_or(NumClass::Real);
  }

  void read_details(Cursor& line, Node& node) {
    auto arg = [&] { node.args.push_back(reference(line)); };
    auto over = [&] {
      line.expect("over");
      node.over = line.dim_list();
    };
    switch (node.kind) {
      case NodeKind::Input:
        node.param = line.number<int>();
        read_class(line, node);
        node.dims = line.dim_list();
        return;
      case NodeKind::Constant:
        node.value = line.number<double>();
        return read_class(line, node);
      case NodeKind::Index:
        node.dim = line.one_dim();
        return;
      case NodeKind::Extent:
        node.map.offset = line.bracketed_dim();
        return;
      case NodeKind::Contract:
        list(line, arg);
        return over();
      case NodeKind::Sum:
        return list(line, [&] {
          node.coefficients.push_back(line.number<double>());
          line.expect("*");
          arg();
        });
      case NodeKind::Apply: {
        const std::string_view name = line.word();
        node.op = find_op(name);
        if (node.op == nullptr) return line.fail("'" + std::string(name) + "' is no op");
        return list(line, arg);
      }
      case NodeKind::View:
      case NodeKind::Put:
        arg();
        node.dim = line.one_dim();
        line.expect("at");
        node.map = line.map();
        return;
      case NodeKind::Reduce: {
        const std::string_view name = line.until(" ");
        node.reduction = find_reduction(name);
        if (name.starts_with("{")) {
          const auto custom = custom_reduction_from_text(name);
          if (custom.ok()) node.reduction = *custom;
        }
        if (node.reduction == nullptr) return line.fail("'" + std::string(name) + "' is no reduction");
        arg();
        return over();
      }
      case NodeKind::Gather:
        arg();
        node.dim = line.one_dim();
        line.expect("by");
        return arg();
      case NodeKind::Cast: {
        const std::string_view name = line.word();
        const auto dtype = dtype_from_name(name);
        if (!dtype) return line.fail("'" + std::string(name) + "' is no element type");
        node.dtype = *dtype;
        return arg();
      }
    }
  }

  Program program_;
  std::map<int, NodeId> nodes_;
};

}  // namespace

Expected<Program> program_from_text(std::string_view text) { return Reader().read(text); }

}  // namespace coda
