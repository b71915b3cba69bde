#include "compiler/elaborate/modules.h"

#include <filesystem>

#include "dsl/parser.h"
#include "dsl/prelude.h"
#include "dsl/suggest.h"
#include "runtime/format/dtype.h"

namespace coda {

ModuleSet::ModuleSet(const ast::Module& main, FileId file, SourceMap& sources, const ImportReader& reader,
                     Diagnostics& diagnostics)
    : sources_(sources), diagnostics_(diagnostics) {
  auto root = std::make_unique<SourceModule>();
  root->file = file;
  root->syntax = &main;
  collect(*root);
  by_path_[std::filesystem::path(sources.path(file)).lexically_normal().string()] = root.get();
  modules_.push_back(std::move(root));
  load_imports(*modules_.front(), reader);

  for (const PreludeFile& source : prelude_files()) {
    auto module = std::make_unique<SourceModule>();
    module->file = sources.add("<prelude>/" + std::string(source.name), std::string(source.text));
    module->is_prelude = true;
    module->owned = parsed(module->file);
    module->syntax = module->owned.get();
    collect(*module);
    prelude_.push_back(module.get());
    modules_.push_back(std::move(module));
  }
}

std::unique_ptr<ast::Module> ModuleSet::parsed(FileId file) {
  auto syntax = parse(file, sources_, diagnostics_);
  return std::make_unique<ast::Module>(syntax ? std::move(*syntax) : ast::Module{});
}

void ModuleSet::collect(SourceModule& module) {
  std::map<std::string, Span> defined;
  auto define = [&](const ast::Name& name) {
    if (dtype_from_name(name.text)) {
      diagnostics_.report(DiagId::E0202, name.span, {name.text});
      return false;
    }
    const auto [it, is_new] = defined.emplace(name.text, name.span);
    if (is_new) return true;
    diagnostics_.report(DiagId::E0201, name.span, {name.text})
        .notes.push_back({it->second, "`" + name.text + "` is first defined here"});
    return false;
  };
  auto report_repeated = [&](const std::vector<ast::Parameter>& parameters) {
    std::map<std::string, Span> seen;
    for (const ast::Parameter& parameter : parameters) {
      const auto [it, is_new] = seen.emplace(parameter.name.text, parameter.name.span);
      if (is_new) continue;
      diagnostics_.report(DiagId::E0201, parameter.name.span, {parameter.name.text})
          .notes.push_back({it->second, "`" + parameter.name.text + "` is first defined here"});
    }
  };
  for (const ast::Item& item : module.syntax->items) {
    if (const auto* function = std::get_if<ast::Function>(&item)) {
      if (define(function->name)) module.functions[function->name.text] = function;
      report_repeated(function->parameters);
    } else if (const auto* routine = std::get_if<ast::Routine>(&item)) {
      if (define(routine->name)) module.routines[routine->name.text] = routine;
    }
  }
  collect_gradients(module, defined);
}

void ModuleSet::collect_gradients(SourceModule& module, std::map<std::string, Span>& defined) {
  std::vector<std::string> names;
  for (const auto& [name, routine] : module.routines) names.push_back(name);
  for (const ast::Item& item : module.syntax->items) {
    const auto* grad = std::get_if<ast::Grad>(&item);
    if (grad == nullptr) continue;
    const auto source = module.routines.find(grad->name.text);
    if (source == module.routines.end()) {
      const std::string way_out = suggestion(grad->name.text, names, "it has", "it has none");
      diagnostics_.report(DiagId::E0282, grad->name.span, {grad->name.text, way_out});
      continue;
    }
    for (const DirectionInfo& direction : kDirections) {
      const std::string name = grad->name.text + direction.suffix;
      const auto [it, is_new] = defined.emplace(name, grad->span);
      if (is_new) {
        module.derived[name] = {grad, source->second, direction.direction};
        continue;
      }
      diagnostics_.report(DiagId::E0201, grad->name.span, {name})
          .notes.push_back({it->second, "`" + name + "` is first defined here"});
      break;
    }
  }
}

void ModuleSet::load_imports(SourceModule& module, const ImportReader& reader) {
  std::map<std::string, std::pair<const SourceModule*, Span>> imported;
  for (const ast::Item& item : module.syntax->items) {
    const auto* import = std::get_if<ast::Import>(&item);
    if (import == nullptr) continue;
    const auto folder = std::filesystem::path(sources_.path(module.file)).parent_path();
    const std::string path = (folder / import->path).lexically_normal().string();
    SourceModule*& known = by_path_[path];
    if (known == nullptr) {
      Expected<std::string> text = reader ? reader(path) : Status(Code::Unsupported, "nothing is imported here");
      if (!text) {
        diagnostics_.report(DiagId::E0203, import->span, {import->path, text.status().message()});
        by_path_.erase(path);
        continue;
      }
      auto loaded = std::make_unique<SourceModule>();
      known = loaded.get();  // before its own imports: files may import each other
      loaded->file = sources_.add(path, std::move(*text));
      loaded->owned = parsed(loaded->file);
      loaded->syntax = loaded->owned.get();
      collect(*loaded);
      modules_.push_back(std::move(loaded));
      load_imports(*modules_.back(), reader);
    }
    const SourceModule* target = by_path_[path];
    for (const auto& [name, function] : target->functions) {
      const auto [it, is_new] = imported.emplace(name, std::make_pair(target, import->span));
      if (is_new || it->second.first == target) continue;
      diagnostics_.report(DiagId::E0204, import->span, {name})
          .notes.push_back({it->second.second, "this import brings `" + name + "` too"});
    }
    module.imports.push_back(target);
  }
}

std::optional<FunctionRef> ModuleSet::find_function(const SourceModule& from, const std::string& name) const {
  auto in = [&](const SourceModule* module) -> std::optional<FunctionRef> {
    const auto it = module->functions.find(name);
    if (it == module->functions.end()) return std::nullopt;
    return FunctionRef{it->second, module};
  };
  if (auto own = in(&from)) return own;
  for (const SourceModule* module : from.imports) {
    if (auto found = in(module)) return found;
  }
  for (const SourceModule* module : prelude_) {
    if (auto found = in(module)) return found;
  }
  return std::nullopt;
}

std::vector<std::string> ModuleSet::visible_functions(const SourceModule& from) const {
  std::vector<std::string> names;
  auto add = [&](const SourceModule* module) {
    for (const auto& [name, function] : module->functions) names.push_back(name);
  };
  add(&from);
  for (const SourceModule* module : from.imports) add(module);
  for (const SourceModule* module : prelude_) add(module);
  return names;
}

}  // namespace coda
