#include "dsl/dump.h"

#include <algorithm>

namespace coda {
namespace {

using namespace ast;  // NOLINT: reads nothing but its nodes

class Dumper {
 public:
  std::string run(const Module& module) {
    if (module.language_version) line("coda " + std::to_string(*module.language_version));
    for (const Item& item : module.items) std::visit([&](const auto& node) { print(node); }, item);
    return std::move(out_);
  }

 private:
  /// Indents what is printed while it lives.
  struct Deeper {
    explicit Deeper(Dumper& dumper) : dumper(dumper) { ++dumper.depth_; }
    ~Deeper() { --dumper.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Dumper& dumper;
  };

  void line(const std::string& text) { out_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + '\n'; }
  void documentation(const std::string& doc) {
    for (size_t begin = 0; begin < doc.size();) {
      const size_t end = std::min(doc.find('\n', begin), doc.size());
      line("| " + doc.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  static std::string joined(const std::vector<Name>& names, const char* separator) {
    std::string text;
    for (size_t i = 0; i < names.size(); ++i) text += (i ? separator : "") + names[i].text;
    return text;
  }

  void print(const Import& import) { line("import \"" + import.path + "\""); }

  void print(const Function& function) {
    line("fn " + function.name.text);
    const Deeper deeper(*this);
    documentation(function.doc);
    for (const Parameter& parameter : function.parameters) print("parameter", parameter);
    for (const Statement& statement : function.body) std::visit([&](const auto& node) { print(node); }, statement);
  }

  void print(const Routine& routine) {
    line((routine.kind == RoutineKind::Kernel ? "kernel " : "block ") + routine.name.text);
    const Deeper deeper(*this);
    documentation(routine.doc);
    for (const TypeParameter& parameter : routine.type_parameters) {
      line("type parameter " + parameter.name.text + ": " + joined(parameter.choices, " | "));
    }
    for (const Parameter& parameter : routine.parameters) print("parameter", parameter);
    for (const Parameter& output : routine.outputs) print("output", output);
    for (const Fact& fact : routine.facts) print(fact);
    for (const auto& [name, value] : routine.schedule) labelled("schedule " + name.text, *value);
    for (const Statement& statement : routine.body) std::visit([&](const auto& node) { print(node); }, statement);
  }

  void print(const Grad& grad) {
    line("grad " + grad.name.text);
    const Deeper deeper(*this);
    for (const Grad::Wrt& wrt : grad.wrt) {
      line("wrt " + wrt.parameter.text + (wrt.accumulate ? " +=" : ""));
      if (wrt.type) print(*wrt.type);
    }
  }

  void print(const std::string& role, const Parameter& parameter) {
    line(role + (parameter.is_inout ? " inout" : "") + (parameter.is_const ? " const" : "") + " " +
         parameter.name.text + (parameter.layout ? " layout " + parameter.layout->text : ""));
    if (parameter.type) print(*parameter.type);
    if (parameter.default_value) {
      const Deeper deeper(*this);
      labelled("default", *parameter.default_value);
    }
  }

  void print(const TypeExpr& type) {
    const Deeper deeper(*this);
    line("type " + type.element.text + (type.is_tensor ? " tensor" : " scalar"));
    const Deeper deeper_still(*this);
    for (const DimAnnotation& dimension : type.dims) {
      labelled("dimension" + (dimension.alias ? " as " + dimension.alias->text : ""), *dimension.extent);
    }
  }

  void print(const Fact& fact) {
    line("fact " + fact.relation);
    const Deeper deeper(*this);
    print(*fact.left);
    if (fact.modulus) labelled("modulus", *fact.modulus);
    print(*fact.right);
  }

  void print(const Let& let) {
    line("let " + joined(let.names, ", "));
    if (let.type) print(*let.type);
    const Deeper deeper(*this);
    print(*let.value);
  }

  void print(const Assign& assign) {
    labelled((assign.accumulate ? "add to " : "assign ") + joined(assign.targets, ", "), *assign.value);
  }

  void print(const Result& result) { labelled("result", *result.value); }

  void labelled(const std::string& label, const Expr& expression) {
    line(label);
    const Deeper deeper(*this);
    print(expression);
  }

  void print(const Expr& expression) {
    std::visit([&](const auto& node) { print(node); }, expression.node);
  }
  void print(const NumberLit& number) { line((number.is_integer ? "integer " : "number ") + number.spelling); }
  void print(const BoolLit& literal) { line(literal.value ? "true" : "false"); }
  void print(const StringLit& literal) { line("\"" + literal.value + "\""); }
  void print(const NameRef& name) { line("name " + name.name); }
  void print(const Unary& unary) { labelled(unary.op, *unary.operand); }
  void print(const Binary& binary) {
    line(binary.op);
    const Deeper deeper(*this);
    print(*binary.left);
    print(*binary.right);
  }
  void print(const Call& call) {
    line("call " + call.callee.text);
    const Deeper deeper(*this);
    for (const Argument& argument : call.arguments) {
      if (argument.keyword) {
        labelled(argument.keyword->text + " =", *argument.value);
      } else {
        print(*argument.value);
      }
    }
  }
  void print(const Rename& rename) {
    line("rename");
    const Deeper deeper(*this);
    print(*rename.operand);
    for (const auto& [extent, name] : rename.renames) labelled("as " + name.text, *extent);
  }
  void print(const Transpose& transpose) { labelled("transpose", *transpose.operand); }
  void print(const Tuple& tuple) {
    line("tuple");
    const Deeper deeper(*this);
    for (const ExprPtr& element : tuple.elements) print(*element);
  }

  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string dump(const Module& module) { return Dumper().run(module); }

}  // namespace coda
