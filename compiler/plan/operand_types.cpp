#include "compiler/plan/operand_types.h"

#include "compiler/ops/product_types.h"

namespace coda {

namespace {

bool is_float(DType type) { return info(type).num_class == NumClass::Real; }
bool is_narrow(DType type) { return info(type).bits < 16; }

/// A type with a product for values of both.
DType common_type(DType a, DType b) {
  if (is_narrow(a) && is_narrow(b)) return DType::BF16;
  if (is_narrow(a) || is_narrow(b)) {
    const DType other = is_narrow(a) ? b : a;
    const DType own = is_narrow(a) ? a : b;
    return info(other).bits == 16 && holds_exactly(other, own) ? other : DType::BF16;
  }
  if (a == DType::F32) return b;
  return b == DType::F32 ? a : DType::BF16;
}

}  // namespace

bool holds_exactly(DType wide, DType narrow) {
  const DTypeInfo &w = info(wide), &n = info(narrow);
  if (wide == narrow) return true;
  if (w.num_class != NumClass::Real || n.num_class != NumClass::Real) return false;
  // The least subnormals: a type with as many exponent bits may have fewer digits below its normal range.
  const auto least = [](const DTypeInfo& type) { return type.mantissa_bits + (1 << (type.exponent_bits - 1)); };
  return w.mantissa_bits >= n.mantissa_bits && w.max_finite >= n.max_finite && least(w) >= least(n);
}

bool keeps_any_scale(DType type) { return info(type).exponent_bits >= info(DType::F32).exponent_bits; }

std::optional<DType> written_type(const Graph& graph, const Program& block, NodeId value) {
  const Node& node = graph[value];
  switch (node.kind) {
    case NodeKind::Input:
      return block.params[static_cast<size_t>(node.param)].dtype;
    case NodeKind::Cast:
      return node.dtype;
    case NodeKind::View:
    case NodeKind::Put:
    case NodeKind::Gather:
      return written_type(graph, block, node.args[0]);
    case NodeKind::Sum: {  // pieces beside one another
      std::optional<DType> all;
      for (size_t i = 0; i < node.args.size(); ++i) {
        const auto own = written_type(graph, block, node.args[i]);
        const bool piece = graph[node.args[i]].kind == NodeKind::Put && node.coefficients[i] == 1;
        if (!piece || !own || (all && all != own)) return std::nullopt;
        all = own;
      }
      return all;
    }
    default:
      return std::nullopt;
  }
}

OperandTypes product_types(std::optional<DType> a, std::optional<DType> b, DType storage) {
  for (const auto& type : {a, b}) {
    if (type && !is_float(*type)) return {a, b};
  }
  if (a && b) {
    if (can_multiply(*a, *b)) return {a, b};
    const DType common = common_type(*a, *b);
    return {common, common};
  }
  const auto known = a ? a : b;
  if (!known) return {};
  const DType type = is_narrow(*known) ? DType::BF16 : *known == DType::F32 ? storage : *known;
  return {type, type};
}

}  // namespace coda
