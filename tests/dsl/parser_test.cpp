#include <catch2/catch.hpp>

#include "tests/dsl/one_file.h"

using namespace coda;

TEST_CASE("an empty file is a module without items") {
  const OneFile parsed("");
  REQUIRE(parsed.module);
  CHECK(parsed.module->items.empty());
}
