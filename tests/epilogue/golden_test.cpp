// Diagnostics of lowering: each golden/*.coda, every kernel of which is lowered, with what it reports in the .expected
// beside it. Files named fail_* must be refused kernel by kernel, others not.
// To update: CODA_UPDATE_GOLDENS=1 build/…/tests/test_epilogue "[golden]"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/elaborate/elaborate.h"
#include "compiler/epilogue/epilogue.h"
#include "dsl/parser.h"
#include "tests/source_root.h"

namespace coda {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = fs::path(source_root()) / "tests/epilogue/golden";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<fs::path> programs() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".coda") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// What lowering reports of each kernel, in order; a kernel that is lowered gives its dump.
std::string report_of(const fs::path& path, bool must_fail) {
  SourceMap sources;
  Diagnostics syntax(sources);
  const FileId file = sources.add(path.filename().string(), read(path));
  const auto module = parse(file, sources, syntax);
  if (!module) return syntax.render_text();
  std::string report;
  for (const RoutineInfo& routine : list_routines(*module)) {
    Diagnostics diagnostics(sources);
    ElaborateRequest request;
    request.routine = routine.name;
    const auto program = elaborate(*module, file, sources, request, diagnostics);
    INFO(routine.name << "\n" << diagnostics.render_text());
    CHECK(program);
    if (!program) continue;
    EpilogueProgram epilogue;
    const bool lowered = lower_to_epilogue(*program, epilogue, diagnostics);
    CHECK(lowered == !must_fail);
    CHECK(diagnostics.has_errors() == must_fail);
    report += "kernel " + routine.name + "\n" + (lowered ? to_text(epilogue) : "") + diagnostics.render_text() + "\n";
  }
  return report;
}

}  // namespace

TEST_CASE("refusals and dumps are as expected", "[golden]") {
  const bool update = std::getenv("CODA_UPDATE_GOLDENS") != nullptr;
  REQUIRE(programs().size() > 10);
  for (const fs::path& path : programs()) {
    INFO(path.filename().string());
    const std::string found = report_of(path, path.filename().string().rfind("fail_", 0) == 0);
    fs::path expected = path;
    expected.replace_extension(".expected");
    if (update) std::ofstream(expected, std::ios::binary) << found;
    CHECK(found == read(expected));
  }
}

TEST_CASE("every diagnostic of the epilogue has a golden", "[golden]") {
  std::string all;
  for (fs::path path : programs()) all += read(path.replace_extension(".expected"));
  for (const DiagInfo& info : diagnostic_table()) {
    // E0331: the front end refuses it first. From E0350 on they are the planner's.
    if (info.name < "E0300" || info.name >= "E0350" || info.name == "E0331") continue;
    INFO(std::string(info.name) + ": " + std::string(info.message));
    CHECK(all.find("[" + std::string(info.name) + "]") != std::string::npos);
  }
}

}  // namespace coda
