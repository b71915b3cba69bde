#include "runtime/assemble.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>

#include "runtime/cache.h"
#include "runtime/format/archive.h"
#include "runtime/options.h"
#include "runtime/process.h"
#include "runtime/process_mutex.h"

namespace coda {

namespace {

constexpr std::chrono::seconds kVersionLimit{20}, kAssembleLimit{600};
constexpr uint64_t kMaxCubinBytes = uint64_t{1} << 30;
constexpr std::string_view kFlags = "-v";

/// A folder of temporary files that goes away with it.
class TempFolder {
 public:
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Status make() {
    std::string pattern = option(Option::TempDir) + "/coda-XXXXXX";
    if (!::mkdtemp(pattern.data())) return errno_status("cannot make the folder", pattern, errno);
    path_ = pattern;
    return {};
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

Expected<std::string> assembler_path() {
  const std::string chosen = option(Option::Ptxas);
  if (chosen == "driver") return Status(Code::NotFound, "CODA_PTXAS says 'driver'");
  if (!chosen.empty()) {
    if (is_program(chosen)) return chosen;
    return Status(Code::NotFound, "CODA_PTXAS names '" + chosen + "', which is no program");
  }
  std::string folders = option(Option::Path) + ":/usr/local/cuda/bin";
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string path = folders.substr(begin, end - begin) + "/ptxas";
    if (path[0] == '/' && is_program(path)) return path;
    begin = end + 1;
  }
  return Status(Code::NotFound, "there is no ptxas in $PATH or /usr/local/cuda/bin");
}

/// Adds up the numbers before each occurrence of `unit` in `log`.
template <class F>
void for_numbers_before(const std::string& log, std::string_view unit, F use) {
  for (size_t at = log.find(unit); at != std::string::npos; at = log.find(unit, at + 1)) {
    size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    int number = 0;
    if (std::from_chars(log.data() + begin, log.data() + at, number).ec == std::errc()) use(number);
  }
}

template <class Io, class Item>
void visit(Io& io, Item& assembly) {
  io.bytes(assembly.cubin);
  io.field(assembly.log);
  io.field(assembly.registers);
  io.field(assembly.spill_bytes);
}

std::vector<uint8_t> to_bytes(const Assembly& assembly) {
  Writer writer;
  visit(writer, assembly);
  return writer.take();
}

}  // namespace

Expected<Assembler> find_assembler() {
  auto path = assembler_path();
  if (!path) return path.status();
  static auto* mutex = new ProcessMutex;
  static auto* known = new std::map<std::string, std::string>;  // file, size and time -> version
  struct stat info {};
  if (::stat(path->c_str(), &info) != 0) return errno_status("cannot use", *path, errno);
  const std::string identity = *path + ":" + std::to_string(info.st_size) + ":" + std::to_string(info.st_mtim.tv_sec);
  const std::lock_guard lock(*mutex);
  auto it = known->find(identity);
  if (it == known->end()) {
    auto result = run_process({*path, "--version"}, kVersionLimit);
    if (!result) return result.status();
    if (result->exit_code != 0 || result->output.find("release") == std::string::npos) {
      return Status(Code::NotFound, "'" + *path + " --version' does not say what it is: " + result->output);
    }
    it = known->emplace(identity, result->output).first;
  }
  return Assembler{*path, it->second};
}

void read_assembler_log(const std::string& log, Assembly& assembly) {
  for_numbers_before(log, " registers", [&](int n) { assembly.registers = std::max(assembly.registers, n); });
  for_numbers_before(log, " bytes spill stores", [&](int n) { assembly.spill_bytes += n; });
  for_numbers_before(log, " bytes spill loads", [&](int n) { assembly.spill_bytes += n; });
}

std::string broken_pipeline_line(const std::string& log) {
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    if (const size_t at = line.find("C75"); at != std::string::npos && at + 5 <= line.size() &&
                                            std::isdigit(static_cast<unsigned char>(line[at + 3])) &&
                                            std::isdigit(static_cast<unsigned char>(line[at + 4]))) {
      return line;
    }
    begin = end + 1;
  }
  return "";
}

Expected<Assembly> run_assembler(const Assembler& assembler, std::string_view ptx, const std::string& target) {
  TempFolder folder;
  if (Status status = folder.make(); !status.ok()) return status;
  const std::string input = folder.file("kernel.ptx"), output = folder.file("kernel.cubin");
  const std::span text(reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size());
  if (Status status = write_file_whole(input, text); !status.ok()) return status;
  auto result =
      run_process({assembler.path, "-arch=" + target, std::string(kFlags), input, "-o", output}, kAssembleLimit);
  if (!result) return result.status();
  Assembly assembly;
  assembly.log = std::move(result->output);
  if (result->exit_code != 0) {
    return Status(Code::Driver,
                  "ptxas failed with exit code " + std::to_string(result->exit_code) + ":\n" + assembly.log);
  }
  auto cubin = read_file(output, kMaxCubinBytes);
  if (!cubin) return Status(Code::Driver, "ptxas wrote no code:\n" + assembly.log);
  assembly.cubin = std::move(*cubin);
  read_assembler_log(assembly.log, assembly);
  if (const std::string line = broken_pipeline_line(assembly.log); !line.empty()) {
    return Status(Code::Driver,
                  "the assembler broke the kernel's pipeline, which is a defect of the compiler: " + line);
  }
  return assembly;
}

Expected<Assembly> assemble(std::string_view ptx, const std::string& target) {
  auto assembler = find_assembler();
  if (!assembler) return assembler.status();
  auto make = [&]() -> Expected<std::vector<uint8_t>> {
    auto assembly = run_assembler(*assembler, ptx, target);
    if (!assembly) return assembly.status();
    return to_bytes(*assembly);
  };
  Cache* cache = Cache::of_process();
  CacheKey key;
  key.field("kind", "assembly 1").field("assembler", assembler->version).field("flags", kFlags);
  key.field("target", target).field("ptx", ptx);
  auto bytes = cache ? cache->get_or_make(key, make) : make();
  if (!bytes) return bytes.status();
  Assembly assembly;
  Reader reader(*bytes);
  visit(reader, assembly);
  if (!reader.ok() || !reader.at_end()) return run_assembler(*assembler, ptx, target);
  return assembly;
}

Expected<std::vector<uint8_t>> device_code(const KernelImage& image) {
  if (image.code_kind == CodeKind::Cubin) return image.code;
  if (image.code_kind != CodeKind::Ptx) return Status(Code::Unsupported, "it holds no code for a GPU");
  const std::string_view ptx(reinterpret_cast<const char*>(image.code.data()), image.code.size());
  auto assembly = assemble(ptx, image.target);
  if (assembly) return std::move(assembly->cubin);
  if (assembly.status().code() != Code::NotFound) return assembly.status();
  std::vector<uint8_t> text = image.code;
  text.push_back(0);
  return text;
}

}  // namespace coda
