// codac build: compiles a kernel or a block to a file that the runtime loads, and prints what is asked for on the way.
#include <cstdio>

#include "runtime/format/file_io.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"

namespace coda {
namespace {

struct BuildOptions {
  CompileOptions compile;
  std::string arch = "host", output;
  std::vector<std::string> emit;
};

/// OUT if there is one dump, else OUT.NAME; to stdout without OUT.
int write_dump(const BuildOptions& options, const DumpInfo& dump, const std::string& text) {
  if (options.output.empty()) {
    if (options.emit.size() > 1) std::printf("==== %.*s\n", static_cast<int>(dump.name.size()), dump.name.data());
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!text.empty() && text.back() != '\n' && dump.dump != Dump::Cubin) std::printf("\n");
    return kExitOk;
  }
  std::string path = options.output + (options.emit.size() > 1 ? "." + std::string(dump.name) : "");
  Status written = write_file_whole(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return written.ok() ? kExitOk : fail(kExitEnvironment, written.message());
}

int build(const BuildOptions& options) {
  auto request = options.compile.request(options.arch, Stage::Assemble);
  if (!request) return kExitUsage;
  Stage needed = Stage::Check;
  for (const std::string& name : options.emit) {
    auto dump = dump_from_name(name);
    if (!dump) return fail(kExitUsage, "--emit " + name + ": one of " + dump_names());
    request->dumps.insert(*dump);
    needed = std::max(needed, info(*dump).stage);
  }
  if (!options.emit.empty()) request->stage = needed;
  if (options.emit.empty() && options.output.empty()) return fail(kExitUsage, "build needs -o OUT or --emit");

  Compilation compilation = compile(*request);
  options.compile.report(compilation);
  if (!compilation.ok()) return kExitProgram;
  for (Dump dump : request->dumps) {
    auto found = compilation.dumps.find(dump);
    if (found == compilation.dumps.end()) {
      return fail(kExitEnvironment, "no " + std::string(info(dump).name) + " for " + options.arch +
                                        (compilation.assembler_log.empty() ? "" : ": " + compilation.assembler_log));
    }
    if (int code = write_dump(options, info(dump), found->second)) return code;
  }
  if (!options.emit.empty()) return kExitOk;
  const auto image = compilation.take_image();
  Status written = save_image(*image, options.output);
  return written.ok() ? kExitOk : fail(kExitEnvironment, written.message());
}

}  // namespace

void add_build(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("build", "compile a kernel or a block to a file, or print a stage of its compilation");
  auto options = std::make_shared<BuildOptions>();
  options->compile.add_to(*command);
  command->add_option("--arch", options->arch, "what to compile for")->check(CLI::IsMember({"host", "sm_90a"}));
  command->add_option("-o,--output", options->output, "the file to write");
  command->add_option("--emit", options->emit, "stages to print instead: " + dump_names())->delimiter(',');
  command->callback([options, &action] { action = [options] { return build(*options); }; });
}

}  // namespace coda
