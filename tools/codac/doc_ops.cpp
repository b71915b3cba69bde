// codac doc-ops: the reference of operations, from the tables that define them.
#include <cstdio>
#include <string>

#include "compiler/ops/op.h"
#include "runtime/format/dtype.h"
#include "tools/codac/command.h"

namespace coda {
namespace {

int print(std::string_view text) { return static_cast<int>(text.size()); }

int doc_ops() {
  std::printf("# Operations\n\nElementwise; operands broadcast by the names of their dimensions.\n\n");
  std::printf("| name | example | meaning |\n|---|---|---|\n");
  for (const Op* op : op_table()) {
    std::printf("| `%.*s` | `%.*s` | %.*s |\n", print(op->name), op->name.data(), print(op->example),
                op->example.data(), print(op->doc), op->doc.data());
  }
  std::printf(
      "\nReductions, over the dimensions that `over =` names.\n\n| name | example | meaning |\n|---|---|---|\n");
  for (const Reduction* reduction : reduction_table()) {
    std::printf("| `%.*s` | `%.*s` | %.*s |\n", print(reduction->name), reduction->name.data(),
                print(reduction->example), reduction->example.data(), print(reduction->doc), reduction->doc.data());
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
