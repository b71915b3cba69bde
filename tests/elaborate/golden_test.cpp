// Diagnostics and structure: each golden/*.coda, and each example, with what it reports and the tensor IR of its
// kernels in golden/*.expected. Files named fail_* must be refused, others not. A comment in front may give a request:
// `// bound: Dh=64`, `// types: T=f16`, `// routine: f`. To update: CODA_UPDATE_GOLDENS=1 build/…/tests/test_elaborate
// "[golden]"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compile.h"
#include "compiler/ir/text.h"
#include "dsl/parser.h"
#include "tests/source_root.h"

namespace coda {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = fs::path(source_root()) / "tests/elaborate/golden";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The words after `// key:` of a line of `text`.
std::optional<std::vector<std::string>> directive(const std::string& text, const std::string& key) {
  const std::string mark = "// " + key + ":";
  const size_t at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream line(text.substr(at + mark.size(), text.find('\n', at) - at - mark.size()));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

std::string output_of(const fs::path& path) {
  const std::string text = read(path);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add(path.filename().string(), text);
  const ImportReader reader = [](const std::string& name) -> Expected<std::string> {
    if (!fs::exists(kFolder / name)) return Status(Code::NotFound, "there is no such file");
    return read(kFolder / name);
  };
  const auto module = parse(file, sources, diagnostics);
  if (!module) return diagnostics.render_text();
  const auto bound = directive(text, "bound"), types = directive(text, "types"), routine = directive(text, "routine");
  ElaborateRequest request;
  for (const std::string& word : bound.value_or(std::vector<std::string>{})) {
    request.bound[word.substr(0, word.find('='))] = std::stoll(word.substr(word.find('=') + 1));
  }
  for (const std::string& word : types.value_or(std::vector<std::string>{})) {
    request.type_choices[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  std::vector<std::string> routines;
  if (bound || types || routine) {
    routines = routine && !routine->empty() ? *routine : std::vector<std::string>{""};
  } else {
    check_module(*module, file, sources, {}, diagnostics, reader);
    if (diagnostics.has_errors()) return diagnostics.render_text();
    for (const RoutineInfo& info : list_routines(*module)) routines.push_back(info.name);
  }
  std::string dumps;
  for (const std::string& name : routines) {
    request.routine = name;
    const auto program = elaborate(*module, file, sources, request, diagnostics, reader);
    if (program) dumps += (dumps.empty() ? "" : "\n") + to_text(*program);
  }
  return diagnostics.render_text() + dumps;
}

fs::path expected_of(const fs::path& program) {
  const bool is_example = program.parent_path() != kFolder;
  return kFolder / ((is_example ? "example_" : "") + program.stem().string() + ".expected");
}

std::vector<fs::path> programs() {
  std::vector<fs::path> paths;
  for (const fs::path& folder : {kFolder, fs::path(source_root()) / "examples"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".coda") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

TEST_CASE("diagnostics and tensor IR are as expected", "[golden]") {
  const bool update = std::getenv("CODA_UPDATE_GOLDENS") != nullptr;
  REQUIRE(programs().size() > 10);
  for (const fs::path& path : programs()) {
    INFO(path.filename().string());
    const std::string found = output_of(path);
    if (update) std::ofstream(expected_of(path), std::ios::binary) << found;
    CHECK(found == read(expected_of(path)));
    const bool must_fail = path.filename().string().rfind("fail_", 0) == 0;
    CHECK((found.find("error[") != std::string::npos) == must_fail);
  }
}

TEST_CASE("every diagnostic of names, types and shapes has a golden", "[golden]") {
  std::string all;
  for (const fs::path& path : programs()) all += read(expected_of(path));
  for (const DiagInfo& info : diagnostic_table()) {
    if (info.name.substr(0, 3) != "E02") continue;
    INFO(std::string(info.name) + ": " + std::string(info.message));
    CHECK(all.find("[" + std::string(info.name) + "]") != std::string::npos);
  }
}

}  // namespace coda
