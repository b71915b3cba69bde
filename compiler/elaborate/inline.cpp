#include "compiler/elaborate/inline.h"

#include <algorithm>

#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/statements.h"
#include "dsl/foreign_words.h"
#include "dsl/suggest.h"

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
        std::string instead(instead_of_argument(keyword));
        if (instead.empty()) instead = suggestion(keyword, names, "its arguments are", "it takes none");
        context.report(DiagId::E0221, argument.keyword->span, {name, keyword, std::move(instead)});
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

bool is_recursive(Context& context, const FunctionRef& callee, Span at) {
  const auto& frames = context.frames;
  const auto first =
      std::find_if(frames.begin(), frames.end(), [&](const auto& frame) { return frame.function == callee.function; });
  if (first == frames.end()) return false;
  Diagnostic& diagnostic = context.diagnostics.report(DiagId::E0212, at, {callee.function->name.text});
  for (auto frame = first + 1; frame != frames.end(); ++frame) {
    diagnostic.notes.push_back({frame->call, "through this call of `" + frame->function->name.text + "`"});
  }
  return true;
}

bool has_poison(const Value& value) {
  return value.is_poison() || std::any_of(value.elements.begin(), value.elements.end(), has_poison);
}

/// Counts the call; false after a report.
bool enter(Context& context, const FunctionRef& callee, Span name, Span span) {
  if (is_recursive(context, callee, name)) return false;
  if (++context.inlined > kMaxInlined) {
    if (context.inlined == kMaxInlined + 1) context.report(DiagId::E0215, span, {std::to_string(kMaxInlined)});
    return false;
  }
  context.called.insert(callee.function);
  return true;
}

/// Users are shown their call, not the standard library's text: what was made from `first` on counts as said at `span`.
void show_at(Graph& graph, NodeId first, Span span) {
  // Where a node is said is no part of what it is: nothing but messages looks at it.
  for (NodeId id = first; id < graph.size(); ++id) const_cast<Node&>(graph[id]).span = span;
}

Value run_inlined(Context& context, const SourceModule& caller, const FunctionRef& callee, std::vector<Value> values,
                  Span span) {
  const ast::Function& function = *callee.function;
  Scope body;
  body.module = callee.module;
  for (size_t i = 0; i < values.size(); ++i) {
    Variable variable;
    variable.span = function.parameters[i].name.span;
    variable.value = std::move(values[i]);
    body.variables.insert_or_assign(function.parameters[i].name.text, std::move(variable));
  }
  context.frames.push_back({&function, &caller, callee.module, span});
  const NodeId first = context.graph().size();
  Value result = run_function(context, body, function);
  if (callee.module->is_prelude && !caller.is_prelude) show_at(context.graph(), first, span);
  context.frames.pop_back();
  return result;
}

}  // namespace

Value inline_values(Context& context, const SourceModule& caller, const FunctionRef& callee, std::vector<Value> values,
                    Span span) {
  if (!enter(context, callee, span, span)) return Value::poison(span);
  return run_inlined(context, caller, callee, std::move(values), span);
}

Value inline_call(const CallSite& site, const FunctionRef& callee) {
  Context& context = site.context;
  const ast::Function& function = *callee.function;
  if (!enter(context, callee, site.call.callee.span, site.span)) return Value::poison(site.span);
  const auto given = match(site, function);
  if (!given) return Value::poison(site.span);

  Scope defaults;
  defaults.module = callee.module;
  std::vector<Value> values;
  bool poisoned = false;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const ast::Expr* expr = (*given)[i];
    values.push_back(expr != nullptr ? evaluate(context, site.scope, *expr)
                                     : evaluate(context, defaults, *function.parameters[i].default_value));
    poisoned = poisoned || has_poison(values.back());
  }
  if (poisoned) return Value::poison(site.span);
  return run_inlined(context, *site.scope.module, callee, std::move(values), site.span);
}

}  // namespace coda
