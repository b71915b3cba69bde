// Goldens of everything that the front end says about text and syntax.
#include "tests/golden.h"

#include <catch2/catch.hpp>

#include "tests/dsl/one_file.h"
#include "tests/source_root.h"

using namespace coda;

namespace {

const std::string kFolder = "tests/dsl/golden";

std::string render(const std::string& name, const std::string& text) {
  return OneFile(text, name).diagnostics.render_text();
}

std::filesystem::path expected(const std::string& name) {
  return std::filesystem::path(source_root()) / kFolder / (name + ".expected");
}

}  // namespace

TEST_CASE("goldens of syntax errors", "[golden]") {
  golden::check_folder(kFolder, [](const std::string& name, const std::string& text) {
    const std::string rendered = render(name, text);
    INFO(name);
    // A program whose name begins with `fail_` must fail, and no other may.
    CHECK(name.starts_with("fail_") == !rendered.empty());
    return rendered;
  });
}

TEST_CASE("goldens of errors whose programs are too long to keep", "[golden]") {
  const std::string too_large(size_t{16} * 1024 * 1024 + 1, ' ');
  golden::check(expected("fail_file_too_large"), render("fail_file_too_large.coda", too_large));

  const std::string deep = "fn f(x) = " + std::string(250, '(') + "x" + std::string(250, ')') + "\n";
  golden::check(expected("fail_nested_too_deep"), render("fail_nested_too_deep.coda", deep));

  std::string chain = "fn f(x) = x";
  for (int i = 0; i < 1100; ++i) chain += " + x";
  golden::check(expected("fail_chain_too_long"), render("fail_chain_too_long.coda", chain + "\n"));

  std::string many = "kernel f(x: f32[M]) -> (y: f32[M]) {\n";
  for (int i = 0; i < 200; ++i) many += "    y = )\n";
  const std::string rendered = render("fail_too_many_errors.coda", many + "}\n");
  golden::check(expected("fail_too_many_errors"), rendered.substr(rendered.find("fail_too_many_errors.coda:100:")));
}

TEST_CASE("every diagnostic of text and syntax has a golden", "[golden]") {
  CHECK(golden::ids_without_golden("E01") == std::vector<std::string>{});
}
