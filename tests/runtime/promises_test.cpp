// docs/promises.md names tests; they must be there.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/source_root.h"

namespace {

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void collect(const std::string& text, const std::regex& pattern, std::set<std::string>& names) {
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) names.insert((*it)[1]);
}

/// Of every test in the tree.
std::set<std::string> tests() {
  static const std::regex kCase("TEST_CASE\\(\\s*\"([^\"]+)\""), kFunction("def (test_\\w+)\\(");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() + "/tests")) {
    const auto path = entry.path();
    if (path.extension() == ".cpp") collect(read(path), kCase, names);
    if (path.extension() != ".py") continue;
    collect(read(path), kFunction, names);
    names.insert(path.filename());
  }
  return names;
}

}  // namespace

TEST_CASE("the tests that docs/promises.md names are there") {
  const std::set<std::string> there = tests();
  REQUIRE(there.size() > 300);
  std::istringstream page(read(source_root() + "/docs/promises.md"));
  int promises = 0, named = 0;
  for (std::string line; std::getline(page, line);) {
    const size_t second = line.find("| ", 2);
    if (!line.starts_with("| ") || line.starts_with("| promise")) continue;
    REQUIRE(second != std::string::npos);
    std::set<std::string> names;
    collect(line.substr(second), std::regex("`([^`]+)`"), names);
    INFO(line);
    CHECK_FALSE(names.empty());
    for (const std::string& name : names) {
      INFO(name);
      CHECK(there.contains(name));
    }
    ++promises;
    named += static_cast<int>(names.size());
  }
  CHECK(promises > 20);
  CHECK(named > 50);
}
