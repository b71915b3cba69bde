// Blocks come from `over`: numbers group the last dimensions, names are dimensions that share one scale. The scale's
// rule is a function of the prelude; elements are divided by the scale as it is stored, saturate, and round to the
// nearest, ties to even.
#include "compiler/elaborate/quantize.h"

#include <algorithm>
#include <cmath>

#include "compiler/elaborate/cut_words.h"
#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/inline.h"
#include "compiler/elaborate/join_words.h"
#include "compiler/elaborate/reductions.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

struct Rule {
  std::string_view round, function;
};
/// How the scale follows from the block's largest magnitude and the type's largest value.
constexpr Rule kPowerRules[] = {{"ceil", "scale_ceil"}, {"floor", "scale_floor"}};
constexpr std::string_view kExactRule = "scale_exact";

std::optional<DType> type_of(const CallSite& site, const ast::Expr& expr) {
  const auto* name = std::get_if<ast::NameRef>(&expr.node);
  if (name != nullptr) {
    if (const auto type = site.context.find_type(site.scope, name->name)) return type;
  }
  site.context.report(DiagId::E0296, expr.span, {site.context.quoted(expr.span, "this")});
  return std::nullopt;
}

/// The values in blocks, and the places of the dimensions that share a scale.
struct Blocks {
  Value value;
  std::vector<NamedDim> shared;
  std::vector<size_t> grouped;  ///< positions of groups in `value`; the elements of each follow
};

std::vector<const ast::Expr*> elements_of(const ast::Expr& expr) {
  const auto* tuple = std::get_if<ast::Tuple>(&expr.node);
  if (tuple == nullptr) return {&expr};
  std::vector<const ast::Expr*> elements;
  for (const auto& element : tuple->elements) elements.push_back(element.get());
  return elements;
}

std::optional<Blocks> blocks_of(const CallSite& site, const Value& value) {
  Context& context = site.context;
  const ast::Argument* over = site.keyword("over");
  if (over == nullptr) {
    context.report(DiagId::E0254, site.span, {"quantize", "32", spelled(value.dims)});
    return std::nullopt;
  }
  const auto elements = elements_of(*over->value);
  bool numbers = true;
  for (const ast::Expr* element : elements) {
    const auto* number = std::get_if<ast::NumberLit>(&element->node);
    numbers = numbers && number != nullptr && number->is_integer && number->integer > 0;
  }
  Blocks blocks{value, {}, {}};
  if (!numbers) {
    const auto positions = positions_of(site, value, *over->value);
    if (!positions) return std::nullopt;
    for (const size_t position : *positions) blocks.shared.push_back(value.dims[position].dim);
    return blocks;
  }
  if (elements.size() > value.dims.size()) {
    context.report(
        DiagId::E0247, over->value->span,
        {context.quoted(value.span, "the operand"), "fewer than " + std::to_string(elements.size()) + " dimensions"});
    return std::nullopt;
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t position = value.dims.size() - elements.size() + 2 * i;
    const Dim size(std::get<ast::NumberLit>(elements[i]->node).integer);
    const NamedDim inner = context.dims.part_of(blocks.value.dims[position].dim, "group", size);
    blocks.value = group_at(context, blocks.value, position, inner, site.span);
    if (blocks.value.is_poison()) return std::nullopt;
    blocks.shared.push_back(inner);
    blocks.grouped.push_back(position);
  }
  return blocks;
}

Value number(const CallSite& site, double value) {
  return Value::scalar(site.context.graph().constant(value), site.span);
}

Value held(const CallSite& site, const Value& value, double low, double high) {
  const Value above = apply_op(site.context, find_op("max"), {value, number(site, low)}, site.span);
  return apply_op(site.context, find_op("min"), {above, number(site, high)}, site.span);
}

