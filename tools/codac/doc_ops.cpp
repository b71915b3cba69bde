// codac doc-ops: the reference of functions, operations, types and settings, from what defines them. docs/functions.md
// is its output.
#include <cstdio>
#include <string>

#include "compiler/ir/schedule_settings.h"
#include "compiler/ops/op.h"
#include "dsl/parser.h"
#include "dsl/prelude.h"
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

/// Lines of a comment as one, fit for a cell of a table.
std::string as_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '\n' ? std::string(" ") : c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

/// "rmsnorm(x, gain, eps = 1e-6)"
std::string usage_of(const ast::Function& function, const SourceMap& sources) {
  std::string text = function.name.text + "(";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const ast::Parameter& parameter = function.parameters[i];
    text += (i > 0 ? ", " : "") + parameter.name.text;
    if (parameter.default_value) text += " = " + std::string(sources.text(parameter.default_value->span));
  }
  return text + ")";
}

/// The comment that a file begins with, and a table of its functions with the comment above each.
void print_prelude_file(const PreludeFile& file) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId id = sources.add(std::string(file.name), std::string(file.text));
  const auto module = parse(id, sources, diagnostics);
  if (!module) return;
  std::string heading;
  for (size_t at = 0; file.text.substr(at).starts_with("//");) {
    const size_t end = std::min(file.text.find('\n', at), file.text.size());
    heading += (heading.empty() ? "" : "\n") + std::string(file.text.substr(at + 3, end - at - 3));
    at = end + 1;
  }
  const std::string name(file.name.substr(0, file.name.find('.')));
  std::printf("\n### %s\n\n%s\n\n| function | meaning |\n|---|---|\n", name.c_str(), heading.c_str());
  for (const ast::Item& item : module->items) {
    const auto* function = std::get_if<ast::Function>(&item);
    if (function == nullptr) continue;
    std::printf("| `%s` | %s |\n", usage_of(*function, sources).c_str(), as_cell(function->doc).c_str());
  }
}

int doc_ops() {
  std::printf(
      "# Functions\n\nWhat a program may call, from the sources that define it: `codac doc-ops` prints this page. The "
      "words"
      " of shape\n(`halves`, `group` …), `index`, `gather` and `quantize` are in the [language's"
      " reference](../grammar/README.md).\n\n## The standard library\n\nWritten in the language itself, in"
      " [dsl/prelude](../dsl/prelude). A file may define a function of the same name for itself.\n");
  for (const PreludeFile& file : prelude_files()) print_prelude_file(file);
  std::printf(
      "\n## Operations\n\nElementwise; operands broadcast by the names of their dimensions. The last column is what\n"
      "each operand gets of the gradient g of the result r.\n\n");
  std::printf("| name | example | meaning | gradient |\n|---|---|---|---|\n");
  for (const Op* op : op_table()) {
    std::printf("| `%.*s` | `%.*s` | %.*s | %s |\n", print(op->name), op->name.data(), print(op->example),
                op->example.data(), print(op->doc), op->doc.data(), gradient_of(*op).c_str());
  }
  std::printf(
      "\n## Reductions\n\nOver the dimensions that `over =` names; the gradient is an element's.\n\n"
      "| name | example | meaning | gradient |\n|---|---|---|---|\n");
  for (const Reduction* reduction : reduction_table()) {
    const std::string gradient = reduction->grad.empty() ? "" : "`" + std::string(reduction->grad) + "`";
    std::printf("| `%.*s` | `%.*s` | %.*s | %s |\n", print(reduction->name), reduction->name.data(),
                print(reduction->example), reduction->example.data(), print(reduction->doc), reduction->doc.data(),
                gradient.c_str());
  }
  std::printf("\n## Element types\n\n| name | bits | largest finite value |\n|---|---|---|\n");
  for (const DTypeInfo& type : dtype_table()) {
    std::printf("| `%.*s` | %d | %g |\n", print(type.name), type.name.data(), type.bits, type.max_finite);
  }
  std::printf(
      "\n## Settings of a schedule\n\nOf a program's `schedule { … }` and of `--schedule NAME=VALUE`; what none names "
      "is"
      " estimated.\n\n| name | meaning |\n|---|---|\n");
  for (const ScheduleSetting& setting : schedule_settings()) {
    std::printf("| `%.*s` | %.*s |\n", print(setting.name), setting.name.data(), print(setting.doc),
                setting.doc.data());
  }
  return kExitOk;
}

}  // namespace

void add_doc_ops(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "doc-ops", "print the reference of functions, operations, element types and schedule settings");
  command->callback([&action] { action = doc_ops; });
}

}  // namespace coda
