// codac doctor: what was found on this machine, and what is missing for which use.
#include <cstdio>
#include <thread>

#include "runtime/device.h"
#include "runtime/options.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/environment.h"
#include "tools/codac/report.h"

namespace coda {
namespace {

struct DoctorOptions {
  std::string need;
  bool quiet = false;
};

void say(const DoctorOptions& options, const std::string& label, const std::string& text) {
  if (!options.quiet) std::printf("%-10s %s\n", label.c_str(), text.c_str());
}

/// Prints the devices; true if one of them runs the GPU code.
bool cuda(const DoctorOptions& options) {
  auto found = driver();
  if (!found) {
    say(options, "cuda", "not usable: " + found.status().message() + "; kernels run on the CPU");
    return false;
  }
  const int version = (*found)->version();
  say(options, "cuda", "driver for CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
  bool usable = false;
  auto count = Device::count();
  for (int ordinal = 0; count && ordinal < *count; ++ordinal) {
    auto device = Device::get(ordinal);
    if (!device) {
      say(options, "device " + std::to_string(ordinal), device.status().message());
      continue;
    }
    Status runs = (*device)->runs("sm_90a");
    usable = usable || runs.ok();
    say(options, "device " + std::to_string(ordinal),
        (*device)->name() + ", " + (*device)->arch() + ", " + std::to_string((*device)->sm_count()) + " SMs, " +
            with_prefix(static_cast<double>((*device)->memory_bytes()), "B") +
            (runs.ok() ? "" : "; not used: " + runs.message()));
  }
  return usable;
}

int doctor(const DoctorOptions& options) {
  say(options, "codac", version_text());
  say(options, "cpu", std::to_string(std::thread::hardware_concurrency()) + " cores");
  const bool usable = cuda(options);
  say(options, "assembler", describe_assembler());
  say(options, "cache", describe_cache());
  for (const OptionInfo& info : option_table()) {
    if (info.name.substr(0, 5) != "CODA_") continue;
    const std::string value = option(static_cast<Option>(&info - option_table().data()));
    if (value != info.fallback) say(options, "set", std::string(info.name) + "=" + value);
  }
  if (options.need == "cuda" && !usable) return kExitEnvironment;
  return kExitOk;
}

}  // namespace

std::string version_text() { return "codac " CODA_VERSION " (LLVM " CODA_LLVM_VERSION ")"; }

void add_doctor(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doctor", "print what was found on this machine");
  auto options = std::make_shared<DoctorOptions>();
  command->add_option("--need", options->need, "exit with 4 if this is not usable")->check(CLI::IsMember({"cuda"}));
  command->add_flag("--quiet", options->quiet, "print nothing");
  command->callback([options, &action] { action = [options] { return doctor(*options); }; });
}

}  // namespace coda
