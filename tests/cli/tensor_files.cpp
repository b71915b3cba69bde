// .npy and .safetensors: round trips, what NumPy itself writes, and damaged files.
#include "tools/codac/tensor_files.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tools/codac/random_fill.h"

using namespace coda;

namespace {

HostTensor made(DType dtype, const Sizes& shape) {
  auto tensor = HostTensor::create(dtype, shape);
  REQUIRE(tensor.ok());
  return std::move(*tensor);
}

HostTensor sample(DType dtype, const Sizes& shape) {
  HostTensor tensor = made(dtype, shape);
  for (int64_t i = 0; i < count(tensor); ++i) set(tensor, i, static_cast<double>(i % 7));
  return tensor;
}

bool same(const HostTensor& a, const HostTensor& b) {
  return std::equal(a.storage().begin(), a.storage().end(), b.storage().begin(), b.storage().end());
}

}  // namespace

TEST_CASE("every type survives .npy, small floats widened exactly") {
  for (const DTypeInfo& type : dtype_table()) {
    if (type.bits < 8 || type.dtype == DType::UE8M0 || type.dtype == DType::Bool) continue;
    CAPTURE(std::string(type.name));
    for (auto shape : {Sizes{}, {0}, {5}, {3, 4}, {2, 3, 4}}) {
      HostTensor tensor = sample(type.dtype, shape);
      auto back = parse_npy(*format_npy(tensor));
      REQUIRE(back.ok());
      CHECK(back->view().shape == shape);
      int64_t inexact = 0;
      CHECK(same(*convert(*back, type.dtype, inexact), tensor));
      CHECK(inexact == 0);
    }
  }
}

TEST_CASE("a column-major .npy is read by its indices") {
  // np.save of np.asfortranarray([[0, 1, 2], [3, 4, 5]], dtype='u1')
  std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string("\0\3\1\4\2\5", 6);
  auto tensor = parse_npy(file);
  REQUIRE(tensor.ok());
  for (int64_t i = 0; i < 6; ++i) CHECK(get(*tensor, i) == static_cast<double>(i));
}

TEST_CASE("damaged .npy files are refused") {
  std::string good = *format_npy(sample(DType::F32, {3, 4}));
  REQUIRE(parse_npy(good).ok());
  for (size_t cut : {size_t{0}, size_t{5}, size_t{11}, size_t{40}, good.size() - 1}) {
    CHECK_FALSE(parse_npy(good.substr(0, cut)).ok());
  }
  std::string other = good;
  other.replace(other.find("<f4"), 3, "<c8");
  CHECK_FALSE(parse_npy(other).ok());
  other = good;
  other.replace(other.find("(3, 4)"), 6, "(9, 4)");
  CHECK_FALSE(parse_npy(other).ok());
}

TEST_CASE(".safetensors keeps types and finds tensors by name") {
  HostTensor tensor = sample(DType::BF16, {3, 4});
  auto file = format_safetensors("layer.weight", tensor);
  REQUIRE(file.has_value());
  auto back = parse_safetensors(*file, "layer.weight");
  REQUIRE(back.ok());
  CHECK(back->view().dtype == DType::BF16);
  CHECK(same(*back, tensor));
  auto missing = parse_safetensors(*file, "weight");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.status().message().find("layer.weight") != std::string::npos);
  for (size_t cut : {size_t{0}, size_t{7}, size_t{20}, file->size() - 1}) {
    CHECK_FALSE(parse_safetensors(file->substr(0, cut), "layer.weight").ok());
  }
}

TEST_CASE("a conversion counts what it rounds") {
  HostTensor tensor = made(DType::F32, {3});
  set(tensor, 0, 1.0);
  set(tensor, 1, 1.0 + 0x1p-20);
  set(tensor, 2, NAN);
  int64_t inexact = 0;
  REQUIRE(convert(tensor, DType::BF16, inexact).ok());
  CHECK(inexact == 1);
}

TEST_CASE("random tensors depend on seed, name and index alone") {
  Distribution normal;
  REQUIRE(parse_distribution("normal(1, 2)", normal));
  const Sizes large{1 << 18};
  HostTensor a = made(DType::F32, large), b = made(DType::F32, large), c = made(DType::F32, large);
  HostTensor d = made(DType::F32, {100});
  fill_random(a, normal, 7, "x");
  fill_random(b, normal, 7, "x");
  fill_random(c, normal, 8, "x");
  fill_random(d, normal, 7, "x");
  CHECK(same(a, b));
  CHECK_FALSE(same(a, c));
  CHECK(std::equal(d.storage().begin(), d.storage().end(), a.storage().begin()));
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count(a); ++i) {
    sum += get(a, i);
    squares += get(a, i) * get(a, i);
  }
  double mean = sum / static_cast<double>(count(a));
  CHECK(mean == Approx(1).margin(0.02));
  CHECK(squares / static_cast<double>(count(a)) - mean * mean == Approx(4).margin(0.05));
}

TEST_CASE("distributions are read, and nonsense refused") {
  Distribution d;
  CHECK(parse_distribution("3.5", d));
  CHECK(d.kind == Distribution::Kind::Constant);
  CHECK(parse_distribution("uniform(0.5, 1.5)", d));
  CHECK(parse_distribution("integers(0,100)", d));
  CHECK(parse_distribution("normal", d));
  for (const char* bad : {"", "x", "normal(1)", "normal(1,2", "normal(1,2)x", "3.5x"})
    CHECK_FALSE(parse_distribution(bad, d));
}
