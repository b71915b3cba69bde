// How much code there is for kernels of examples/: what LLVM and the assembler take grows with it, and unlike time it
// can be counted. code_size.txt holds lines of PTX.
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "runtime/jit/jit.h"
#include "tests/golden.h"

using namespace coda;

namespace {

constexpr double kMoreIsWrong = 1.03, kLessIsNews = 0.9;

struct Size {
  std::string program, dims;
  int64_t lines = 0;
};

std::vector<Size> recorded(const std::filesystem::path& path) {
  std::istringstream in(golden::read(path));
  std::vector<Size> sizes;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Size size;
    words >> size.program >> size.dims >> size.lines;
    INFO(line);
    REQUIRE_FALSE(words.fail());
    sizes.push_back(size);
  }
  return sizes;
}

int64_t lines_of_ptx(const Size& size) {
  CompileRequest request;
  request.path = source_root() + "/examples/" + size.program + ".coda";
  request.target = "sm_90a";
  request.stage = Stage::Code;
  request.dumps = {Dump::Ptx};
  if (const size_t equals = size.dims.find('='); equals != std::string::npos) {
    request.bindings[size.dims.substr(0, equals)] = std::stoll(size.dims.substr(equals + 1));
  }
  Compilation result = compile(request);
  INFO(result.diagnostics->render_text());
  REQUIRE(result.ok());
  const std::string& ptx = result.dumps[Dump::Ptx];
  return std::count(ptx.begin(), ptx.end(), '\n');
}

}  // namespace

TEST_CASE("no more code than was recorded", "[golden]") {
  const std::filesystem::path path = source_root() + "/tests/jit/code_size.txt";
  std::vector<Size> sizes = recorded(path);
  CHECK(sizes.size() >= 25);
  std::string now =
      "# Lines of PTX, which decide how long compiling takes (code_size_test.cpp). Written by tools/goldens.py "
      "--update.\n# program of examples/, what is compiled in or -, lines\n";
  for (const Size& size : sizes) {
    const int64_t lines = lines_of_ptx(size);
    now += size.program + " " + size.dims + " " + std::to_string(lines) + "\n";
    if (std::getenv("CODA_UPDATE_GOLDENS")) continue;
    INFO(size.program << ": " << lines << " lines of PTX, recorded are " << size.lines
                      << "; if that is meant, run tools/goldens.py --update and read the difference");
    CHECK(static_cast<double>(lines) <= kMoreIsWrong * static_cast<double>(size.lines));
    CHECK(static_cast<double>(lines) >= kLessIsNews * static_cast<double>(size.lines));
  }
  if (std::getenv("CODA_UPDATE_GOLDENS")) golden::check(path, now);
}
