// Every program in the folders of examples/ on the host, beside the reference, at ragged sizes: tests/codegen/examples.txt
// is the list.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/elaborate/elaborate.h"
#include "dsl/parser.h"
#include "host_case.h"
#include "tests/source_root.h"

using namespace coda;
using namespace coda::test;

namespace {

namespace fs = std::filesystem;

struct Example {
  std::string file;
  Bindings bound, sizes;
  std::map<std::string, int64_t> multiples;
  bool is_block = false;
  bool loose = false;  ///< values are rounded inside: what f32 loses may show as a whole unit of the type
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(file);
  return text.str();
}

std::vector<Example> examples() {
  std::vector<Example> result;
  std::istringstream table(text_of(source_root() + "/tests/codegen/examples.txt"));
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string file, fixed, sizes;
    std::getline(fields, file, '|');
    std::getline(fields, fixed, '|');
    std::getline(fields, sizes);
    Example example;
    example.file = file.substr(0, file.find(' '));
    std::istringstream fixed_words(fixed), size_words(sizes);
    const auto value = [](const std::string& word, char at) { return std::stoll(word.substr(word.find(at) + 1)); };
    for (std::string word; fixed_words >> word;) {
      if (word == "block") example.is_block = true;
      if (word == "loose") example.loose = true;
      if (word.find('=') != std::string::npos) example.bound[word.substr(0, word.find('='))] = value(word, '=');
      if (word.find('%') != std::string::npos) example.multiples[word.substr(0, word.find('%'))] = value(word, '%');
    }
    for (std::string word; size_words >> word;) example.sizes[word.substr(0, word.find('='))] = value(word, '=');
    result.push_back(example);
  }
  return result;
}

void run(const Example& example) {
  const HostProgram program =
      compile_for_host(text_of(source_root() + "/examples/" + example.file), example.bound);
  HostRun run{.sizes = example.sizes, .units = example.loose ? 1.0 : 0.5, .ulps = example.loose ? 0x1p16 : 400};
  for (const Param& param : program.program.params) {
    if (param.role == Param::Role::Scalar && info(param.dtype).num_class == NumClass::Int) run.scalars[param.name] = 7;
  }
  run_and_check(program, run);
  for (const auto& [name, size] : example.sizes) {
    const auto multiple = example.multiples.find(name);
    const int64_t step = multiple == example.multiples.end() ? 1 : multiple->second;
    for (const int64_t other : {int64_t{0}, step, (size == 67 ? 68 : 67 / step + 1) * step}) {
      run.sizes = example.sizes;
      run.sizes[name] = other;
      run_and_check(program, run);
    }
  }
}

}  // namespace

TEST_CASE("host: every example", "[host][examples]") {
  for (const Example& example : examples()) {
    INFO(example.file);
    if (example.is_block) {
      SourceMap sources;
      Diagnostics diagnostics(sources);
      const FileId file = sources.add(example.file, text_of(source_root() + "/examples/" + example.file));
      const auto module = parse(file, sources, diagnostics);
      REQUIRE(module);
      const auto program = elaborate(*module, file, sources, {}, diagnostics);
      INFO(diagnostics.render_text());
      REQUIRE(program);
      CHECK(program->is_block);
      continue;
    }
    run(example);
  }
}

TEST_CASE("every program in a folder of examples is in the list") {
  std::set<std::string> listed, found;
  for (const Example& example : examples()) CHECK(listed.insert(example.file).second);
  for (const auto& entry : fs::recursive_directory_iterator(source_root() + "/examples")) {
    const std::string name = fs::relative(entry.path(), source_root() + "/examples").string();
    if (entry.path().extension() != ".coda" || name.find('/') == std::string::npos) continue;
    found.insert(name);
    INFO(name);
    CHECK(text_of(entry.path()).starts_with("// "));
  }
  CHECK(found == listed);
}
