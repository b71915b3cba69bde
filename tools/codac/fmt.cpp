// codac fmt: programs in canonical form.
#include <cstdio>

#include "dsl/format.h"
#include "runtime/format/file_io.h"
#include "runtime/format/output_file.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"

namespace coda {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false, write = false;
};

int fmt_one(const FmtOptions& options, const std::string& path) {
  constexpr uint64_t kLargestSource = uint64_t{16} << 20;
  auto bytes = read_file(path, kLargestSource);
  if (!bytes) return fail(bytes.status());
  const std::string text(bytes->begin(), bytes->end());
  SourceMap sources;
  Diagnostics diagnostics(sources);
  auto formatted = format(sources.add(path, text), sources, diagnostics);
  std::fputs(diagnostics.render_text().c_str(), stderr);
  if (!formatted) return kExitProgram;
  if (options.check) {
    if (*formatted == text) return kExitOk;
    return fail(kExitWrong, path + " is not in canonical form; `codac fmt -w` rewrites it");
  }
  if (!options.write) {
    std::fputs(formatted->c_str(), stdout);
    return kExitOk;
  }
  if (*formatted == text) return kExitOk;
  Status written = write_output(path, {reinterpret_cast<const uint8_t*>(formatted->data()), formatted->size()});
  return written.ok() ? kExitOk : fail(written);
}

int fmt(const FmtOptions& options) {
  int worst = kExitOk;
  for (const std::string& path : options.files) {
    int code = fmt_one(options, path);
    if (worst == kExitOk || code == kExitProgram) worst = code != kExitOk ? code : worst;
  }
  return worst;
}

}  // namespace

void add_fmt(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("fmt", "print programs in canonical form");
  auto options = std::make_shared<FmtOptions>();
  command->add_option("FILES", options->files, "the .coda programs")->required();
  auto* check = command->add_flag("--check", options->check, "only say which files are not in canonical form");
  command->add_flag("-w,--write", options->write, "write the files back")->excludes(check);
  command->callback([options, &action] { action = [options] { return fmt(*options); }; });
}

}  // namespace coda
