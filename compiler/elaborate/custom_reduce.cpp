#include "compiler/elaborate/custom_reduce.h"

#include <cmath>
#include <random>

#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/inline.h"
#include "compiler/elaborate/reductions.h"
#include "compiler/ir/custom_reduction.h"

namespace coda {

namespace {

/// Integers above it are not all f32 values.
constexpr int64_t kLargestExact = int64_t{1} << 24;

std::vector<const ast::Expr*> elements_of(const ast::Expr& expr) {
  const auto* tuple = std::get_if<ast::Tuple>(&expr.node);
  if (tuple == nullptr) return {&expr};
  std::vector<const ast::Expr*> elements;
  for (const auto& element : tuple->elements) elements.push_back(element.get());
  return elements;
}

std::string counted(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The state's words as one tensor: a pack of them, with the dimensions of all.
std::optional<Value> lifted(const CallSite& site, const Value& given) {
  Context& context = site.context;
  const std::vector<Value> words = given.is_tuple() ? given.elements : std::vector<Value>{given};
  if (words.size() > static_cast<size_t>(kMaxStateWords)) {
    context.report(DiagId::E0293, given.span, {counted(words.size(), "value"), "are lifted", "at most 4 words"});
    return std::nullopt;
  }
  std::vector<NodeId> nodes;
  for (const Value& word : words) {
    if (!word.is_tensor() || !require_number(context, word)) return std::nullopt;
    const Node& node = context.graph()[word.node];
    // A coordinate is carried as f32.
    if (node.kind == NodeKind::Index && !node.dim.extent.constant()) {
      context.program.facts.push_back({node.dim.extent, Dim(kLargestExact), std::nullopt, "<=", site.span});
    }
    nodes.push_back(word.node);
  }
  auto dims = broadcast(context, site.span, words);
  if (!dims) return std::nullopt;
  Value result = Value::scalar(nodes[0], given.span);
  if (nodes.size() > 1) {
    result.node = context.graph().apply(pack_op(static_cast<int>(nodes.size())), nodes, site.span);
  }
  result.dims = std::move(*dims);
  return result;
}

std::optional<std::vector<double>> identity_of(const CallSite& site, const ast::Expr& expr) {
  std::vector<double> identity;
  for (const ast::Expr* element : elements_of(expr)) {
    const auto value = evaluate_constant(site.context, *site.scope.module, *element);
    if (!value) return std::nullopt;
    identity.push_back(*value);
  }
  return identity;
}

/// A state of scalars: the graph's inputs from `first` on.
Value state_of(Context& context, size_t words, int first, Span span) {
  std::vector<Value> elements;
  for (size_t w = 0; w < words; ++w) {
    elements.push_back(Value::scalar(context.graph().input(first + static_cast<int>(w), {}, NumClass::Real, {}), span));
  }
  return words == 1 ? elements[0] : Value::tuple(std::move(elements), span);
}

/// Runs the function on two states of its own graph; nothing after a report.
bool run_combine(const CallSite& site, const ast::Expr& expr, CombineProgram& program) {
  Context& context = site.context;
  const auto* name = std::get_if<ast::NameRef>(&expr.node);
  const auto function = name == nullptr ? std::nullopt : context.modules.find_function(*site.scope.module, name->name);
  if (!function || function->function->parameters.size() != 2) {
    context.report(DiagId::E0292, expr.span, {name != nullptr ? name->name : "combine"});
    return false;
  }
  const size_t words = program.identity.size();
  Context apart(context.modules, context.sources, context.diagnostics);
  apart.frames = context.frames;
  const Value a = state_of(apart, words, 0, expr.span);
  const Value b = state_of(apart, words, static_cast<int>(words), expr.span);
  const Value result = inline_values(apart, *site.scope.module, *function, {a, b}, expr.span);
  context.failed = context.failed || apart.failed;
  context.called.insert(apart.called.begin(), apart.called.end());
  if (result.is_poison()) return false;
  const std::vector<Value> results = result.is_tuple() ? result.elements : std::vector<Value>{result};
  if (results.size() != words) {
    context.report(DiagId::E0293, expr.span,
                   {"`" + name->name + "`", "gives " + counted(results.size(), "value"), counted(words, "word")});
    return false;
  }
  for (const Value& value : results) {
    if (!value.is_tensor() || !require_number(apart, value)) {
      context.failed = context.failed || apart.failed;
      return false;
    }
    program.results.push_back(as_real(apart, value.node));
  }
  program.graph = std::move(apart.graph());
  if (foreign_node(program) == kNoNode) return true;
  context.report(DiagId::E0294, expr.span, {name->name});
  return false;
}

std::string text_of(const std::vector<double>& state) {
  std::string text;
  for (const double word : state) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", word);
    text += (text.empty() ? "" : ", ") + std::string(buffer);
  }
  return state.size() == 1 ? text : "(" + text + ")";
}

bool is_near(const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    if (std::fabs(a[i] - b[i]) > 1e-6 * std::max({1.0, std::fabs(a[i]), std::fabs(b[i])})) return false;
  }
  return true;
}

/// What breaks a law of monoids on some states of small positive words; empty if nothing was found.
std::string broken_law(const Reduction& reduction, const std::string& name) {
  using State = std::vector<double>;
  const auto both = [&](State a, const State& b) {
    reduction.combine(a.data(), b.data());
    return a;
  };
  const auto call = [&](const State& a, const State& b) {
    return name + "(" + text_of(a) + ", " + text_of(b) + ")" + " is " + text_of(both(a, b));
  };
  const State identity(reduction.identity, reduction.identity + reduction.state_size);
  std::mt19937 random(1);
  const auto state = [&] {
    State words;
    for (int w = 0; w < reduction.state_size; ++w) words.push_back(0.25 * static_cast<double>(1 + random() % 12));
    return words;
  };
  constexpr int kTrials = 64;
  for (int trial = 0; trial < kTrials; ++trial) {
    const State a = state(), b = state(), c = state();
    if (!is_near(both(a, identity), a)) return call(a, identity);
    if (!is_near(both(a, b), both(b, a))) return call(a, b) + ", and " + call(b, a);
    if (!is_near(both(both(a, b), c), both(a, both(b, c)))) {
      return "of " + text_of(a) + ", " + text_of(b) + " and " + text_of(c) + " together it gives " +
             text_of(both(both(a, b), c)) + " or " + text_of(both(a, both(b, c)));
    }
  }
  return {};
}

Value reduce_by(const CallSite& site) {
  Context& context = site.context;
  const Value given = evaluate(context, site.scope, *site.positional()[0]->value);
  if (given.is_poison()) return given;
  for (const auto& [keyword, what] :
       {std::pair{"over", "what it runs over"}, {"identity", "what it starts from"}, {"combine", "how states meet"}}) {
    if (site.keyword(keyword) == nullptr) return context.fail(DiagId::E0291, site.span, {what});
  }
  const auto body = lifted(site, given);
  if (!body) return Value::poison(site.span);
  const size_t words = given.is_tuple() ? given.elements.size() : 1;
  const ast::Expr& start = *site.keyword("identity")->value;
  CombineProgram program;
  const auto identity = identity_of(site, start);
  if (!identity) return Value::poison(site.span);
  if (identity->size() != words) {
    return context.fail(DiagId::E0293, start.span,
                        {"the identity", "has " + counted(identity->size(), "value"), counted(words, "word")});
  }
  program.identity = *identity;
  const ast::Expr& combine = *site.keyword("combine")->value;
  if (!run_combine(site, combine, program)) return Value::poison(site.span);
  const std::string name = context.quoted(combine.span, "combine");
  if (const std::string broken = broken_law(*custom_reduction(program, 0), name); !broken.empty()) {
    return context.fail(DiagId::E0295, combine.span, {name, broken});
  }
  std::vector<Value> results;
  for (size_t w = 0; w < words; ++w) {
    results.push_back(reduced(site, *custom_reduction(program, static_cast<int>(w)), *body));
    if (results.back().is_poison()) return results.back();
  }
  return words == 1 ? results[0] : Value::tuple(std::move(results), site.span);
}

constexpr Word kReductionWords[] = {
    {"reduce", "reduce(x, over = N, identity = 0, combine = f)", 1, 1, "over identity combine", false, reduce_by},
};

}  // namespace

std::span<const Word> reduction_words() { return kReductionWords; }

}  // namespace coda
