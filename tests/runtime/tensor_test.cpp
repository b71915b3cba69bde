#include "runtime/tensor.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "runtime/layout.h"
#include "runtime/options.h"
#include "runtime/tensor_map.h"
#include "tests/runtime/scratch_folder.h"
#include "tests/source_root.h"

using namespace coda;

TEST_CASE("sizes that overflow are refused") {
  CHECK(element_count({3, 0, 5}) == 0);
  CHECK(element_count({}) == 1);
  CHECK_FALSE(element_count({-1, 0}));
  CHECK_FALSE(element_count({INT64_MAX, 2}));
  CHECK_FALSE(element_count({INT64_MAX, 2, 0}));
  CHECK(packed_bytes(DType::E2M1, 3) == 2);
  CHECK_FALSE(packed_bytes(DType::F32, INT64_MAX / 4));
  CHECK_FALSE(Sizes::from(std::vector<int64_t>(9, 1)));
  CHECK(HostTensor::create(DType::F32, {INT64_MAX / 4}).status().code() == Code::InvalidArgument);
  CHECK(HostTensor::create(DType::F32, {int64_t{1} << 55}).status().code() == Code::OutOfMemory);
  auto tensor = HostTensor::create(DType::BF16, {3, 4});
  REQUIRE(tensor.ok());
  CHECK(tensor->bytes() == 24);
  CHECK(tensor->view().strides == Sizes{4, 1});
  CHECK(reinterpret_cast<uintptr_t>(tensor->view().data) % 64 == 0);
}

TEST_CASE("address ranges cover what a view touches") {
  auto range = [](DType dtype, Sizes shape, Sizes strides) {
    const auto found = address_range({reinterpret_cast<void*>(0x1000), dtype, shape, strides, kHostDevice});
    return found ? std::pair(found->begin, found->end) : std::pair<uintptr_t, uintptr_t>(0, 0);
  };
  using Pair = std::pair<uintptr_t, uintptr_t>;
  CHECK(range(DType::F32, {2, 3}, {8, 1}) == Pair(0x1000, 0x1000 + 44));
  CHECK(range(DType::F32, {2, 3}, {-8, 1}) == Pair(0x1000 - 32, 0x1000 + 12));
  CHECK(range(DType::F32, {2, 0}, {-8, 1}) == Pair(0x1000, 0x1000));
  CHECK(range(DType::E2M1, {3}, {1}) == Pair(0x1000, 0x1002));
  CHECK(range(DType::F32, {INT64_MAX}, {INT64_MAX}) == Pair(0, 0));
  CHECK(range(DType::F32, {INT64_MAX / 2}, {1}) == Pair(0, 0));
  CHECK(range(DType::F32, {2}, {-0x1000}) == Pair(0, 0));
}

TEST_CASE("a strided view is copied row-major") {
  auto tensor = HostTensor::create(DType::I32, {2, 3});
  REQUIRE(tensor.ok());
  for (int64_t i = 0; i < 6; ++i) store_element(tensor->view().data, DType::I32, i, static_cast<double>(i));
  TensorView turned = tensor->view();
  turned.shape = {3, 2};
  turned.strides = {1, 3};
  const auto copy = contiguous_copy(turned);
  REQUIRE(copy.ok());
  CHECK(is_contiguous(copy->view()));
  for (int64_t i = 0; i < 6; ++i) CHECK(load_element(copy->view().data, DType::I32, i) == (i % 2) * 3 + i / 2);
  turned.device = 0;
  CHECK_FALSE(contiguous_copy(turned).ok());
  turned = tensor->view();
  turned.strides = {1};
  CHECK_FALSE(contiguous_copy(turned).ok());
}

