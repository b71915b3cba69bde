#include "compiler/elaborate/inline.h"

#include <algorithm>

#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/statements.h"
#include "compiler/elaborate/suggest.h"

namespace coda {

namespace {

/// Far above what a program needs; a few functions that call the next twice each would take for ever.
constexpr int kMaxInlined = 20000;

std::string usage_of(const ast::Function& function) {
  std::string usage = function.name.text + "(";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    usage += (i > 0 ? ", " : "") + function.parameters[i].name.text;
    if (function.parameters[i].default_value) usage += " = …";
  }
  return usage + ")";
}

std::string expected_count(const ast::Function& function) {
  const auto most = function.parameters.size();
  const auto least = static_cast<size_t>(std::count_if(function.parameters.begin(), function.parameters.end(),
                                                       [](const auto& p) { return !p.default_value; }));
  const std::string noun = most == 1 ? " argument" : " arguments";
  return least == most ? std::to_string(most) + noun : std::to_string(least) + " to " + std::to_string(most) + noun;
}

/// The expression given to each parameter, null for its default; nothing after a report.
std::optional<std::vector<const ast::Expr*>> match(const CallSite& site, const ast::Function& function) {
  Context& context = site.context;
  const auto& parameters = function.parameters;
  const std::string& name = function.name.text;
  std::vector<const ast::Expr*> given(parameters.size(), nullptr);
  size_t next = 0;
  for (const ast::Argument& argument : site.call.arguments) {
    size_t at = next;
    if (argument.keyword) {
      const std::string& keyword = argument.keyword->text;
      at = static_cast<size_t>(
          std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name.text == keyword; }) -
          parameters.begin());
      if (at == parameters.size()) {
        std::vector<std::string> names;
        for (const auto& p : parameters) names.push_back(p.name.text);
        context.report(DiagId::E0221, argument.keyword->span,
                       {name, keyword, suggestion(keyword, names, "its arguments are", "it takes none")});
        return std::nullopt;
      }
      if (given[at] != nullptr) {
        context.report(DiagId::E0222, argument.keyword->span, {keyword, name});
        return std::nullopt;
      }
    } else if (next++ >= parameters.size()) {
      const auto count = std::count_if(site.call.arguments.begin(), site.call.arguments.end(),
                                       [](const auto& a) { return !a.keyword; });
      context.report(DiagId::E0220, site.span,
                     {name, expected_count(function), std::to_string(count), usage_of(function)});
      return std::nullopt;
    } else if (given[at] != nullptr) {
      context.report(DiagId::E0222, argument.value->span, {parameters[at].name.text, name});
      return std::nullopt;
    }
    given[at] = argument.value.get();
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (given[i] != nullptr || parameters[i].default_value) continue;
    context.report(DiagId::E0223, site.span, {name, parameters[i].name.text, usage_of(function)});
    return std::nullopt;
  }
  return given;
}

bool is_recursive(const CallSite& site, const FunctionRef& callee) {
  const auto& frames = site.context.frames;
  const auto first =
      std::find_if(frames.begin(), frames.end(), [&](const auto& frame) { return frame.function == callee.function; });
  if (first == frames.end()) return false;
  const Span at = site.call.callee.span;
  Diagnostic& diagnostic = site.context.diagnostics.report(DiagId::E0212, at, {callee.function->name.text});
  for (auto frame = first + 1; frame != frames.end(); ++frame) {
    diagnostic.notes.push_back({frame->call, "through this call of `" + frame->function->name.text + "`"});
  }
  return true;
}

}  // namespace

Value inline_call(const CallSite& site, const FunctionRef& callee) {
  Context& context = site.context;
  const ast::Function& function = *callee.function;
  if (is_recursive(site, callee)) return Value::poison(site.span);
  if (++context.inlined > kMaxInlined) {
    if (context.inlined == kMaxInlined + 1) context.report(DiagId::E0215, site.span, {std::to_string(kMaxInlined)});
    return Value::poison(site.span);
  }
  context.called.insert(&function);
  const auto given = match(site, function);
  if (!given) return Value::poison(site.span);

  Scope body;
  body.module = callee.module;
  Scope defaults;
  defaults.module = callee.module;
  bool poisoned = false;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const ast::Parameter& parameter = function.parameters[i];
    const ast::Expr* expr = (*given)[i];
    Variable variable;
    variable.span = parameter.name.span;
    variable.value = evaluate_tensor(context, expr != nullptr ? site.scope : defaults,
                                     expr != nullptr ? *expr : *parameter.default_value);
    poisoned = poisoned || variable.value.is_poison();
    body.variables.insert_or_assign(parameter.name.text, std::move(variable));
  }
  if (poisoned) return Value::poison(site.span);

  context.frames.push_back({&function, site.scope.module, callee.module, site.span});
  Value result = run_function(context, body, function);
  context.frames.pop_back();
  return result;
}

}  // namespace coda
