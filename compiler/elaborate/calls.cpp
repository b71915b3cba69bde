#include "compiler/elaborate/calls.h"

#include <algorithm>

#include "compiler/elaborate/custom_reduce.h"
#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/inline.h"
#include "compiler/elaborate/quantize.h"
#include "compiler/elaborate/reductions.h"
#include "dsl/foreign_words.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

constexpr std::string_view kOwnOptions[] = {"dim", "over"};

/// Words that the language has and this version does not.
constexpr std::string_view kLater[] = {"scatter"};

template <typename Range>
bool contains(const Range& range, std::string_view text) {
  return std::find(std::begin(range), std::end(range), text) != std::end(range);
}

std::vector<std::span<const Word>> word_families() {
  return {shape_words(), indexing_words(), reduction_words(), quantize_words()};
}

const Op* find_callable_op(std::string_view name) {
  const Op* op = find_op(name);
  return op != nullptr && op->packs ? nullptr : op;
}

const Word* find_word(std::string_view name) {
  for (const std::span<const Word> family : word_families()) {
    for (const Word& word : family) {
      if (word.name == name) return &word;
    }
  }
  return nullptr;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const std::span<const Word> family : word_families()) {
    for (const Word& word : family) names.emplace_back(word.name);
  }
  for (const Op* op : op_table()) names.emplace_back(op->name);
  for (const Reduction* reduction : reduction_table()) names.emplace_back(reduction->name);
  return names;
}

std::string counted(int count) { return std::to_string(count) + (count == 1 ? " argument" : " arguments"); }

bool has_option(const Word& word, const std::string& keyword) {
  return (" " + std::string(word.options) + " ").find(" " + keyword + " ") != std::string::npos;
}

/// Count, known keywords, no keyword twice.
bool check_arguments(const CallSite& site, const Word& word) {
  const std::string name(word.name), usage(word.usage);
  int positional = 0;
  std::vector<std::string> keywords;
  for (const ast::Argument& argument : site.call.arguments) {
    if (!argument.keyword) {
      ++positional;
      continue;
    }
    const std::string& keyword = argument.keyword->text;
    if (contains(keywords, keyword)) {
      site.context.report(DiagId::E0222, argument.keyword->span, {keyword, name});
      return false;
    }
    keywords.push_back(keyword);
    const bool known = has_option(word, keyword) || (word.names_dims && !contains(kOwnOptions, keyword));
    if (known) continue;
    site.context.report(DiagId::E0221, argument.keyword->span, {name, keyword, "write it as `" + usage + "`"});
    return false;
  }
  if (positional >= word.least && (word.most < 0 || positional <= word.most)) return true;
  const std::string expected = word.most < 0             ? "at least " + counted(word.least)
                               : word.least == word.most ? counted(word.least)
                                                         : std::to_string(word.least) + " to " + counted(word.most);
  site.context.report(DiagId::E0220, site.span, {name, expected, std::to_string(positional), usage});
  return false;
}

Value call_cast(const CallSite& site, DType dtype) {
  const auto arguments = site.positional();
  if (arguments.size() != 1 || site.call.arguments.size() != 1) {
    const std::string& name = site.call.callee.text;
    return site.context.fail(DiagId::E0220, site.span,
                             {name, counted(1), std::to_string(site.call.arguments.size()), name + "(x)"});
  }
  const Value value = evaluate_tensor(site.context, site.scope, *arguments[0]->value);
  return cast_to(site.context, value, dtype, site.span);
}

std::string usage_of(const Op& op) {
  constexpr std::string_view kNames[] = {"x", "y", "z"};
  if (op.rule == ClassRule::Select) return std::string(op.name) + "(c, x, y)";
  std::string usage = std::string(op.name) + "(";
  for (int i = 0; i < op.arity; ++i) usage += (i > 0 ? ", " : "") + std::string(kNames[i]);
  return usage + ")";
}

Value call_op(const CallSite& site, const Op& op) {
  std::vector<Value> operands;
  for (const ast::Argument& argument : site.call.arguments) {
    if (argument.keyword) {
      return site.context.fail(DiagId::E0221, argument.keyword->span,
                               {std::string(op.name), argument.keyword->text, "write it as `" + usage_of(op) + "`"});
    }
    operands.push_back(evaluate_tensor(site.context, site.scope, *argument.value));
  }
  if (static_cast<int>(operands.size()) != op.arity) {
    return site.context.fail(DiagId::E0220, site.span,
                             {std::string(op.name), counted(op.arity), std::to_string(operands.size()), usage_of(op)});
  }
  return apply_op(site.context, &op, std::move(operands), site.span);
}

