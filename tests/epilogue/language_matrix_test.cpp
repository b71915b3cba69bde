// Each op, each reduction in each place and each function of the prelude, lowered and run by plain loops.
#include "tests/codegen/language_matrix.h"

#include <catch2/catch.hpp>

#include "cases.h"

namespace coda::test {

TEST_CASE("the whole language", "[programs]") {
  for (const MatrixKernel& kernel : language_matrix()) {
    if (kernel.type != "f32") continue;  // types and layouts of operands are the code generator's
    std::vector<Bindings> sizes = kernel.sizes;
    sizes.resize(2);
    for (auto& [name, size] : sizes.back()) {
      if (name == "M") size = 5;
    }
    check({kernel.name.c_str(), kernel.text.c_str(), sizes, kernel.bound});
  }
}

}  // namespace coda::test
