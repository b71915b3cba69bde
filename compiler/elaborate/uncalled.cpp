#include "compiler/elaborate/uncalled.h"

#include <set>

#include "compiler/elaborate/calls.h"
#include "compiler/elaborate/expressions.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

struct NameCheck {
  Context& context;
  const SourceModule& module;
  std::set<std::string>& known;
  Span span;

  void operator()(const ast::NumberLit&) const {}
  void operator()(const ast::BoolLit&) const {}
  void operator()(const ast::StringLit&) const { context.report(DiagId::E0219, span); }
  void operator()(const ast::NameRef& ref) const {
    // A function as an argument: `combine = f`.
    if (known.count(ref.name) > 0 || context.modules.find_function(module, ref.name)) return;
    const std::vector<std::string> names(known.begin(), known.end());
    context.report(DiagId::E0210, span, {ref.name, suggestion(ref.name, names, "the names here are", "")});
  }
  void operator()(const ast::Unary& unary) const { check(*unary.operand); }
  void operator()(const ast::Binary& binary) const {
    check(*binary.left);
    check(*binary.right);
  }
  void operator()(const ast::Call& call) const {
    Scope scope;
    scope.module = &module;
    if (!is_callable(context, scope, call.callee.text)) report_unknown_function(context, scope, call.callee);
    for (const ast::Argument& argument : call.arguments) check(*argument.value);
  }
  // What is renamed is a dimension of the operand, which is not known here.
  void operator()(const ast::Rename& rename) const { check(*rename.operand); }
  void operator()(const ast::Transpose& transpose) const { check(*transpose.operand); }
  void operator()(const ast::Tuple& tuple) const {
    for (const auto& element : tuple.elements) check(*element);
  }

  void check(const ast::Expr& expr) const {
    const DepthGuard guard(context, expr.span);
    if (guard.ok()) std::visit(NameCheck{context, module, known, expr.span}, expr.node);
  }
};

}  // namespace

void check_uncalled(Context& context, const SourceModule& module, const ast::Function& function) {
  std::set<std::string> known;
  const NameCheck names{context, module, known, function.span};
  for (const ast::Parameter& parameter : function.parameters) {
    if (parameter.default_value) names.check(*parameter.default_value);
  }
  for (const ast::Parameter& parameter : function.parameters) known.insert(parameter.name.text);
  for (const ast::Statement& statement : function.body) {
    if (const auto* let = std::get_if<ast::Let>(&statement)) {
      names.check(*let->value);
      for (const ast::Name& name : let->names) known.insert(name.text);
    } else if (const auto* result = std::get_if<ast::Result>(&statement)) {
      names.check(*result->value);
    }
  }
}

}  // namespace coda