TEST_CASE("tensor maps follow strides, divisors, multipliers, offsets and joined axes") {
  const std::vector<std::string> symbols = {"K", "N"};
  const Dim k = Dim::symbol("K"), n = Dim::symbol("N");
  auto values = [&](const TensorMapSpec& spec, const TensorView& view, std::vector<int64_t> numbers) {
    LaunchPlan::MapDims dims{*DimProgram::compile(spec.offset, symbols), {}};
    for (const auto& axis : spec.axes) dims.extents.push_back(*DimProgram::compile(axis.extent, symbols));
    return tensor_map_values(spec, dims, numbers, view);
  };
  TensorView view = {reinterpret_cast<void*>(0x10000), DType::BF16, {96, 72}, {72, 1}, kHostDevice};
  TensorMapSpec spec;  // rows of the second half, pairs of them 8 apart
  spec.param = 0;
  spec.offset_axis = 0;
  spec.offset = n;
  spec.axes = {{k, 1, 1, 1, 64}, {n, 2, 0, 2, 8}, {Dim(2), 1, 0, 1, 2}};
  const auto map = values(spec, view, {72, 49});
  REQUIRE(map);
  CHECK(map->address == 0x10000 + 49 * 144);
  CHECK(map->rank == 3);
  CHECK(map->extents[0] == 72);
  CHECK(map->extents[1] == 24);  // floor(49 / 2)
  CHECK(map->strides[0] == 288);
  CHECK(map->strides[1] == 144);
  CHECK(map->box[2] == 2);
  CHECK_FALSE(values(spec, view, {72, 1}));  // no pair of rows
  CHECK_FALSE(values(spec, view, {0, 49}));
  view.strides = {71, 1};
  CHECK_FALSE(values(spec, view, {71, 49}));
  view.strides = {72, 2};
  CHECK_FALSE(values(spec, view, {36, 49}));

  // [A, B, K] walked as [A*B, K]
  TensorMapSpec joined;
  joined.param = 0;
  joined.axes = {{k, 1, 2, 1, 64}, {n, 1, 1, 1, 128}};
  joined.collapsed = {{0, 1}};
  TensorView three = {reinterpret_cast<void*>(0x10000), DType::F16, {4, 6, 64}, {6 * 80, 80, 1}, kHostDevice};
  REQUIRE(values(joined, three, {64, 24}));
  CHECK(values(joined, three, {64, 24})->strides[0] == 160);
  three.strides = {7 * 80, 80, 1};
  CHECK_FALSE(values(joined, three, {64, 24}));
  three.shape = {4, 1, 64};
  three.strides = {560, 3, 1};  // the joined stride is the outer one's
  REQUIRE(values(joined, three, {64, 4}));
  CHECK(values(joined, three, {64, 4})->strides[0] == 1120);

  joined.axes[0].box = 128;  // wider than the swizzle
  CHECK_FALSE(values(joined, three, {64, 4}));
  joined.swizzle_128b = false;
  CHECK(values(joined, three, {64, 4}));
  three.dtype = DType::E2M1;
  CHECK_FALSE(values(joined, three, {64, 4}));
}

TEST_CASE("options have defaults, and wrong numbers fall back to them") {
  for (const OptionInfo& info : option_table()) {
    CHECK_FALSE(info.name.empty());
    CHECK_FALSE(info.meaning.empty());
  }
  const testing::Environment empty("CODA_CACHE_WAIT_S", "");
  CHECK(option_number(Option::CacheWait, 3600) == 20);
  for (const auto& [text, value] : {std::pair("7", 7), {"-1", 20}, {"3601", 20}, {"7s", 20}, {"", 20}}) {
    const testing::Environment set("CODA_CACHE_WAIT_S", text);
    CHECK(option_number(Option::CacheWait, 3600) == value);
  }
}

TEST_CASE("the documented table of variables is the one that is read") {
  std::stringstream page;
  page << std::ifstream(source_root() + "/docs/embedding.md").rdbuf();
  REQUIRE_FALSE(page.str().empty());
  for (const OptionInfo& info : option_table()) {
    if (!info.name.starts_with("CODA_")) continue;
    const std::string fallback = info.fallback.empty() ? "" : "`" + std::string(info.fallback) + "` ";
    INFO(info.name);
    CHECK(page.str().find("| `" + std::string(info.name) + "` | " + fallback + "| ") != std::string::npos);
  }
}

TEST_CASE("the environment is read in one place") {
  for (const char* folder : {"dsl", "compiler", "runtime", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator((source_root() + "/") + folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      if (entry.path().filename() == "options.cpp") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      INFO(entry.path());
      CHECK(text.str().find("getenv(") == std::string::npos);
    }
  }
}
