#include "compiler/ops/algebraic.h"

#include <algorithm>
#include <map>
#include <string>

namespace coda {

namespace {

constexpr uint8_t kFirst = 0b1, kBoth = 0b11, kBranches = 0b110;

constexpr Algebraic kOps[] = {
    {.name = "neg", .slope = -1},
    {.name = "abs", .scaled = kFirst, .degree = 1, .sign = SignRule::NonNegative},
    {.name = "sign", .scaled = kFirst, .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "sqrt", .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "rsqrt", .sign = SignRule::Positive},
    {.name = "recip", .scaled = kFirst, .degree = -1, .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "exp", .logarithm = "log", .sign = SignRule::Positive},
    {.name = "exp2", .logarithm = "log2", .sign = SignRule::Positive},
    {.name = "expm1", .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "log1p", .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "tanh", .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "sigmoid", .sign = SignRule::Positive},
    {.name = "erf", .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "div", .inverse = "recip", .sign = SignRule::LikeAll, .signed_by = kBoth},
    {.name = "min", .scaled = kBoth, .degree = 1, .sign = SignRule::LikeAll, .signed_by = kBoth},
    {.name = "max", .scaled = kBoth, .degree = 1, .sign = SignRule::LikeAny, .signed_by = kBoth},
    {.name = "pow", .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "eq", .scaled = kBoth},
    {.name = "ne", .scaled = kBoth},
    {.name = "lt", .scaled = kBoth},
    {.name = "le", .scaled = kBoth},
    {.name = "gt", .scaled = kBoth},
    {.name = "ge", .scaled = kBoth},
    {.name = "select", .scaled = kBranches, .degree = 1, .sign = SignRule::LikeAll, .signed_by = kBranches},
    {.name = "to_real", .sign = SignRule::LikeAll, .signed_by = kFirst},
};

constexpr Algebraic kReductions[] = {
    {.name = "sum", .scaled = kFirst, .degree = 1, .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "mean", .scaled = kFirst, .degree = 1, .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "max", .scaled = kFirst, .degree = 1, .sign = SignRule::LikeAny, .signed_by = kFirst},
    {.name = "min", .scaled = kFirst, .degree = 1, .sign = SignRule::LikeAll, .signed_by = kFirst},
    {.name = "absmax", .scaled = kFirst, .degree = 1, .sign = SignRule::NonNegative},
};

/// Of reductions that programs define, by their whole text.
constexpr Algebraic kDefined[] = {
    {.name = kCentredSquares, .sign = SignRule::NonNegative},
};

constexpr Algebraic kNothing{};

/// Records by the address of what they are about, looked up by name once.
template <typename Record>
std::map<const Record*, const Algebraic*> by_record(std::span<const Algebraic> claims,
                                                    const Record* (*find)(std::string_view)) {
  std::map<const Record*, const Algebraic*> map;
  for (const Algebraic& claim : claims) {
    if (const Record* record = find(claim.name)) map[record] = &claim;
  }
  return map;
}

}  // namespace

const Algebraic& algebraic(const Op& op) {
  static const auto map = by_record<Op>(kOps, find_op);
  const auto it = map.find(&op);
  return it == map.end() ? kNothing : *it->second;
}

const Algebraic& algebraic(const Reduction& reduction) {
  if (reduction.custom != nullptr) {
    const auto* known = std::find_if(std::begin(kDefined), std::end(kDefined),
                                     [&](const Algebraic& a) { return a.name == reduction.name; });
    return known == std::end(kDefined) ? kNothing : *known;
  }
  static const auto map = by_record<Reduction>(kReductions, find_reduction);
  const auto it = map.find(&reduction);
  return it == map.end() ? kNothing : *it->second;
}

const Op* reciprocal_op() {
  static const Op* const op = [] {
    const auto it =
        std::find_if(std::begin(kOps), std::end(kOps), [](const Algebraic& a) { return !a.inverse.empty(); });
    return it == std::end(kOps) ? nullptr : find_op(it->inverse);
  }();
  return op;
}

}  // namespace coda
