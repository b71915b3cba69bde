// codac build: compiles a kernel or a block to a file that the runtime loads, for one target or several, or prints
// stages of its compilation.
#include <cstdio>

#include "runtime/format/artefact.h"
#include "runtime/format/output_file.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/launch_header.h"
#include "tools/codac/source_hash.h"
#include "tools/codac/tuned.h"

namespace coda {
namespace {

struct BuildOptions {
  CompileOptions compile;
  std::vector<std::string> archs{"host"};
  std::string output, header, tuned;
  std::vector<std::string> emit;
};

Status write_text(const std::string& path, const std::string& text) {
  return write_output(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

/// OUT if there is one dump, else OUT.NAME.
std::string dump_path(const BuildOptions& options, std::string_view name) {
  return options.output + (options.emit.size() > 1 ? "." + std::string(name) : "");
}

/// To stdout without OUT.
int write_dump(const BuildOptions& options, const DumpInfo& dump, const std::string& text) {
  if (options.output.empty()) {
    if (options.emit.size() > 1) std::printf("==== %.*s\n", static_cast<int>(dump.name.size()), dump.name.data());
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!text.empty() && text.back() != '\n' && dump.dump != Dump::Cubin) std::printf("\n");
    return kExitOk;
  }
  Status written = write_text(dump_path(options, dump.name), text);
  return written.ok() ? kExitOk : fail(written);
}

int emit(const BuildOptions& options) {
  if (options.archs.size() > 1) return fail(kExitUsage, "--emit prints stages for one --arch");
  auto request = options.compile.request(options.archs.front(), Stage::Check);
  if (!request) return kExitUsage;
  for (const std::string& name : options.emit) {
    auto dump = dump_from_name(name);
    if (!dump) return fail(kExitUsage, "--emit " + name + ": one of " + dump_names());
    request->dumps.insert(*dump);
    request->stage = std::max(request->stage, info(*dump).stage);
  }
  if (options.output.empty() && options.compile.json) return fail(kExitUsage, "--json needs -o OUT, for --emit prints");
  std::vector<NamedPath> outputs;
  for (Dump dump : request->dumps) outputs.push_back({"-o", dump_path(options, info(dump).name)});
  if (options.output.empty()) outputs.clear();
  if (Status status = check_outputs(outputs, {{"FILE", options.compile.file}}); !status.ok()) return fail(status);
  Compilation compilation = compile(*request);
  options.compile.report(compilation);
  if (!compilation.ok()) return options.compile.exit_code(compilation, request->bindings);
  for (Dump dump : request->dumps) {
    auto found = compilation.dumps.find(dump);
    if (found == compilation.dumps.end()) {
      return fail(kExitEnvironment, "no " + std::string(info(dump).name) + " for " + request->target +
                                        (compilation.assembler_log.empty() ? "" : ": " + compilation.assembler_log));
    }
    if (int code = write_dump(options, info(dump), found->second)) return code;
  }
  return kExitOk;
}

int build(const BuildOptions& options) {
  if (!options.emit.empty()) {
    return options.header.empty() ? emit(options) : fail(kExitUsage, "--header goes with -o OUT, not with --emit");
  }
  if (options.output.empty()) return fail(kExitUsage, "build needs -o OUT or --emit");
  std::vector<NamedPath> outputs{{"-o", options.output}};
  if (!options.header.empty()) outputs.push_back({"--header", options.header});
  std::vector<NamedPath> inputs{{"FILE", options.compile.file}};
  if (!options.tuned.empty()) inputs.push_back({"--tuned", options.tuned});
  if (Status status = check_outputs(outputs, inputs); !status.ok()) return fail(status);
  if (options.compile.json && options.archs.size() > 1) return fail(kExitUsage, "--json goes with one --arch");
  Artefact artefact;
  for (const std::string& arch : options.archs) {
    auto request = options.compile.request(arch, Stage::Assemble);
    if (!request) return kExitUsage;
    options.compile.say_unused(arch);
    if (!options.tuned.empty() && arch != "host") {
      const std::string remark = apply_tuned(options.tuned, "", *request);
      if (!remark.empty()) std::fprintf(stderr, "codac: %s\n", remark.c_str());
    }
    Compilation compilation = compile(*request);
    options.compile.report(compilation);
    if (!compilation.ok()) return options.compile.exit_code(compilation, request->bindings);
    artefact.images.push_back(std::make_shared<const Image>(*compilation.take_image()));
    artefact.sources.push_back(source_hash(*request, signature(*artefact.images.back()).bound));
  }
  Status written = save_artefact(artefact, options.output);
  if (written.ok() && !options.header.empty()) {
    written = write_text(options.header, launch_header(artefact.signature(), options.compile.file));
  }
  return written.ok() ? kExitOk : fail(written);
}

}  // namespace

void add_build(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("build", "compile a kernel or a block to a file, or print a stage of its compilation");
  auto options = std::make_shared<BuildOptions>();
  options->compile.add_to(*command);
  options->compile.add_json(*command);
  command->add_option("--arch", options->archs, "what to compile for; several, as in sm_90a,host, go into one file")
      ->delimiter(',')
      ->check(CLI::IsMember({"host", "sm_90a"}));
  command->add_option("-o,--output", options->output, "the file to write");
  command->add_option("--tuned", options->tuned, "a file of `codac tune`: the schedule measured there, if it has one");
  command->add_option("--header", options->header, "also write a C++ header with typed launches of the program");
  command->add_option("--emit", options->emit, "stages to print instead: " + dump_names())->delimiter(',');
  command->callback([options, &action] { action = [options] { return build(*options); }; });
}

}  // namespace coda
