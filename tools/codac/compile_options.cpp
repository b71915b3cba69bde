#include "tools/codac/compile_options.h"

#include <cstdio>
#include <cstdlib>

#include "tools/codac/command.h"

namespace coda {
namespace {

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == 0 ? std::optional(value) : std::nullopt;
}

/// `8192`, or `8k` = 8192, `2m`.
std::optional<int64_t> extent(const std::string& text) {
  char* end = nullptr;
  int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || value < 0) return {};
  int shift = *end == 'k' ? 10 : *end == 'm' ? 20 : 0;
  if (shift) ++end;
  return *end == 0 ? std::optional(value << shift) : std::nullopt;
}

}  // namespace

int fail(int code, const std::string& message) {
  std::fprintf(stderr, "codac: %s\n", message.c_str());
  return code;
}

std::optional<std::pair<std::string, std::string>> split_assignment(const std::string& text) {
  size_t at = text.find('=');
  if (at == 0 || at == std::string::npos || at + 1 == text.size()) return {};
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

void CompileOptions::add_to(CLI::App& command) {
  command.add_option("FILE", file, "the .coda program")->required();
  command.add_option("KERNEL", kernel, "which kernel of it; not needed if there is one only");
  add_program_options(command);
}

void CompileOptions::add_program_options(CLI::App& command) {
  command.add_option("--dim", dims, "value of a dimension symbol: M=8192 (8k = 8192); may be repeated")
      ->type_name("NAME=VALUE");
  command.add_option("--type", types, "choice for a type parameter: T=bf16")->type_name("NAME=TYPE");
  command.add_option("--schedule", schedule, "a schedule by name, or an override: tile_m=128")
      ->type_name("NAME[=VALUE]");
  command.add_flag("--time-passes", time_passes, "print how long each step took");
  command.add_flag("--json", json, "diagnostics as JSON on stdout");
}

std::optional<CompileRequest> CompileOptions::request(const std::string& target, Stage stage) const {
  CompileRequest result;
  result.path = file;
  result.routine = kernel;
  result.target = target;
  result.stage = stage;
  for (const auto& text : dims) {
    auto parts = split_assignment(text);
    auto value = parts ? extent(parts->second) : std::nullopt;
    if (!value) {
      fail(kExitUsage, "--dim " + text + ": expected NAME=VALUE with a whole number of at least 0");
      return {};
    }
    result.bindings[parts->first] = *value;
  }
  for (const auto& text : types) {
    auto parts = split_assignment(text);
    if (!parts || !dtype_from_name(parts->second)) {
      fail(kExitUsage, "--type " + text + ": expected NAME=TYPE with an element type such as bf16");
      return {};
    }
    result.types[parts->first] = parts->second;
  }
  for (const auto& text : schedule) {
    if (text.find('=') == std::string::npos) {
      result.schedule_name = text;
      continue;
    }
    auto parts = split_assignment(text);
    auto value = parts ? number(parts->second) : std::nullopt;
    if (!value) {
      fail(kExitUsage, "--schedule " + text + ": expected NAME=VALUE with a number");
      return {};
    }
    result.schedule[parts->first] = *value;
  }
  return result;
}

void CompileOptions::report(const Compilation& compilation) const {
  if (json) {
    std::printf("%s\n", compilation.diagnostics->render_json().c_str());
  } else {
    std::fputs(compilation.diagnostics->render_text().c_str(), stderr);
  }
  if (!time_passes) return;
  double total = 0;
  for (const StepTime& step : compilation.times) {
    std::fprintf(stderr, "%9.3f ms  %s\n", step.milliseconds, step.name.c_str());
    total += step.milliseconds;
  }
  std::fprintf(stderr, "%9.3f ms  in all\n", total);
}

}  // namespace coda
