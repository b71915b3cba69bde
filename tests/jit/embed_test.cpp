// What the embedding interfaces give of a program's diagnostics.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "coda/coda.h"
#include "coda/coda_c.h"

using namespace coda;

namespace {

using Severity = ProgramMessage::Severity;

// Two errors, one with a way out, beside a parameter that nothing uses.
constexpr const char* kBroken =
    "kernel f(x: bf16[M, K], w: bf16[N, K], b: f32[N]) -> (y: bf16[M, N]) {\n"
    "    y = x @ w\n"
    "}\n";
constexpr const char* kUnused =
    "kernel f(x: bf16[M, K], w: bf16[N, K], b: f32[N]) -> (y: bf16[M, N]) {\n"
    "    y = x @ w.T\n"
    "}\n";

std::vector<ProgramMessage> messages_of(const char* text, bool compiles) {
  std::vector<ProgramMessage> messages = {ProgramMessage()};  // is replaced
  const auto image = compile_text({.text = text, .path = "f.coda"}, messages);
  INFO(image.status().message());
  CHECK(image.ok() == compiles);
  for (const ProgramMessage& message : messages) {
    INFO(message.text);
    if (!compiles) CHECK(image.status().message().find(message.id + "]: " + message.text) != std::string::npos);
    CHECK(message.id.size() == 5);
    CHECK_FALSE(message.text.empty());
  }
  return messages;
}

}  // namespace

TEST_CASE("a program's diagnostics are data, of what compiles too") {
  const auto unused = messages_of(kUnused, true);
  REQUIRE(unused.size() == 1);
  CHECK(unused[0].severity == Severity::Warning);
  CHECK(unused[0].id == "E0280");
  CHECK(unused[0].text == "the parameter `b` is never used");
  CHECK(unused[0].way_out == "use it, or take it out of the signature");
  CHECK(unused[0].range.path == "f.coda");
  CHECK(unused[0].range.line == 1);
  CHECK(unused[0].range.end_line == 1);
  CHECK(unused[0].range.column == 40);
  CHECK(unused[0].range.end_column > 40);

  const auto broken = messages_of(kBroken, false);
  REQUIRE_FALSE(broken.empty());
  const ProgramMessage& error = broken.back();
  CHECK(error.severity == Severity::Error);
  CHECK(error.range.line == 2);
  CHECK(error.range.column >= 9);
  for (size_t i = 1; i < broken.size(); ++i) CHECK(broken[i - 1].range.line <= broken[i].range.line);

  const auto target = [] {
    std::vector<ProgramMessage> messages;
    CHECK_FALSE(compile_text({.text = kUnused, .target = "sm_1"}, messages).ok());
    return messages;
  }();
  REQUIRE(std::any_of(target.begin(), target.end(), [](const auto& m) { return m.severity == Severity::Error; }));
  CHECK(messages_of("kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) { y = x @ w.T }", true).empty());
}

TEST_CASE("C has the same diagnostics in JSON, for each thread those of its last compilation") {
  coda_image* image = nullptr;
  const auto said = [] { return nlohmann::json::parse(coda_compile_messages()); };
  REQUIRE(coda_compile(kUnused, nullptr, &image) == CODA_OK);
  coda_image_free(image);
  REQUIRE(said().size() == 1);
  CHECK(said()[0]["id"] == "E0280");
  CHECK(said()[0]["severity"] == "warning");
  CHECK(said()[0]["range"]["begin"]["column"] == 40);
  CHECK(coda_compile(kBroken, nullptr, &image) == CODA_INVALID_ARGUMENT);
  const auto broken = said();
  CHECK(broken.back()["severity"] == "error");

  coda_compilation* compilation = nullptr;
  REQUIRE(coda_compile_async(kUnused, nullptr, &compilation) == CODA_OK);
  CHECK(said() == broken);  // until it is finished
  REQUIRE(coda_compilation_finish(compilation, &image) == CODA_OK);
  CHECK(said()[0]["id"] == "E0280");
  CHECK(coda_compile(nullptr, nullptr, &image) == CODA_INVALID_ARGUMENT);
  CHECK(said().empty());
  coda_image_free(image);
}
