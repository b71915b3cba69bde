#include "cases.h"

#include <catch2/catch.hpp>

namespace coda::test {

void check(const Case& c) {
  for (const Bindings& sizes : c.sizes) {
    const Comparison result = compare(c.text, sizes, c.bound, c.tolerance);
    std::string given;
    for (const auto& [name, value] : sizes) given += name + "=" + std::to_string(value) + " ";
    INFO(c.name << ": " << given << "\n" << c.text << "\n" << result.dump);
    CHECK(result.failure == "");
  }
}

}  // namespace coda::test
