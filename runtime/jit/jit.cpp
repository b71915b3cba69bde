// The pipeline, top to bottom.
#include "runtime/jit/jit.h"

#include <algorithm>

#include "compiler/elaborate/elaborate.h"
#include "compiler/ir/text.h"
#include "dsl/dump.h"
#include "dsl/parser.h"
#include "runtime/format/file_io.h"
#include "runtime/jit/block.h"
#include "runtime/jit/generate.h"

namespace coda {
namespace {

/// So many regions of columns are usual (queries, keys and values, each in parts); more look like one a head.
constexpr size_t kFewRegions = 8;

constexpr DumpInfo kDumps[] = {{Dump::Ast, "ast", Stage::Check},
                               {Dump::Ir, "ir", Stage::Elaborate},
                               {Dump::Epilogue, "epilogue", Stage::Lower},
                               {Dump::Llvm, "llvm", Stage::Code},
                               {Dump::Ptx, "ptx", Stage::Code},
                               {Dump::Cubin, "cubin", Stage::Assemble},
                               {Dump::Sass, "sass", Stage::Assemble}};

class Pipeline {
 public:
  Pipeline(const CompileRequest& request, Compilation& result) : request_(request), result_(result) {}

  void run() {
    auto module = timed(result_.times, "parse", [&] { return load(); });
    if (!module) return;
    for (const RoutineInfo& routine : list_routines(*module)) result_.routines.push_back(routine.name);
    if (wants(Dump::Ast)) result_.dumps[Dump::Ast] = dump(*module);
    if (request_.stage == Stage::Check) {
      timed(result_.times, "check", [&] {
        return check_module(*module, file_, *result_.sources, request_.bindings, *result_.diagnostics, disk_reader());
      });
      return;
    }
    auto program =
        timed(result_.times, "elaborate", [&] { return elaborated(*module, request_.bindings, *result_.diagnostics); });
    if (!program) return;
    if (request_.stage == Stage::Elaborate) {
      keep(std::move(*program));
      return;
    }
    if (program->is_block && !lowers(*module, {})) {  // a block that is a kernel as it stands is compiled as one
      keep(std::move(*program));
      return block(*module);
    }
    if (!timed(result_.times, "lower", [&] { return lower(*module, std::move(*program)); })) return;
    if (request_.stage == Stage::Lower) return;
    generate(request_, result_);
  }

 private:
  bool wants(Dump dump) const { return request_.dumps.count(dump) > 0; }

  std::optional<ast::Module> load() {
    constexpr uint64_t kLargestSource = uint64_t{16} << 20;
    std::string text = request_.text.value_or("");
    if (!request_.text) {
      auto bytes = read_file(request_.path, kLargestSource);
      if (!bytes) {
        result_.diagnostics->report(DiagId::E0501, Span(), {bytes.status().message()});
        return {};
      }
      text.assign(bytes->begin(), bytes->end());
    }
    file_ = result_.sources->add(request_.path, std::move(text));
    return parse(file_, *result_.sources, *result_.diagnostics);
  }

  std::optional<Program> elaborated(const ast::Module& module, const Bindings& bound, Diagnostics& diagnostics) {
    ElaborateRequest request;
    request.routine = request_.routine;
    request.bound = bound;
    request.type_choices = request_.types;
    auto program = elaborate(module, file_, *result_.sources, request, diagnostics, disk_reader());
    if (!program) return {};
    for (const auto& [name, value] : request_.schedule) {
      auto same = std::find_if(program->schedule.begin(), program->schedule.end(),
                               [&, key = name](const auto& setting) { return setting.first == key; });
      if (same != program->schedule.end()) same->second = value;
      if (same == program->schedule.end()) program->schedule.emplace_back(name, value);
    }
    return program;
  }

  void keep(Program program) {
    if (wants(Dump::Ir)) result_.dumps[Dump::Ir] = to_text(program);
    result_.program = std::make_unique<Program>(std::move(program));
  }

  /// Binds as few symbols as the kernel's structure allows: none, else the one or two that cut the columns into the
  /// fewest regions (a head's size and that of its rotated part rather than the number of heads), else all those given
  /// less each that can go.
  bool lower(const ast::Module& module, Program all_bound) {
    Bindings bound;
    if (!lowers(module, bound)) {
      bound = request_.bindings;
      auto epilogue = std::make_unique<EpilogueProgram>();
      if (!lower_to_epilogue(all_bound, *epilogue, *result_.diagnostics)) {
        keep(std::move(all_bound));
        return false;
      }
      std::optional<size_t> fewest;
      const auto consider = [&](const Bindings& few) {
        const auto regions = lowers(module, few);
        if (!regions || (fewest && *fewest <= *regions)) return;
        fewest = regions;
        bound = few;
      };
      for (const auto& one : request_.bindings) consider({one});
      const bool few = fewest && *fewest <= kFewRegions;
      for (auto one = request_.bindings.begin(); one != request_.bindings.end() && !few; ++one) {
        for (auto other = std::next(one); other != request_.bindings.end(); ++other) consider({*one, *other});
      }
      for (const auto& [name, value] : request_.bindings) {
        Bindings fewer = bound;
        fewer.erase(name);
        if (!fewest && lowers(module, fewer)) bound = std::move(fewer);
      }
    }
    Diagnostics scratch(*result_.sources);  // what it says has been said
    auto program = elaborated(module, bound, scratch);
    auto epilogue = std::make_unique<EpilogueProgram>();
    if (!program || !lower_to_epilogue(*program, *epilogue, *result_.diagnostics)) return false;
    if (wants(Dump::Epilogue)) result_.dumps[Dump::Epilogue] = to_text(*epilogue);
    keep(std::move(*program));
    result_.epilogue = std::move(epilogue);
    return true;
  }

  void block(const ast::Module& module) {
    const ElaborateBlock elaborate = [&](const Bindings& bound) {
      Diagnostics scratch(*result_.sources);  // what it says has been said
      return elaborated(module, bound, scratch);
    };
    compile_block(request_, elaborate, result_);
  }

  /// The number of regions of the lowered kernel; nothing if it does not lower.
  std::optional<size_t> lowers(const ast::Module& module, const Bindings& bound) {
    Diagnostics scratch(*result_.sources);
    auto program = elaborated(module, bound, scratch);
    EpilogueProgram epilogue;
    if (!program || !lower_to_epilogue(*program, epilogue, scratch)) return {};
    return epilogue.regions.size();
  }

  const CompileRequest& request_;
  Compilation& result_;
  FileId file_ = -1;
};

}  // namespace

const DumpInfo& info(Dump dump) { return kDumps[static_cast<int>(dump)]; }

std::optional<Dump> dump_from_name(std::string_view name) {
  for (const DumpInfo& dump : kDumps) {
    if (dump.name == name) return dump.dump;
  }
  return {};
}

std::string dump_names() {
  std::string names;
  for (const DumpInfo& dump : kDumps) names += (names.empty() ? "" : ", ") + std::string(dump.name);
  return names;
}

std::optional<Image> Compilation::take_image() {
  if (image) return Image(std::move(*image));
  if (plan_image) return Image(std::move(*plan_image));
  return {};
}

Compilation compile(const CompileRequest& request) {
  Compilation result;
  Pipeline(request, result).run();
  return result;
}

}  // namespace coda
