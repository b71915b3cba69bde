#include "compiler/elaborate/elaborate.h"

#include <algorithm>
#include <set>

#include "compiler/elaborate/context.h"
#include "compiler/elaborate/gradients.h"
#include "compiler/elaborate/signature.h"
#include "compiler/elaborate/statements.h"
#include "compiler/elaborate/uncalled.h"
#include "dsl/suggest.h"
#include "runtime/format/file_io.h"

namespace coda {

namespace {

/// Longest chain of values that each need the one before. Passes over the graph recurse.
constexpr int kMaxChain = 2000;

/// Reports the first value beyond it. Arguments come before what they are arguments of.
void check_chains(Context& context) {
  const Graph& graph = context.graph();
  std::vector<int> chain(static_cast<size_t>(graph.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    int longest = 0;
    for (const NodeId arg : graph[id].args) longest = std::max(longest, chain[static_cast<size_t>(arg)]);
    chain[static_cast<size_t>(id)] = longest + 1;
    if (longest < kMaxChain) continue;
    context.report(DiagId::E0216, graph[id].span);
    return;
  }
}

Program elaborate_routine(const ModuleSet& modules, const SourceMap& sources, const ast::Routine& routine,
                          const ElaborateRequest& request, Diagnostics& diagnostics,
                          std::set<const ast::Function*>* called = nullptr) {
  Context context(modules, sources, diagnostics);
  Scope scope;
  scope.module = &modules.main();
  scope.is_routine = true;
  elaborate_signature(context, scope, routine, request);
  run_routine(context, scope, routine);
  check_chains(context);
  if (called != nullptr) called->merge(context.called);
  return std::move(context.program);
}

std::vector<const ast::Routine*> routines_of(const ast::Module& module) {
  std::vector<const ast::Routine*> routines;
  for (const ast::Item& item : module.items) {
    if (const auto* routine = std::get_if<ast::Routine>(&item)) routines.push_back(routine);
  }
  return routines;
}

const ast::Routine* find_routine(const ast::Module& module, const SourceModule& known, FileId file,
                                 const std::string& name, Diagnostics& diagnostics) {
  const auto routines = routines_of(module);
  std::vector<std::string> names;
  for (const auto& [derived, grad] : known.derived) names.push_back(derived);
  for (const ast::Routine* routine : routines) {
    if (routine->name.text == name) return routine;
    names.push_back(routine->name.text);
  }
  if (name.empty() && routines.size() == 1) return routines[0];
  const Span start{file, 0, 0};
  if (routines.empty()) {
    diagnostics.report(DiagId::E0226, start);
  } else if (name.empty()) {
    diagnostics.report(DiagId::E0228, start, {std::to_string(routines.size()), listed(names)});
  } else {
    diagnostics.report(DiagId::E0227, start, {name, suggestion(name, names, "it has", "")});
  }
  return nullptr;
}

ptrdiff_t errors_of(const Diagnostics& diagnostics) {
  const auto& all = diagnostics.all();
  return std::count_if(all.begin(), all.end(), [](const Diagnostic& d) { return d.severity == Severity::Error; });
}

}  // namespace

std::optional<Program> elaborate(const ast::Module& module, FileId file, SourceMap& sources,
                                 const ElaborateRequest& request, Diagnostics& diagnostics,
                                 const ImportReader& reader) {
  const ModuleSet modules(module, file, sources, reader, diagnostics);
  const auto derived = modules.main().derived.find(request.routine);
  const bool is_derived = derived != modules.main().derived.end();
  const ast::Routine* routine =
      is_derived ? derived->second.source : find_routine(module, modules.main(), file, request.routine, diagnostics);
  if (routine == nullptr) return std::nullopt;
  Program program = elaborate_routine(modules, sources, *routine, request, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (!is_derived) return program;
  auto gradient = elaborate_gradient(program, *derived->second.grad, diagnostics);
  if (!gradient) return std::nullopt;
  return std::move(gradient->part(derived->second.direction));
}

std::optional<Gradient> elaborate_gradient(const ast::Module& module, FileId file, SourceMap& sources,
                                           const ElaborateRequest& request, Diagnostics& diagnostics,
                                           const ImportReader& reader) {
  const ModuleSet modules(module, file, sources, reader, diagnostics);
  const ast::Routine* routine = find_routine(module, modules.main(), file, request.routine, diagnostics);
  if (routine == nullptr) return std::nullopt;
  const Program program = elaborate_routine(modules, sources, *routine, request, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  const auto derived = modules.main().derived.find(routine->name.text + kDirections[0].suffix);
  if (derived != modules.main().derived.end()) return elaborate_gradient(program, *derived->second.grad, diagnostics);
  return differentiate(program, all_parameters(program), routine->span, diagnostics);
}

std::vector<RoutineInfo> list_routines(const ast::Module& module) {
  std::vector<RoutineInfo> list;
  for (const ast::Routine* routine : routines_of(module)) {
    list.push_back({routine->name.text, routine->doc, routine->kind == ast::RoutineKind::Block, routine->span});
  }
  for (const ast::Item& item : module.items) {
    const auto* grad = std::get_if<ast::Grad>(&item);
    if (grad == nullptr) continue;
    const std::string& name = grad->name.text;
    for (const DirectionInfo& direction : kDirections) {
      list.push_back({name + direction.suffix, doc_of(direction, name), true, grad->span});
    }
  }
  return list;
}

bool check_module(const ast::Module& module, FileId file, SourceMap& sources, const Bindings& bound,
                  Diagnostics& diagnostics, const ImportReader& reader) {
  const ModuleSet modules(module, file, sources, reader, diagnostics);
  std::set<const ast::Function*> called;
  for (const ast::Routine* routine : routines_of(module)) {
    ElaborateRequest request;
    request.bound = bound;
    request.ignore_unknown_symbols = true;
    const auto before = errors_of(diagnostics);
    const Program program = elaborate_routine(modules, sources, *routine, request, diagnostics, &called);
    for (const auto& [name, derived] : modules.main().derived) {
      const bool once = derived.source == routine && derived.direction == Direction::Whole;
      if (once && errors_of(diagnostics) == before) elaborate_gradient(program, *derived.grad, diagnostics);
    }
    for (const ast::TypeParameter& parameter : routine->type_parameters) {
      for (size_t i = 1; i < parameter.choices.size(); ++i) {
        ElaborateRequest other = request;
        other.type_choices[parameter.name.text] = parameter.choices[i].text;
        elaborate_routine(modules, sources, *routine, other, diagnostics);
      }
    }
  }
  Context context(modules, sources, diagnostics);
  for (const auto& [name, function] : modules.main().functions) {
    if (called.count(function) == 0) check_uncalled(context, modules.main(), *function);
  }
  return !diagnostics.has_errors();
}

ImportReader disk_reader() {
  return [](const std::string& path) -> Expected<std::string> {
    constexpr uint64_t kLargestSource = uint64_t{16} << 20;
    const auto bytes = read_file(path, kLargestSource);
    if (!bytes) return bytes.status();
    return std::string(bytes->begin(), bytes->end());
  };
}

}  // namespace coda
