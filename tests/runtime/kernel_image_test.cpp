#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/format/dim_text.h"
#include "runtime/format/file_io.h"
#include "runtime/format/image.h"
#include "tests/runtime/hostile_bytes.h"
#include "tests/runtime/sample_image.h"

using namespace coda;

TEST_CASE("an image survives its stored form") {
  KernelImage image = testing::sample_image();
  image.bound = {{"Dh", 128}, {"Hkv", 8}};
  const Dim quotient = *Dim::symbol("N").divided_by(Dim::symbol("G"));
  image.params[0].extents.push_back(quotient * Dim(3) + Dim(1));
  image.tensor_maps[0].collapsed = {{0, 1}, {1}};
  image.registers = 168;
  image.words[0].axis = -1;
  const auto bytes = to_bytes(image);
  const auto back = image_from_bytes(bytes);
  REQUIRE(back.ok());
  CHECK(to_bytes(*back) == bytes);
  CHECK(back->name == "gate_up");
  CHECK(back->bound == image.bound);
  CHECK(back->params[0].extents[2] == image.params[0].extents[2]);
  CHECK(back->params[3].default_value == 1.5);
  CHECK(back->code == image.code);
  CHECK(back->tensor_maps[0].collapsed == std::vector<std::vector<int>>{{0, 1}, {1}});
  CHECK(back->tensor_maps[1].axes[1].box == 64);
  CHECK(back->workspaces[0].zeroed);
  CHECK(back->registers == 168);
}

TEST_CASE("every truncation and every changed byte of an image is refused") {
  const auto bytes = to_bytes(testing::sample_image());
  REQUIRE(image_from_bytes(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK(image_from_bytes(std::span(bytes).first(length)).status().code() == Code::Corrupt);
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= static_cast<uint8_t>(1u << (i % 8));
    CHECK(image_from_bytes(changed).status().code() == Code::Corrupt);
  }
  auto longer = bytes;
  longer.push_back(0);
  CHECK_FALSE(image_from_bytes(longer).ok());
}

TEST_CASE("hostile bytes under a right checksum are refused without harm") {
  const auto bytes = to_bytes(testing::sample_image());
  const int refused = testing::count_refusals(bytes, [](const std::vector<uint8_t>& changed) {
    const auto image = image_from_bytes(changed);
    if (image.ok()) CHECK(check_image(*image).ok());
    return !image.ok();
  });
  CHECK(refused > 1000);
}

TEST_CASE("an image's indices are checked") {
  auto refuse = [](auto change) {
    KernelImage image = testing::sample_image();
    change(image);
    CHECK_FALSE(check_image(image).ok());
    CHECK_FALSE(image_from_bytes(to_bytes(image)).ok());
  };
  refuse([](KernelImage& image) { image.words[0].param = 5; });
  refuse([](KernelImage& image) { image.words[0].param = 3; });  // a scalar has no address
  refuse([](KernelImage& image) { image.words[1].axis = 2; });
  refuse([](KernelImage& image) { image.words[5].param = 0; });  // a tensor has no value
  refuse([](KernelImage& image) { image.words[11].param = 1; });
  refuse([](KernelImage& image) { image.tensor_maps[0].axes[0].axis = 7; });
  refuse([](KernelImage& image) { image.tensor_maps[0].axes[0].divisor = 0; });
  refuse([](KernelImage& image) { image.tensor_maps[0].axes.resize(6, image.tensor_maps[0].axes[0]); });
  refuse([](KernelImage& image) { image.conditions[0].alignment = 0; });
  refuse([](KernelImage& image) { image.conditions.resize(65, image.conditions[0]); });
  refuse([](KernelImage& image) { image.facts[0].relation = "~"; });
  refuse([](KernelImage& image) { image.region_segments[0] = 0; });
  refuse([](KernelImage& image) { image.cluster = 0; });
}

TEST_CASE("an image is saved whole, and a missing file is named") {
  const auto folder = std::filesystem::temp_directory_path() / ("coda-image-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "gate_up.kernel";
  REQUIRE(save_image(testing::sample_image(), path).ok());
  REQUIRE(save_image(testing::sample_image(), path).ok());
  CHECK(to_bytes(std::get<KernelImage>(*load_image(path))) == to_bytes(testing::sample_image()));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);

  const auto missing = load_image(folder / "none");
  CHECK(missing.status().code() == Code::NotFound);
  CHECK(missing.status().message().find("none") != std::string::npos);
  CHECK(load_image(folder).status().code() == Code::Io);
  CHECK_FALSE(save_image(testing::sample_image(), folder / "no" / "folder").ok());
  std::filesystem::remove_all(folder);
}

TEST_CASE("dimensions are read back from their text and evaluate alike") {
  const Dim a = Dim::symbol("A"), b = Dim::symbol("B"), c = Dim::symbol("C");
  const std::vector<Dim> dims = {Dim(),
                                 Dim(7),
                                 Dim(-7),
                                 a,
                                 Dim(2) * a + Dim(1),
                                 a - b,
                                 Dim(-2) * a * b,
                                 *a.divided_by(Dim(2)),
                                 *(a * Dim(3) + b).divided_by(Dim(4)),
                                 *a.divided_by(b),
                                 *a.divided_by(b * c),
                                 *(a + b).divided_by(c),
                                 *(Dim(-2) * a).divided_by(b),
                                 *a.divided_by(b + c) * Dim(5) + *a.divided_by(Dim(2)),
                                 *a.divided_by(*b.divided_by(c)),
                                 *a.divided_by(b)->divided_by(c)};
  const std::vector<std::string> symbols = {"A", "B", "C"};
  for (const Dim& dim : dims) {
    INFO(dim.text());
    const auto back = parse_dim(dim.text());
    REQUIRE(back.ok());
    CHECK(*back == dim);
    const auto program = DimProgram::compile(dim, symbols);
    REQUIRE(program);
    for (const auto& values : {std::vector<int64_t>{0, 1, 2}, {8, 4, 2}, {48, 6, 2}, {7, 0, 3}, {INT64_MAX, 2, 3}}) {
      const Bindings bindings = {{"A", values[0]}, {"B", values[1]}, {"C", values[2]}};
      CHECK(back->evaluate(bindings) == dim.evaluate(bindings));
      if (values[0] != INT64_MAX) CHECK(program->evaluate(values) == dim.evaluate(bindings));
    }
  }
  CHECK_FALSE(DimProgram::compile(a, std::vector<std::string>{"B"}));
  CHECK_FALSE(DimProgram::compile(a * a * a, symbols)->evaluate(std::vector<int64_t>{INT64_MAX, 0, 0}));
  for (const std::string text : {"", " A", "A ", "A+B", "B + A", "2*", "(A", "A)", "1*A", "A/0", "3A", "A/B", "-",
                                 "--A", "99999999999999999999", "A*2", "((A/B)"}) {
    INFO(text);
    CHECK_FALSE(parse_dim(text).ok());
  }
  CHECK_FALSE(parse_dim(std::string(100000, '(')).ok());
}