/// The scale of each block, as it is stored.
Value scale_of(const CallSite& site, const Blocks& blocks, DType element, DType scale) {
  Context& context = site.context;
  Value amax = Value::scalar(
      context.graph().reduce(find_reduction("absmax"), blocks.value.node, blocks.shared, site.span), site.span);
  for (const ValueDim& d : blocks.value.dims) {
    if (std::find(blocks.shared.begin(), blocks.shared.end(), d.dim) == blocks.shared.end()) amax.dims.push_back(d);
  }
  const bool is_power = scale == DType::UE8M0;
  std::string_view function = is_power ? kPowerRules[0].function : kExactRule;
  if (const ast::Argument* round = site.keyword("round")) {
    const std::string given = context.quoted(round->value->span, "this");
    const Rule* rule = nullptr;
    for (const Rule& known : kPowerRules) rule = known.round == given ? &known : rule;
    if (rule == nullptr || !is_power) {
      return context.fail(DiagId::E0221, round->keyword->span,
                          {"quantize", "round = " + given,
                           is_power ? "write `round = ceil` or `round = floor`" : "only ue8m0 scales have a rule"});
    }
    function = rule->function;
  }
  const auto prelude = context.modules.find_function(*site.scope.module, std::string(function));
  const Value value =
      inline_values(context, *site.scope.module, *prelude, {amax, number(site, info(element).max_finite)}, site.span);
  if (value.is_poison() || scale == DType::F32 || is_power) return cast_to(context, value, scale, site.span);
  // The least scale that is not 0: a power of two below 1.
  const DTypeInfo& type = info(scale);
  const double least = std::ldexp(1.0, 2 - (1 << (type.exponent_bits - 1)) - type.mantissa_bits);
  return cast_to(context, held(site, value, least, type.max_finite), scale, site.span);
}

Value quantize_by(const CallSite& site) {
  Context& context = site.context;
  const auto arguments = site.positional();
  const Value value = evaluate_tensor(context, site.scope, *arguments[0]->value);
  if (value.is_poison() || !require_number(context, value)) return Value::poison(site.span);
  const auto element = type_of(site, *arguments[1]->value);
  if (!element) return Value::poison(site.span);
  const ast::Argument* given = site.keyword("scale");
  const auto scale = given == nullptr ? std::optional(DType::F32) : type_of(site, *given->value);
  if (!scale) return Value::poison(site.span);
  for (const DType type : {*element, *scale}) {
    const bool is_scale_of_integers = type == *scale && info(type).num_class != NumClass::Real;
    if (info(type).num_class == NumClass::Bool || is_scale_of_integers) {
      return context.fail(DiagId::E0296, site.span, {std::string(info(type).name)});
    }
  }
  auto blocks = blocks_of(site, value);
  if (!blocks) return Value::poison(site.span);
  const Value scales = scale_of(site, *blocks, *element, *scale);
  if (scales.is_poison()) return scales;

  const double largest = info(*element).max_finite;
  // By a scale of few bits that is no power of two exactly, as its format defines it; `/` would round twice.
  const bool divides = *scale != DType::F32 && *scale != DType::UE8M0;
  Value scaled = divides ? apply_op(context, find_op("div"), {blocks->value, scales}, site.span)
                         : binary_operator(context, "/", blocks->value, scales, site.span);
  if (info(*element).num_class == NumClass::Int) scaled = apply_op(context, find_op("round"), {scaled}, site.span);
  Value elements =
      cast_to(context, held(site, scaled, *element == DType::U8 ? 0 : -largest, largest), *element, site.span);
  for (size_t i = blocks->grouped.size(); i-- > 0;) {
    const size_t position = blocks->grouped[i];
    elements = flatten_at(context, elements, {position, position + 1}, site.span);
    if (elements.is_poison()) return elements;
  }
  return Value::tuple({elements, scales}, site.span);
}

constexpr Word kQuantizeWords[] = {
    {"quantize", "quantize(z, e4m3, over = 32, scale = ue8m0, round = ceil)", 2, 2, "over scale round", false,
     quantize_by},
};

}  // namespace

std::span<const Word> quantize_words() { return kQuantizeWords; }

}  // namespace coda
