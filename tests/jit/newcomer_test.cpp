// The mistakes that people make who know other languages: the first message of each must suffice to go on. Each
// newcomer/*.coda has a mistake and, below `// corrected:`, what following the message makes of it, which must compile.
#include <algorithm>

#include "runtime/jit/jit.h"
#include "tests/golden.h"

using namespace coda;

namespace {

constexpr std::string_view kMark = "// corrected:\n";

Compilation compiled(const std::string& name, const std::string& text, const std::string& routine = "") {
  return compile({.path = name, .text = text, .routine = routine, .target = "host", .stage = Stage::Code});
}

}  // namespace

TEST_CASE("a newcomer's mistakes are said so that one can go on", "[golden]") {
  golden::check_folder("tests/jit/newcomer", [](const std::string& name, const std::string& text) {
    const size_t mark = text.find(kMark);
    REQUIRE(mark != std::string::npos);
    const Compilation wrong = compiled(name, text.substr(0, mark));
    CHECK_FALSE(wrong.ok());
    const auto& said = wrong.diagnostics->all();
    CHECK(std::any_of(said.begin(), said.end(), [](const Diagnostic& d) { return !d.way_out.empty(); }));
    const std::string right = text.substr(mark + kMark.size());
    for (const std::string& routine : compile({.path = name, .text = right, .stage = Stage::Check}).routines) {
      const Compilation corrected = compiled(name, right, routine);
      INFO(name << ", corrected, " << routine << "\n" << corrected.diagnostics->render_text());
      CHECK(corrected.ok());
    }
    return wrong.diagnostics->render_text();
  });
}
