// PTX for every program x schedule x layout: generated, timed, and assembled where a ptxas is found; few spills, no
// warning of the C75xx kind (wgmma serialised, setmaxnreg ignored).
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "rowwise_forms.h"
#include "sm90_programs.h"

namespace coda {
namespace {

std::string find_ptxas() {
  for (const char* path : {"ptxas", "/usr/local/cuda/bin/ptxas"}) {
    if (std::system(("command -v " + std::string(path) + " >/dev/null 2>&1").c_str()) == 0) return path;
  }
  return "";
}

std::string assemble(const std::string& ptxas, const std::string& name, const std::string& ptx) {
  const std::string base = "/tmp/coda_sm90_" + name;
  std::ofstream(base + ".ptx") << ptx;
  const std::string command = ptxas + " -arch=sm_90a -v -o " + base + ".cubin " + base + ".ptx >" + base + ".log 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream log;
  log << std::ifstream(base + ".log").rdbuf();
  return (status ? "FAILED " : "") + log.str();
}

/// That programs may store and load for want of registers, here: the most is 84, of columns that are gathered by the
/// one warpgroup that loads for two in turn, and 52, of passes over rows. The compiler itself takes
/// kSm90FewSpilledBytes for good.
constexpr int kMostSpilledBytes = 84;

/// What is stored and loaded for want of registers; very many if the log doesn't say.
int spilled_bytes(const std::string& log) {
  const size_t stores = log.find(" bytes spill stores"), loads = log.find(" bytes spill loads");
  if (stores == std::string::npos || loads == std::string::npos) return 1 << 20;
  const auto number_before = [&](size_t end) {
    return std::atoi(log.c_str() + log.find_last_not_of("0123456789", end - 1) + 1);
  };
  return number_before(stores) + number_before(loads);
}

void check(const std::string& name, const EpilogueProgram& epilogue, const std::string& schedule,
           Sm90Options options = {}, int most_spilled = 0) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  if (!epilogue.is_rowwise()) options.schedule = schedule;
  options.keep_llvm = std::getenv("CODA_KEEP_LLVM") != nullptr;
  const auto start = std::chrono::steady_clock::now();
  const auto result = compile_sm90(epilogue, options, diagnostics);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  for (const auto& d : diagnostics.all()) UNSCOPED_INFO(d.message);
  INFO(name << " " << schedule);
  CHECK(result);
  if (!result) return;
  static const std::string ptxas = find_ptxas();
  if (options.keep_llvm) std::ofstream("/tmp/coda_sm90_" + name + "_" + schedule + ".ll") << result->llvm;
  if (ptxas.empty()) {
    std::printf("%s %s: %.0f ms to PTX; skipped: no ptxas\n", name.c_str(), schedule.c_str(), ms);
    return;
  }
  const std::string log = assemble(ptxas, name + "_" + schedule, result->ptx);
  INFO(log);
  const size_t used = log.find("Used ");
  std::printf("%s %s: %.0f ms to %zu KB of PTX, %s\n", name.c_str(), schedule.c_str(), ms, result->ptx.size() / 1024,
              used == std::string::npos ? "?" : log.substr(used, 18).c_str());
  CHECK(log.find("FAILED") == std::string::npos);
  CHECK(log.find("C75") == std::string::npos);
  CHECK(spilled_bytes(log) <= std::max(kMostSpilledBytes, most_spilled));
}

TEST_CASE("every program assembles cleanly in every schedule", "[sm90]") {
  const char* only = std::getenv("CODA_SM90_ONLY");  // a part of the names
  for (const test::Sm90Program& program : test::sm90_programs()) {
    if (only && program.name.find(only) == std::string::npos) continue;
    std::string report;
    const auto epilogue = test::lower_text(program, report);
    INFO(program.name << "\n" << report);
    CHECK(epilogue);
    if (!epilogue) continue;
    const auto names = sm90_schedules_for(*epilogue, {});
    CHECK(names.size() > sm90_schedules().size() / 2);
    for (const std::string& name : names) check(program.name, *epilogue, name, {}, program.most_spilled);
  }
}

TEST_CASE("every kernel without a product assembles cleanly", "[sm90][rowwise]") {
  for (const test::RowwiseForm& form : test::rowwise_forms()) {
    std::string report, name = form.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    const auto epilogue = test::lower_text({form.name, form.text, form.bound}, report);
    INFO(form.name << "\n" << report);
    CHECK(epilogue);
    if (!epilogue) continue;
    for (const int64_t columns : {0, 7, 128, 4096, 20000}) {
      Sm90Options options;
      if (columns > 0) options.columns = columns;
      check(name, *epilogue, std::to_string(columns), options);
    }
  }
}

}  // namespace
}  // namespace coda
