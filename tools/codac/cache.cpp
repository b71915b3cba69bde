// codac cache: the folder of compiled kernels.
#include "runtime/cache.h"

#include <algorithm>
#include <cstdio>

#include "runtime/assemble.h"
#include "runtime/options.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/environment.h"
#include "tools/codac/report.h"

namespace coda {
namespace {

struct CacheOptions {
  std::string what = "show";
  int64_t megabytes = -1;
};

/// What an entry is of: target and kernel, from its key.
std::string title(const DiskCache::Listed& entry) {
  const std::string_view ptx = CacheKey::find(entry.key, "ptx"), mark = ".entry ";
  const size_t at = ptx.find(mark);
  const std::string_view rest = at == ptx.npos ? std::string_view() : ptx.substr(at + mark.size());
  return std::string(CacheKey::find(entry.key, "target")) + " " + std::string(rest.substr(0, rest.find('(')));
}

/// Lists all entries, or those that are corrupt.
int list(const DiskCache& disk, bool corrupt_only) {
  bool all_good = true;
  for (const DiskCache::Listed& entry : disk.list()) {
    all_good = all_good && entry.good;
    if (corrupt_only && entry.good) continue;
    std::printf("%s %8lld KiB  %s\n", entry.file.c_str(), static_cast<long long>((entry.bytes + 1023) / 1024),
                entry.good ? title(entry).c_str() : "(corrupt, or of another version)");
  }
  return all_good || !corrupt_only ? kExitOk : kExitWrong;
}

int cache(const CacheOptions& options) {
  auto disk = existing_disk_cache();
  const bool removes = options.what == "clear" || options.what == "prune";
  if (!disk && disk.status().code() != Code::NotFound && options.what != "show") {
    return fail(kExitEnvironment, (removes ? "nothing was removed: " : "") + disk.status().message());
  }
  int code = kExitOk;
  if (disk && removes) disk->trim(options.what == "clear" ? 0 : options.megabytes << 20);
  if (disk && (options.what == "ls" || options.what == "verify")) code = list(*disk, options.what == "verify");
  const std::string text = describe_cache();
  std::printf("%s\n", text.c_str());
  return code;
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
  auto* command = app.add_subcommand("cache", "show, check or empty the folder of compiled kernels");
  auto options = std::make_shared<CacheOptions>();
  command
      ->add_option("what", options->what,
                   "show (the default); ls: all entries, those used longest ago first; verify: those that are corrupt; "
                   "prune: remove entries, those used longest ago first, down to a size; clear: remove all")
      ->check(CLI::IsMember({"show", "ls", "verify", "prune", "clear"}));
  command->add_option("--to", options->megabytes, "the size for prune in MiB; else what CODA_CACHE_MB says")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30));
  command->callback([options, &action] {
    if (options->megabytes < 0) options->megabytes = option_number(Option::CacheMegabytes, int64_t{1} << 30);
    action = [options] { return cache(*options); };
  });
}

}  // namespace coda
