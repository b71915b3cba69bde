// Tensor files that lie: whatever a .npy or .safetensors file holds, it is read as what it says or refused.
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "tests/runtime/scratch_folder.h"
#include "tools/codac/tensor_files.h"

using namespace coda;

namespace {

constexpr const char* kName = "w";

/// The file's bytes with a few changed: single bytes, digits, pieces cut out, doubled or taken from elsewhere.
std::string mutated(std::string bytes, size_t header, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  static constexpr const char* kPieces[] = {"9223372036854775807",
                                            "18446744073709551615",
                                            "-1",
                                            "0",
                                            "4294967296",
                                            "[",
                                            "]",
                                            "{",
                                            "}",
                                            ",",
                                            "\"",
                                            "'",
                                            "(",
                                            ")",
                                            "null",
                                            "1e400",
                                            "\xff\xfe"};
  for (size_t n = 1 + below(4); n > 0 && !bytes.empty(); --n) {
    const size_t at = below(std::min(header, bytes.size()));
    const size_t length = std::min(below(12), bytes.size() - at);
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>('0' + below(10));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 4:
        bytes.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      default:
        bytes.resize(below(bytes.size() + 1));
    }
  }
  return bytes;
}

/// Opens and reads; says whether it was refused. What is accepted must be as large as it says.
bool refused(const std::string& path) {
  const auto file = open_tensor(path, kName);
  if (!file) {
    CHECK_FALSE(file.status().message().empty());
    return true;
  }
  const auto count = element_count(file->shape);
  REQUIRE(count);
  CHECK(file->bytes == static_cast<uint64_t>(*count) * static_cast<uint64_t>(file->element->bytes));
  for (const DType dtype : {DType::F32, DType::I64}) {
    const auto read = read_tensor(*file, dtype);
    if (read.ok()) CHECK(read->tensor.view().shape == file->shape);
  }
  return false;
}

}  // namespace

TEST_CASE("thousands of damaged tensor files are read as what they say, or refused") {
  const testing::ScratchFolder folder;
  auto tensor = HostTensor::create(DType::F32, {3, 4});
  REQUIRE(tensor.ok());
  const auto npy = format_npy(*tensor);
  const auto safetensors = format_safetensors(kName, *tensor);
  REQUIRE(npy.ok());
  REQUIRE(safetensors);
  std::mt19937 random(17);
  for (const auto& [suffix, good] : {std::pair(".npy", *npy), std::pair(".safetensors", *safetensors)}) {
    const std::string path = folder / ("x" + std::string(suffix));
    std::ofstream(path, std::ios::binary) << good;
    REQUIRE_FALSE(refused(path));
    const size_t header = good.size() - 48;
    int count = 0;
    for (int i = 0; i < 3000; ++i) {
      std::ofstream(path, std::ios::binary) << mutated(good, header, random);
      count += refused(path);
    }
    CHECK(count > 1000);
    CHECK(count < 3000);
  }
}
