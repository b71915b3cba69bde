// Diagnostics of schedules, code generation and files: E04 and E05.
#include <catch2/catch.hpp>

#include "runtime/jit/jit.h"
#include "tests/golden.h"

using namespace coda;

namespace {

/// What a program's name can't say: the request it comes with. Without an entry: for sm_90a, its own schedule.
struct Request {
  std::string_view program, target, schedule_name;
};
constexpr Request kRequests[] = {{"E0402_no_such_schedule.coda", "sm_90a", "512x512"},
                                 {"E0502_no_such_target.coda", "sm_80", ""}};

}  // namespace

TEST_CASE("what code can't be made of is said", "[golden]") {
  golden::check_folder("tests/jit/golden/code", [](const std::string& name, const std::string& text) {
    CompileRequest request{.path = name, .text = text, .target = "sm_90a", .stage = Stage::Code};
    for (const Request& special : kRequests) {
      if (special.program != name) continue;
      request.target = special.target;
      request.schedule_name = special.schedule_name;
    }
    const Compilation result = compile(request);
    CHECK_FALSE(result.image);
    CHECK(result.diagnostics->render_text().find("[" + name.substr(0, 5) + "]") != std::string::npos);
    return result.diagnostics->render_text();
  });
}

TEST_CASE("a file that isn't there is said", "[golden]") {
  const Compilation result = compile({.path = "nowhere.coda", .target = "host"});
  CHECK_FALSE(result.ok());
  golden::check(std::filesystem::path(source_root()) / "tests/jit/golden/E0501_no_file.expected",
                result.diagnostics->render_text());
}

TEST_CASE("every E04 and E05 has a golden", "[golden]") {
  CHECK(golden::ids_without_golden("E04") == std::vector<std::string>{});
  CHECK(golden::ids_without_golden("E05") == std::vector<std::string>{});
}
