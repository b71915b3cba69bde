// The header of typed launches: what members it gives parameters, and that it compiles whatever they are called.
#include "tools/codac/launch_header.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/runtime/scratch_folder.h"
#include "tests/source_root.h"

using namespace coda;

namespace {

Signature awkward() {
  const Dim m = Dim::symbol("M");
  using Role = ParamSpec::Role;
  Signature signature;
  signature.name = "switch";
  signature.target = "host";
  signature.params = {{"new", Role::In, DType::BF16, {m, Dim(2) * m}, {}}, {"coda", Role::InOut, DType::F32, {m}, {}},
                      {"lr", Role::Scalar, DType::F32, {}, 0.1},           {"seed", Role::Scalar, DType::I64, {}, {}},
                      {"steps", Role::Scalar, DType::I32, {}, -3},         {"y", Role::Out, DType::E4M3, {m}, {}}};
  signature.facts = {{m, Dim(0), Dim(8), "="}};
  return signature;
}

}  // namespace

TEST_CASE("a launch header has a typed member for each parameter") {
  const std::string header = launch_header(awkward(), "a.coda");
  for (const char* line :
       {"namespace switch_ {", "  coda::TensorView new_;  ///< bf16[M, 2*M]\n",
        "  coda::TensorView coda_;  ///< f32[M], updated\n", "  double lr = 0.10000000000000001;  ///< f32\n",
        "  int64_t seed;  ///< i64\n", "  int64_t steps = -3;  ///< i32\n",
        "  coda::TensorView y;  ///< e4m3[M], written\n", "return {a.new_, a.coda_, a.lr, a.seed, a.steps, a.y};",
        "\"switch(in new: bf16[M, 2*M], inout coda: f32[M], scalar lr: f32 = 0.10000000000000001, scalar seed: i64, "
        "scalar steps: "
        "i32 = -3, out y: e4m3[M]) where M mod 8 = 0\""}) {
    INFO(line << "\nin\n" << header);
    CHECK(header.find(line) != std::string::npos);
  }
}

TEST_CASE("a launch header compiles") {
  const testing::ScratchFolder folder;
  const std::string path = folder / "header.h", root = source_root();
  Signature macro = awkward();
  macro.name = "NULL";
  macro.params.push_back({"Arguments", ParamSpec::Role::In, DType::F32, {}, {}});
  macro.params.push_back({"new_", ParamSpec::Role::In, DType::F32, {}, {}});
  macro.params.push_back({"INT_MAX", ParamSpec::Role::In, DType::F32, {}, {}});
  Signature function = awkward();
  function.name = "exp";
  std::ofstream(path) << launch_header(awkward(), "a.coda") << launch_header(macro, "a\nint x = *b\\.coda\n#error no")
                      << launch_header(function, "a.coda");
  const std::string command = "c++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -x c++ -I" + root + " -I" + root +
                              "/runtime/include -include " + path + " /dev/null";
  CHECK(std::system(command.c_str()) == 0);
}
