#include "compiler/ops/product_types.h"

namespace coda {

namespace {

bool is_narrow(DType type) { return type == DType::E4M3 || type == DType::E5M2; }
bool is_wide(DType type) { return type == DType::BF16 || type == DType::F16 || type == DType::F32; }

}  // namespace

bool can_multiply(DType a, DType b) { return (is_narrow(a) && is_narrow(b)) || (a == b && is_wide(a)); }

std::string way_out_of_types(const std::string& a, DType a_type, const std::string& b, DType b_type) {
  const bool first = is_wide(a_type);
  if (!first && !is_wide(b_type)) {
    return "declare both as bf16, f16 or f32, or both of 8 bits as e4m3 or e5m2: there is no product of other types";
  }
  const std::string type(info(first ? a_type : b_type).name), other = first ? b : a;
  return "store `" + other + "` as " + type + ", or convert it in a `block`, where it is stored anew: `" + type + "(" +
         other + ")`";
}

}  // namespace coda
