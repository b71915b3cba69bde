// The standard library as text: what it means is tested where programs are evaluated.
#include "dsl/prelude.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/dsl/one_file.h"

using namespace coda;

TEST_CASE("every file of the prelude is canonical, and every function in it documented and unique") {
  std::set<std::string> names;
  REQUIRE(prelude_files().size() >= 4);
  for (const PreludeFile& file : prelude_files()) {
    INFO(file.name);
    const OneFile parsed{std::string(file.text)};
    INFO(parsed.diagnostics.render_text());
    REQUIRE(parsed.module);
    CHECK(formatted(std::string(file.text)) == file.text);
    for (const ast::Item& item : parsed.module->items) {
      const auto* function = std::get_if<ast::Function>(&item);
      REQUIRE(function);
      INFO(function->name.text);
      CHECK(names.insert(function->name.text).second);
      CHECK(function->doc.ends_with('.') != function->doc.ends_with("…"));
      CHECK(function->doc.size() > 4);
    }
  }
  for (const char* name : {"silu", "gelu", "gelu_tanh", "gelu_erf", "relu", "swiglu", "geglu", "rmsnorm", "layernorm",
                           "rope", "rope_interleaved", "softcap"}) {
    INFO(name);
    CHECK(names.count(name) == 1);
  }
}
