// codac cache: the folder of compiled kernels.
#include "runtime/cache.h"

#include <algorithm>
#include <cstdio>

#include "runtime/assemble.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/environment.h"
#include "tools/codac/report.h"

namespace coda {
namespace {

struct CacheOptions {
  int64_t megabytes = -1;
  bool clear = false;
};

int cache(const CacheOptions& options) {
  if (options.clear || options.megabytes >= 0) {
    auto disk = existing_disk_cache();
    if (!disk && disk.status().code() != Code::NotFound) {
      return fail(kExitEnvironment, "nothing was removed: " + disk.status().message());
    }
    if (disk) disk->trim(options.clear ? 0 : options.megabytes << 20);
  }
  const std::string text = describe_cache();
  std::printf("%s\n", text.c_str());
  return kExitOk;
}

}  // namespace

std::string describe_cache() {
  auto disk = existing_disk_cache();
  if (!disk) return (disk.status().code() == Code::NotFound ? "empty: " : "not usable: ") + disk.status().message();
  const DiskCache::Usage usage = disk->usage();
  return disk->folder() + ", " + std::to_string(usage.entries) + " entries, " +
         with_prefix(static_cast<double>(usage.bytes), "B");
}

std::string describe_assembler() {
  auto found = find_assembler();
  if (!found) return "none (" + found.status().message() + "): the driver assembles when a kernel is loaded";
  // Of what it prints about itself, the line with the release.
  const std::string& all = found->version;
  const size_t at = std::min(all.find("release"), all.size());
  const size_t begin = all.rfind('\n', at) + 1;
  return found->path + ", " + all.substr(begin, all.find('\n', at) - begin);
}

void add_cache(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("cache", "show or empty the folder of compiled kernels");
  auto options = std::make_shared<CacheOptions>();
  command->add_option("--trim", options->megabytes, "remove entries, least recently used first, down to this many MiB")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30));
  command->add_flag("--clear", options->clear, "remove all entries");
  command->callback([options, &action] { action = [options] { return cache(*options); }; });
}

}  // namespace coda
