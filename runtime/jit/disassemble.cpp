#include "runtime/jit/disassemble.h"

#include <unistd.h>

#include "runtime/assemble.h"
#include "runtime/format/file_io.h"
#include "runtime/options.h"
#include "runtime/process.h"

namespace coda {
namespace {

struct Tool {
  const char* name;
  std::vector<std::string> flags;
};

}  // namespace

Expected<std::string> disassemble(std::span<const uint8_t> cubin) {
  auto assembler = find_assembler();
  if (!assembler) return assembler.status();
  const std::string folder = assembler->path.substr(0, assembler->path.rfind('/') + 1);
  std::string path = option(Option::TempDir) + "/coda-sass-XXXXXX";
  FileHandle file(mkstemp(path.data()));
  if (!file) return errno_status("cannot create", path, errno);
  Status written = write_all(file, path, cubin);
  Expected<std::string> text = Status(Code::NotFound, "neither nvdisasm nor cuobjdump was found in " + folder);
  for (const Tool& tool : {Tool{"nvdisasm", {"-c"}}, Tool{"cuobjdump", {"-sass"}}}) {
    if (!written.ok() || access((folder + tool.name).c_str(), X_OK) != 0) continue;
    std::vector<std::string> command{folder + tool.name};
    command.insert(command.end(), tool.flags.begin(), tool.flags.end());
    command.push_back(path);
    auto run = run_process(command, std::chrono::seconds(60));
    if (run && run->exit_code == 0) {
      text = std::move(run->output);
      break;
    }
    text = run ? Status(Code::Unsupported, tool.name + std::string(" failed: ") + run->output) : run.status();
  }
  unlink(path.c_str());
  return written.ok() ? std::move(text) : Expected<std::string>(written);
}

}  // namespace coda
