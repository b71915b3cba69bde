// The op table: the families in documentation order.
#include <algorithm>
#include <iterator>

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

constexpr Op pack(std::string_view name, int arity) {
  return {.name = name,
          .arity = arity,
          .rule = ClassRule::Real,
          .doc = "Several values as one, for a reduction of the program's own.",
          .example = {},
          .eval = [](std::span<const double> args) { return args[0]; },
          .emit = [](Emitter&, std::span<const Val> args, NumClass) { return args[0]; },
          .packs = true};
}
constexpr Op kPacks[] = {pack("pack2", 2), pack("pack3", 3), pack("pack4", 4)};
static_assert(std::size(kPacks) == kMaxStateWords - 1);

}  // namespace

std::span<const Op* const> op_table() {
  static const std::vector<const Op*> table =
      pointers<Op>({unary_ops(), transcendental_ops(), binary_ops(), logic_ops(), random_ops(), convert_ops()});
  return table;
}

const Op* find_op(std::string_view name) {
  for (const Op& op : kPacks) {
    if (op.name == name) return &op;
  }
  return find(op_table(), name);
}

const Op* pack_op(int count) { return &kPacks[count - 2]; }

std::span<const Reduction* const> reduction_table() {
  static const std::vector<const Reduction*> table = pointers<Reduction>({reductions()});
  return table;
}

const Reduction* find_reduction(std::string_view name) { return find(reduction_table(), name); }

}  // namespace coda
