#include "compiler/elaborate/statements.h"

#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/signature.h"
#include "compiler/elaborate/store.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

/// The value for each of `names`: a tuple's elements, or the value itself; poison for all after a report.
std::vector<Value> taken_apart(Context& context, Value value, const std::vector<ast::Name>& names, Span span) {
  const size_t count = value.is_tuple() ? value.elements.size() : 1;
  if (value.is_poison() || count == names.size()) {
    if (value.is_tuple()) return value.elements;
    return std::vector<Value>(names.size(), value);
  }
  const std::string given = std::to_string(count) + (count == 1 ? " value" : " values");
  context.report(DiagId::E0225, cover(names.front().span, names.back().span),
                 {std::to_string(names.size()) + (names.size() == 1 ? " name" : " names"), given});
  return std::vector<Value>(names.size(), Value::poison(span));
}

void define_local(Context& context, Scope& scope, const ast::Name& name, Value value) {
  const auto existing = scope.variables.find(name.text);
  if (existing != scope.variables.end()) {
    const bool is_target =
        existing->second.role == Variable::Role::Output || existing->second.role == Variable::Role::InOut;
    const std::string way_out = is_target ? "to store into it, write `" + name.text + " = …` without `let`"
                                          : "choose another name: a name means one value";
    context.report(DiagId::E0261, name.span, {name.text, way_out})
        .notes.push_back({existing->second.span, "`" + name.text + "` is defined here"});
    if (is_target) existing->second.assigned = name.span;
    return;
  }
  Variable variable;
  variable.value = std::move(value);
  variable.span = name.span;
  scope.variables.emplace(name.text, std::move(variable));
}

void run_let(Context& context, Scope& scope, const ast::Let& let) {
  const Value value = evaluate(context, scope, *let.value);
  std::vector<Value> values = taken_apart(context, value, let.names, let.value->span);
  for (size_t i = 0; i < let.names.size(); ++i) {
    if (let.type) values[i] = as_declared(context, scope, values[i], *let.type);
    if (scope.is_routine && values[i].is_tensor()) {
      context.program.value_names.emplace(values[i].node, let.names[i].text);
    }
    define_local(context, scope, let.names[i], std::move(values[i]));
  }
}

void run_assign(Context& context, Scope& scope, const ast::Assign& assign) {
  const Value value = evaluate(context, scope, *assign.value);
  const std::vector<Value> values = taken_apart(context, value, assign.targets, assign.value->span);
  for (size_t i = 0; i < assign.targets.size(); ++i) {
    store(context, scope, assign.targets[i], values[i], assign.accumulate, assign.span);
  }
}

/// The outputs' last values; what is never assigned or never used is reported.
void collect_outputs(Context& context, const Scope& scope, const ast::Routine& routine) {
  bool stores = context.signature_failed;
  for (const auto& [name, variable] : scope.variables) {
    stores = stores || variable.role == Variable::Role::Output || variable.role == Variable::Role::InOut;
  }
  if (!stores) context.report(DiagId::E0229, routine.name.span, {routine.name.text});
  for (size_t i = 0; i < context.program.params.size(); ++i) {
    const Param& param = context.program.params[i];
    const Variable& variable = scope.variables.at(param.name);
    if (param.role == Param::Role::Out || param.role == Param::Role::InOut) {
      if (!variable.assigned.valid()) {
        context.report(param.role == Param::Role::Out ? DiagId::E0263 : DiagId::E0281, param.span, {param.name});
      } else if (!variable.value.is_poison()) {
        context.program.outputs.push_back({static_cast<int>(i), variable.value.node, variable.assigned});
      }
    } else if (!variable.used && !context.failed) {  // what an error hides may use it
      context.report(DiagId::E0280, param.span, {param.name});
    }
  }
}

}  // namespace

Value run_function(Context& context, Scope& scope, const ast::Function& function) {
  for (const ast::Statement& statement : function.body) {
    if (const auto* let = std::get_if<ast::Let>(&statement)) {
      run_let(context, scope, *let);
    } else if (const auto* result = std::get_if<ast::Result>(&statement)) {
      return evaluate(context, scope, *result->value);
    } else if (const auto* assign = std::get_if<ast::Assign>(&statement)) {
      context.report(DiagId::E0120, assign->span, {assign->targets.front().text});
    }
  }
  return Value::poison(function.span);
}

void run_routine(Context& context, Scope& scope, const ast::Routine& routine) {
  for (const ast::Statement& statement : routine.body) {
    if (const auto* let = std::get_if<ast::Let>(&statement)) {
      run_let(context, scope, *let);
    } else if (const auto* assign = std::get_if<ast::Assign>(&statement)) {
      run_assign(context, scope, *assign);
    } else if (const auto* result = std::get_if<ast::Result>(&statement)) {
      context.report(DiagId::E0118, result->span, {"store it in an output as `y = …`, or name it with `let`"});
    }
  }
  collect_outputs(context, scope, routine);
}

}  // namespace coda
