// Every program in the folders of examples/ on the host, beside the reference, at ragged sizes:
// tests/codegen/examples.txt is the list.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/codegen/sm90.h"
#include "compiler/elaborate/elaborate.h"
#include "dsl/parser.h"
#include "example_list.h"
#include "host_case.h"
#include "sm90_programs.h"
#include "tests/source_root.h"

using namespace coda;
using namespace coda::test;

namespace {

namespace fs = std::filesystem;

/// What is wrong, or an empty text.
std::string failure(const Example& example) {
  HostProgram program;
  if (std::string wrong = compile_error(example.text, example.bound, program); !wrong.empty()) return wrong;
  HostRun run{.sizes = example.sizes, .units = example.loose ? 1.0 : 0.5, .ulps = example.loose ? 0x1p16 : 400};
  for (const Param& param : program.program.params) {
    if (param.role == Param::Role::Scalar && info(param.dtype).num_class == NumClass::Int) run.scalars[param.name] = 7;
  }
  HostResult result;
  if (std::string wrong = difference(program, run, result); !wrong.empty()) return wrong;
  for (const auto& [name, size] : example.sizes) {
    const auto multiple = example.multiples.find(name);
    const int64_t step = multiple == example.multiples.end() ? 1 : multiple->second;
    for (const int64_t other : {int64_t{0}, step, (67 / step + 1) * step}) {
      run.sizes = example.sizes;
      run.sizes[name] = other;
      const std::string wrong = difference(program, run, result);
      if (!wrong.empty()) return name + " = " + std::to_string(other) + ": " + wrong;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("host: every example", "[host][examples]") {
  for (const Example& example : listed_examples()) {
    INFO(example.file);
    if (example.is_block) {
      SourceMap sources;
      Diagnostics diagnostics(sources);
      const FileId file = sources.add(example.file, example.text);
      const auto module = parse(file, sources, diagnostics);
      REQUIRE(module);
      const auto program = elaborate(*module, file, sources, {}, diagnostics);
      INFO(diagnostics.render_text());
      REQUIRE(program);
      CHECK(program->is_block);
      continue;
    }
    CHECK(failure(example) == "");
  }
}

TEST_CASE("sm90: every example", "[sm90][examples]") {
  for (const Example& example : listed_examples()) {
    if (example.is_block) continue;
    INFO(example.file);
    std::string report;
    const auto epilogue = lower_text({example.file, example.text, example.bound}, report);
    INFO(report);
    REQUIRE(epilogue);
    SourceMap sources;
    Diagnostics diagnostics(sources);
    const auto result = compile_sm90(*epilogue, {}, diagnostics);
    // Its spans are of sources that are gone.
    for (const Diagnostic& diagnostic : diagnostics.all()) UNSCOPED_INFO(diagnostic.message);
    CHECK(result.has_value() != example.host_only);
  }
}

TEST_CASE("every program in a folder of examples is in the list") {
  std::set<std::string> listed, found;
  for (const Example& example : listed_examples()) {
    CHECK(listed.insert(example.file).second);
    CHECK(example.text.starts_with("// "));
  }
  for (const auto& entry : fs::recursive_directory_iterator(source_root() + "/examples")) {
    const std::string name = fs::relative(entry.path(), source_root() + "/examples").string();
    if (entry.path().extension() != ".coda" || name.find('/') == std::string::npos) continue;
    if (!name.starts_with("python/")) found.insert(name);  // tests/python runs those
  }
  CHECK(found == listed);
}

TEST_CASE("the examples' page names each of them, and nothing else") {
  std::stringstream page;
  page << std::ifstream(source_root() + "/examples/README.md").rdbuf();
  const std::string text = page.str();
  for (const Example& example : listed_examples()) {
    INFO(example.file);
    CHECK(text.find("](" + example.file + ")") != std::string::npos);
  }
  for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
    const std::string link = text.substr(at + 2, text.find(')', at) - at - 2);
    INFO(link);
    CHECK((link.starts_with("#") || fs::exists(source_root() + "/examples/" + link)));
  }
}
