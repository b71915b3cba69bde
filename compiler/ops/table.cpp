// The op table: the families in documentation order.
#include <algorithm>

#include "compiler/ops/families.h"

namespace coda {

namespace {

template <typename Record>
std::vector<const Record*> pointers(std::initializer_list<std::span<const Record>> families) {
  std::vector<const Record*> all;
  for (const auto& family : families) {
    for (const Record& record : family) all.push_back(&record);
  }
  return all;
}

template <typename Record>
const Record* find(std::span<const Record* const> table, std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const Record* record) { return record->name == name; });
  return it == table.end() ? nullptr : *it;
}

}  // namespace

std::span<const Op* const> op_table() {
  static const std::vector<const Op*> table =
      pointers<Op>({unary_ops(), transcendental_ops(), binary_ops(), logic_ops(), convert_ops()});
  return table;
}

const Op* find_op(std::string_view name) { return find(op_table(), name); }

std::span<const Reduction* const> reduction_table() {
  static const std::vector<const Reduction*> table = pointers<Reduction>({reductions()});
  return table;
}

const Reduction* find_reduction(std::string_view name) { return find(reduction_table(), name); }

}  // namespace coda
