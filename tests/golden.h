// Golden tests: `NAME.expected` beside `NAME.coda` in a folder `golden` holds what the program must give. Set
// CODA_UPDATE_GOLDENS (or run tools/goldens.py --update) to write what it gives now, and read the difference.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "dsl/diagnostics.h"
#include "tests/source_root.h"

namespace coda::golden {

inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Compares with the file, or writes it in update mode.
inline void check(const std::filesystem::path& expected, const std::string& actual) {
  INFO("golden: " << expected.string() << " (to accept: tools/goldens.py --update)");
  if (std::getenv("CODA_UPDATE_GOLDENS")) {
    if (!std::filesystem::exists(expected) || read(expected) != actual) {
      std::ofstream(expected, std::ios::binary) << actual;
    }
    SUCCEED();
    return;
  }
  REQUIRE(std::filesystem::exists(expected));
  CHECK(read(expected) == actual);
}

/// Runs `render(file name, text)` on every .coda of `folder` (relative to the source tree) and checks what it returns.
inline void check_folder(const std::string& folder,
                         const std::function<std::string(const std::string&, const std::string&)>& render) {
  std::vector<std::filesystem::path> programs;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_root()) / folder)) {
    if (entry.path().extension() == ".coda") programs.push_back(entry.path());
  }
  std::sort(programs.begin(), programs.end());
  REQUIRE_FALSE(programs.empty());
  for (const auto& program : programs) {
    check(std::filesystem::path(program).replace_extension(".expected"),
          render(program.filename().string(), read(program)));
  }
}

/// Ids of diagnostics.def that begin with `prefix` and appear in no tests/**/golden/*.expected.
inline std::vector<std::string> ids_without_golden(const std::string& prefix) {
  std::string seen;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(source_root()) / "tests")) {
    const bool is_golden = entry.path().parent_path().string().find("/golden") != std::string::npos;
    if (is_golden && entry.path().extension() == ".expected") seen += read(entry.path());
  }
  std::vector<std::string> missing;
  for (const DiagInfo& info : diagnostic_table()) {
    const std::string id(info.name);
    if (id.starts_with(prefix) && seen.find("[" + id + "]") == std::string::npos) missing.push_back(id);
  }
  return missing;
}

}  // namespace coda::golden
