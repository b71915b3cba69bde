#include "tools/codac/compile_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "tools/codac/command.h"

namespace coda {
namespace {

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// `8192`, or `8k` = 8192, `2m`.
std::optional<int64_t> extent(const std::string& text) {
  int64_t value = 0;
  const char* stop = text.data() + text.size();
  const auto read = std::from_chars(text.data(), stop, value);
  if (read.ec != std::errc() || value < 0) return {};
  const std::string_view suffix(read.ptr, static_cast<size_t>(stop - read.ptr));
  const int shift = suffix == "k" ? 10 : suffix == "m" ? 20 : 0;
  if (!suffix.empty() && shift == 0) return {};
  return value <= INT64_MAX >> shift ? std::optional(value << shift) : std::nullopt;
}

/// Splits "NAME=VALUE" and adds it to the map; false after a message if it can't be read or NAME is there already.
template <typename Value, typename Read>
bool add_setting(const char* option, const std::string& text, const char* expected, std::map<std::string, Value>& into,
                 Read read) {
  const auto parts = split_assignment(text);
  const std::optional<Value> value = parts ? read(parts->second) : std::nullopt;
  const std::string given = std::string(option) + " " + text;
  if (!value) {
    fail(kExitUsage, given + ": expected " + expected);
  } else if (!into.emplace(parts->first, *value).second) {
    fail(kExitUsage, given + ": " + parts->first + " is given twice");
  } else {
    return true;
  }
  return false;
}

/// Errors whose cause is what was asked of a program, not the program.
bool is_request_error(DiagId id, bool bound, bool scheduled) {
  constexpr DiagId kAlways[] = {DiagId::E0206, DiagId::E0208, DiagId::E0209, DiagId::E0227, DiagId::E0238};
  constexpr DiagId kSchedule[] = {DiagId::E0401, DiagId::E0402, DiagId::E0403};
  const auto among = [id](const auto& ids) { return std::find(std::begin(ids), std::end(ids), id) != std::end(ids); };
  return among(kAlways) || (bound && id == DiagId::E0236) || (scheduled && among(kSchedule));
}

}  // namespace

int fail(int code, const std::string& message) {
  std::fprintf(stderr, "codac: %s\n", message.c_str());
  return code;
}

int fail(const Status& status) {
  constexpr Code kSystem[] = {Code::NotFound, Code::Unsupported, Code::Io, Code::Driver, Code::OutOfMemory};
  const bool system = std::find(std::begin(kSystem), std::end(kSystem), status.code()) != std::end(kSystem);
  return fail(system ? kExitEnvironment : kExitUsage, status.message());
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
}

void CompileOptions::add_json(CLI::App& command) { command.add_flag("--json", json, "diagnostics as JSON on stdout"); }

std::optional<CompileRequest> CompileOptions::request(const std::string& target, Stage stage) const {
  CompileRequest result;
  result.path = file;
  result.routine = kernel;
  result.target = target;
  result.stage = stage;
  if (kernel.find('=') != std::string::npos) {
    fail(kExitUsage, kernel + " is no kernel name; write --dim " + kernel);
    return {};
  }
  for (const auto& text : dims) {
    if (!add_setting("--dim", text, "NAME=VALUE with a whole number from 0 to 2^63-1", result.bindings, extent))
      return {};
  }
  const auto type = [](const std::string& name) { return dtype_from_name(name) ? std::optional(name) : std::nullopt; };
  for (const auto& text : types) {
    if (!add_setting("--type", text, "NAME=TYPE with an element type such as bf16", result.types, type)) return {};
  }
  for (const auto& text : schedule) {
    if (text.find('=') != std::string::npos) {
      if (!add_setting("--schedule", text, "NAME=VALUE with a number", result.schedule, number)) return {};
    } else if (!result.schedule_name.empty()) {
      fail(kExitUsage, "--schedule " + text + ": there is one already, " + result.schedule_name);
      return {};
    } else {
      result.schedule_name = text;
    }
  }
  return result;
}

void CompileOptions::report(const Compilation& compilation, bool print_json) const {
  if (json) {
    if (print_json) std::printf("%s\n", compilation.diagnostics->render_json().c_str());
  } else {
    std::fputs(compilation.diagnostics->render_text().c_str(), stderr);
  }
  print_times(compilation);
}

void CompileOptions::say_unused(const std::string& target) const {
  if (target != "host" || schedule.empty()) return;
  std::fprintf(stderr, "codac: --schedule means nothing on the host, whose code has one schedule\n");
}

int CompileOptions::exit_code(const Compilation& compilation, const Bindings& bound) const {
  bool request_only = true;
  for (const Diagnostic& diagnostic : compilation.diagnostics->all()) {
    if (diagnostic.id == DiagId::E0501) return kExitEnvironment;
    request_only = request_only && (diagnostic.severity != Severity::Error ||
                                    is_request_error(diagnostic.id, !bound.empty(), !schedule.empty()));
  }
  return request_only ? kExitUsage : kExitProgram;
}

void CompileOptions::print_times(const Compilation& compilation) const {
  if (!time_passes) return;
  double total = 0;
  for (const StepTime& step : compilation.times) {
    std::fprintf(stderr, "%9.3f ms  %s\n", step.milliseconds, step.name.c_str());
    total += step.milliseconds;
  }
  std::fprintf(stderr, "%9.3f ms  in all\n", total);
}

}  // namespace coda
