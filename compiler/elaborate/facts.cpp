// Facts and symbols: what the request and `where` fix, what they contradict, and which symbols remain open.
#include <algorithm>

#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/extents.h"
#include "compiler/elaborate/signature.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

std::string spelled(const DimFact& fact) {
  const std::string modulus = fact.modulus ? " % " + fact.modulus->text() : "";
  const std::string relation = fact.relation == "=" && fact.modulus ? "==" : fact.relation;
  return fact.left.text() + modulus + " " + relation + " " + fact.right.text();
}

std::string spelled(const Bindings& bindings, const std::set<std::string>& symbols) {
  std::string text;
  for (const auto& [name, value] : bindings) {
    if (symbols.count(name) > 0) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

/// Whether the fact holds, as far as the bound symbols tell.
std::optional<bool> holds(const DimFact& fact, const Bindings& bound) {
  auto left = fact.left.evaluate(bound);
  const auto right = fact.right.evaluate(bound);
  if (!left || !right) return std::nullopt;
  if (fact.modulus) {
    const auto modulus = fact.modulus->evaluate(bound);
    if (!modulus) return std::nullopt;
    if (*modulus == 0) return false;
    left = ((*left % *modulus) + *modulus) % *modulus;
  }
  if (fact.relation == "=") return *left == *right;
  if (fact.relation == "!=") return *left != *right;
  if (fact.relation == "<") return *left < *right;
  if (fact.relation == "<=") return *left <= *right;
  if (fact.relation == ">") return *left > *right;
  return *left >= *right;
}

/// `Hkv = 8`, or an equation that leaves one symbol open once the others are bound: its value.
std::optional<std::pair<std::string, int64_t>> solve(const DimFact& fact, const Bindings& bound) {
  if (fact.relation != "=" || fact.modulus) return std::nullopt;
  const Dim difference = (fact.left - fact.right).substitute(bound);
  const auto symbols = difference.symbols();
  if (symbols.size() != 1) return std::nullopt;
  const std::string& name = *symbols.begin();
  const auto linear = difference.linear_in(name);
  if (!linear) return std::nullopt;
  const auto value = (Dim(0) - linear->second).divided_by(linear->first);
  const auto constant = value ? value->constant() : std::nullopt;
  if (!constant) return std::nullopt;
  return std::make_pair(name, *constant);
}

void bind_request(Context& context, const ast::Routine& routine, const ElaborateRequest& request) {
  for (const auto& [name, value] : request.bound) {
    const auto* entry = context.dims.find(name);
    if (entry == nullptr || !entry->is_symbol) {
      std::vector<std::string> symbols;
      for (const auto& [known, dim] : context.dims.entries()) {
        if (dim.is_symbol) symbols.push_back(known);
      }
      if (request.ignore_unknown_symbols) continue;
      context.report(DiagId::E0206, routine.name.span,
                     {routine.name.text, name, suggestion(name, symbols, "its dimensions are", "it has none")});
    } else if (value < 0) {
      context.report(DiagId::E0238, entry->span, {name, std::to_string(value)});
    } else {
      context.program.bound[name] = value;
    }
  }
}

void read_facts(Context& context, Scope& scope, const ast::Routine& routine) {
  for (const ast::Fact& fact : routine.facts) {
    const auto left = evaluate_extent(context, scope, *fact.left);
    const auto right = evaluate_extent(context, scope, *fact.right);
    std::optional<ExtentRef> modulus;
    if (fact.modulus) modulus = evaluate_extent(context, scope, *fact.modulus);
    if (!left || !right || (fact.modulus && !modulus)) continue;
    DimFact read{left->extent, right->extent, std::nullopt, fact.relation == "==" ? "=" : fact.relation, fact.span};
    if (modulus) read.modulus = modulus->extent;
    context.program.facts.push_back(std::move(read));
  }
}

void bind_facts(Context& context) {
  Program& program = context.program;
  for (bool changed = true; changed;) {
    changed = false;
    for (const DimFact& fact : program.facts) {
      const auto solved = solve(fact, program.bound);
      if (!solved || solved->second < 0) continue;
      changed = program.bound.emplace(solved->first, solved->second).second || changed;
    }
  }
}

void report_broken(Context& context, const DimFact& fact) {
  auto symbols = fact.left.symbols();
  symbols.merge(fact.right.symbols());
  const std::string values = spelled(context.program.bound, symbols);
  context.report(DiagId::E0236, fact.span, {spelled(fact), values.empty() ? "for any size" : "for " + values});
}

void check_bound(Context& context) {
  const Program& program = context.program;
  for (const DimFact& fact : program.facts) {
    if (!holds(fact, program.bound).value_or(true)) report_broken(context, fact);
  }
  for (const Param& param : program.params) {
    for (const NamedDim& dim : param.dims) {
      const auto symbols = dim.extent.symbols();
      const bool all_bound =
          std::all_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return program.bound.count(s) > 0; });
      const auto value = dim.extent.evaluate(program.bound);
      if (!all_bound || (value && *value >= 0)) continue;
      context.report(DiagId::E0279, param.span,
                     {dim.extent.text(), param.name, symbols.empty() ? "" : " for " + spelled(program.bound, symbols)});
    }
  }
}

/// A symbol is determined if it is bound, or alone and linear in a tensor's extent once others are determined.
void check_determined(Context& context) {
  const Program& program = context.program;
  std::set<std::string> known;
  for (const auto& [name, value] : program.bound) known.insert(name);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Param& param : program.params) {
      for (const NamedDim& dim : param.dims) {
        std::vector<std::string> open;
        for (const std::string& symbol : dim.extent.symbols()) {
          if (known.count(symbol) == 0) open.push_back(symbol);
        }
        if (open.size() == 1 && dim.extent.linear_in(open[0])) changed = known.insert(open[0]).second || changed;
      }
    }
  }
  for (const auto& [name, entry] : context.dims.entries()) {
    if (entry.is_symbol && known.count(name) == 0) context.report(DiagId::E0207, entry.span, {name});
  }
}

}  // namespace

void require_not_negative(Context& context, const Dim& dim, Span span) {
  DimFact fact{Dim(), Dim(), std::nullopt, "<=", span};
  for (const auto& [monomial, coefficient] : dim.monomials()) {
    (coefficient < 0 ? fact.left : fact.right) =
        (coefficient < 0 ? fact.left - monomial * Dim(coefficient) : fact.right + monomial * Dim(coefficient));
  }
  if (fact.left.is_zero()) return;  // symbols are not negative
  Program& program = context.program;
  const bool known = std::any_of(program.facts.begin(), program.facts.end(), [&](const DimFact& other) {
    return other.left == fact.left && other.right == fact.right && other.relation == fact.relation && !other.modulus;
  });
  if (known) return;
  if (!holds(fact, program.bound).value_or(true)) report_broken(context, fact);
  program.facts.push_back(std::move(fact));
}

void elaborate_facts(Context& context, Scope& scope, const ast::Routine& routine, const ElaborateRequest& request) {
  read_facts(context, scope, routine);
  bind_request(context, routine, request);
  bind_facts(context);
  check_bound(context);
  // A parameter that could not be read may be the one that determines a symbol.
  if (!context.signature_failed) check_determined(context);
}

}  // namespace coda
