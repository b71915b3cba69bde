// Each op, each reduction in each place and each function of the prelude in an epilogue on the host, over the four
// layouts and the operand types, beside the reference. CODA_MATRIX=PART names a part of the names of kernels.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "compiler/ops/op.h"
#include "dsl/prelude.h"
#include "host_case.h"
#include "tests/codegen/language_matrix.h"

using namespace coda;
using namespace coda::test;

TEST_CASE("the language's matrix has every op, reduction and function of the prelude") {
  const std::vector<std::string> words = language_matrix_words();
  const std::set<std::string> names(words.begin(), words.end());
  for (const Op* op : op_table()) CHECK(names.count(std::string(op->name)) == 1);
  for (const Reduction* reduction : reduction_table()) CHECK(names.count(std::string(reduction->name)) == 1);
  size_t functions = 0;
  for (const PreludeFile& file : prelude_files()) {
    const std::string text(file.text);
    for (size_t at = text.find("fn "); at != std::string::npos; at = text.find("\nfn ", at)) {
      at += text[at] == '\n' ? 4 : 3;
      const std::string name = text.substr(at, text.find('(', at) - at);
      INFO(name);
      CHECK(names.count(name) == 1);
      ++functions;
    }
  }
  CHECK(functions > 70);
}

TEST_CASE("host: the whole language in every layout", "[host][matrix]") {
  const char* only = std::getenv("CODA_MATRIX");
  for (const MatrixKernel& kernel : language_matrix()) {
    if (only && kernel.name.find(only) == std::string::npos) continue;
    INFO(kernel.name);
    const HostProgram program = compile_for_host(kernel.text, kernel.bound);
    for (const Bindings& sizes : kernel.sizes) {
      run_and_check(program, {.sizes = sizes, .range = 16, .relative = kernel.relative, .ulps = kernel.ulps});
    }
  }
}
