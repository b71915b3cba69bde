// codac doc-ops: the reference of operations, from the tables that define them.
#include <cstdio>
#include <string>

#include "compiler/ops/op.h"
#include "runtime/format/dtype.h"
#include "tools/codac/command.h"

namespace coda {
namespace {

int print(std::string_view text) { return static_cast<int>(text.size()); }

/// What the operands get of the result's gradient.
std::string gradient_of(const Op& op) {
  std::string text;
  for (int i = 0; i < op.arity; ++i) {
    if (op.grad[i].empty()) continue;
    text += std::string(text.empty() ? "" : ", ") + "`" + std::string(op.grad[i]) + "`";
  }
  return text;
}

int doc_ops() {
  std::printf(
      "# Operations\n\nElementwise; operands broadcast by the names of their dimensions. The last column is what\n"
      "each operand gets of the gradient g of the result r.\n\n");
  std::printf("| name | example | meaning | gradient |\n|---|---|---|---|\n");
  for (const Op* op : op_table()) {
    std::printf("| `%.*s` | `%.*s` | %.*s | %s |\n", print(op->name), op->name.data(), print(op->example),
                op->example.data(), print(op->doc), op->doc.data(), gradient_of(*op).c_str());
  }
  std::printf(
      "\nReductions, over the dimensions that `over =` names; the gradient is an element's.\n\n"
      "| name | example | meaning | gradient |\n|---|---|---|---|\n");
  for (const Reduction* reduction : reduction_table()) {
    const std::string gradient = reduction->grad.empty() ? "" : "`" + std::string(reduction->grad) + "`";
    std::printf("| `%.*s` | `%.*s` | %.*s | %s |\n", print(reduction->name), reduction->name.data(),
                print(reduction->example), reduction->example.data(), print(reduction->doc), reduction->doc.data(),
                gradient.c_str());
  }
  std::printf("\nElement types.\n\n| name | bits | largest finite value |\n|---|---|---|\n");
  for (const DTypeInfo& type : dtype_table()) {
    std::printf("| `%.*s` | %d | %g |\n", print(type.name), type.name.data(), type.bits, type.max_finite);
  }
  return kExitOk;
}

}  // namespace

void add_doc_ops(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doc-ops", "print the reference of operations and element types");
  command->callback([&action] { action = doc_ops; });
}

}  // namespace coda