Value unknown(const CallSite& site) {
  const std::string& name = site.call.callee.text;
  Context& context = site.context;
  for (const ast::Argument* argument : site.positional()) evaluate(context, site.scope, *argument->value);
  if (site.scope.variables.count(name) > 0) return context.fail(DiagId::E0218, site.call.callee.span, {name});
  const SourceModule& module = *site.scope.module;
  if (module.routines.count(name) > 0) {
    context.report(DiagId::E0299, site.call.callee.span, {"a call of a kernel or block, as `" + name + "`,"}).way_out =
        "write what both share as a `fn`, which is inlined where it is called";
    return Value::poison(site.call.callee.span);
  }
  report_unknown_function(context, site.scope, site.call.callee);
  return Value::poison(site.span);
}

}  // namespace

const ast::Argument* CallSite::keyword(std::string_view name) const {
  for (const ast::Argument& argument : call.arguments) {
    if (argument.keyword && argument.keyword->text == name) return &argument;
  }
  return nullptr;
}

const ast::Argument* CallSite::naming() const {
  for (const ast::Argument& argument : call.arguments) {
    if (argument.keyword && !contains(kOwnOptions, argument.keyword->text)) return &argument;
  }
  return nullptr;
}

std::vector<const ast::Argument*> CallSite::positional() const {
  std::vector<const ast::Argument*> arguments;
  for (const ast::Argument& argument : call.arguments) {
    if (!argument.keyword) arguments.push_back(&argument);
  }
  return arguments;
}

bool is_builtin(const std::string& name) {
  return find_word(name) != nullptr || find_callable_op(name) != nullptr || find_reduction(name) != nullptr ||
         contains(kLater, name);
}

bool is_callable(const Context& context, const Scope& scope, const std::string& name) {
  return context.find_type(scope, name) || context.modules.find_function(*scope.module, name) || is_builtin(name);
}

void report_unknown_function(Context& context, const Scope& scope, const ast::Name& callee) {
  std::vector<std::string> candidates = context.modules.visible_functions(*scope.module);
  for (const std::string& builtin : builtin_names()) candidates.push_back(builtin);
  for (const DTypeInfo& type : dtype_table()) candidates.emplace_back(type.name);
  std::string nearest(instead_of_type(callee.text));
  if (nearest.empty()) nearest = nearest_name(callee.text, candidates);
  std::string way_out(instead_of_function(callee.text));
  if (way_out.empty()) {
    way_out = nearest.empty() ? "define it as `fn " + callee.text + "(x) = …`, or import the file that has it"
                              : "did you mean `" + nearest + "`?";
  }
  context.report(DiagId::E0211, callee.span, {callee.text, way_out});
}

Value evaluate_call(Context& context, Scope& scope, const ast::Call& call, Span span) {
  const CallSite site{context, scope, call, span};
  const std::string& name = call.callee.text;
  if (const auto dtype = context.find_type(scope, name)) return call_cast(site, *dtype);
  if (const auto function = context.modules.find_function(*scope.module, name)) return inline_call(site, *function);
  if (const Word* word = find_word(name)) {
    return check_arguments(site, *word) ? word->evaluate(site) : Value::poison(span);
  }
  const Op* op = find_callable_op(name);
  const Reduction* reduction = find_reduction(name);
  // `max(x, y)` is elementwise, `max(x, over = N)` a reduction.
  if (reduction != nullptr && (op == nullptr || site.keyword("over") != nullptr || site.positional().size() == 1)) {
    return reduce_call(site, *reduction);
  }
  if (op != nullptr) return call_op(site, *op);
  if (contains(kLater, name)) {
    context.report(DiagId::E0299, call.callee.span, {"`" + name + "`"}).way_out =
        "turn it round: let what reads the rows take them by index, as `sum(gather(y, M = at), over = J)` where row t "
        "is "
        "made of rows `at[t, j]`";
    return Value::poison(call.callee.span);
  }
  return unknown(site);
}

}  // namespace coda
