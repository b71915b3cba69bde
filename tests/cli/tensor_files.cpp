// .npy and .safetensors: round trips, what NumPy itself writes, and damaged files.
#include "tools/codac/tensor_files.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "runtime/format/file_io.h"
#include "tests/runtime/scratch_folder.h"
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

/// A .npy file as NumPy would write it, of version `version`.
std::string npy(const std::string& descr, const std::string& rest, const std::string& data, char version = 1) {
  std::string header = "{'descr': " + descr + rest;
  header.resize(version == 1 ? 117 : 115, ' ');
  header += '\n';
  const std::string length = version == 1 ? std::string("\x76\0", 2) : std::string("\x74\0\0\0", 4);
  return std::string("\x93NUMPY") + version + '\0' + length + header + data;
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

/// Files of one test.
struct Files {
  testing::ScratchFolder folder;

  std::string write(const std::string& name, const std::string& content) {
    std::ofstream(folder / name, std::ios::binary) << content;
    return folder / name;
  }
  Expected<TensorFile> open(const std::string& name, const std::string& content, const std::string& tensor = "x") {
    return open_tensor(write(name, content), tensor);
  }
};

}  // namespace

TEST_CASE("every type survives .npy, small floats widened exactly") {
  Files files;
  for (const DTypeInfo& type : dtype_table()) {
    if (type.bits < 8 || type.dtype == DType::UE8M0 || type.dtype == DType::Bool) continue;
    CAPTURE(std::string(type.name));
    for (auto shape : {Sizes{}, {0}, {5}, {3, 4}, {2, 3, 4}}) {
      HostTensor tensor = sample(type.dtype, shape);
      REQUIRE(write_tensor(files.folder / "x.npy", "x", tensor).ok());
      auto file = open_tensor(files.folder / "x.npy", "x");
      REQUIRE(file.ok());
      CHECK(file->shape == shape);
      auto back = read_tensor(*file, type.dtype);
      REQUIRE(back.ok());
      CHECK(same(back->tensor, tensor));
      CHECK(back->rounded + back->outside == 0);
    }
  }
}

TEST_CASE("a column-major .npy is read by its indices") {
  // np.save of np.asfortranarray([[0, 1, 2], [3, 4, 5]], dtype='u1')
  Files files;
  auto file =
      files.open("x.npy", npy("'|u1'", ", 'fortran_order': True, 'shape': (2, 3), }", std::string("\0\3\1\4\2\5", 6)));
  REQUIRE(file.ok());
  auto read = read_tensor(*file, DType::U8);
  REQUIRE(read.ok());
  for (int64_t i = 0; i < 6; ++i) CHECK(get(read->tensor, i) == static_cast<double>(i));
}

TEST_CASE("damaged .npy files are refused") {
  Files files;
  std::string good = *format_npy(sample(DType::F32, {3, 4}));
  REQUIRE(files.open("x.npy", good).ok());
  for (size_t cut : {size_t{0}, size_t{5}, size_t{11}, size_t{40}, good.size() - 1}) {
    CHECK_FALSE(files.open("x.npy", good.substr(0, cut)).ok());
  }
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string other = good;
    other.replace(other.find(from), from.size(), to);
    return files.open("x.npy", other);
  };
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"<f4", "<c8"},
                                                                                 {"<f4", ">f4"},
                                                                                 {"(3, 4)", "(9, 4)"},
                                                                                 {"(3, 4)", "(-3,4)"},
                                                                                 {"False", "Maybe"},
                                                                                 {"'<f4'", "[<f4]"}}) {
    CAPTURE(from, to);
    CHECK(damaged(from, to).status().code() == Code::Corrupt);
  }
  for (const char version : {'\x0', '\x4', '\x63'}) {
    CHECK_FALSE(files.open("x.npy", npy("'<f4'", ", 'fortran_order': False, 'shape': (), }", "1234", version)).ok());
  }
  CHECK(files.open("x.npy", npy("'<f4'", ", 'fortran_order': False, 'shape': (), }", "1234", 3)).ok());
  // A header that ends where a value should begin.
  CHECK_FALSE(
      files.open("x.npy", std::string("\x93NUMPY\1\0\x2e\0{'fortran_order': False, 'shape': (), 'descr':", 56)).ok());
  CHECK_FALSE(
      files.open("x.npy", npy("'<f4'", ", 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "")).ok());
}

TEST_CASE("whole numbers keep every bit") {
  Files files;
  const std::string rest = ", 'fortran_order': False, 'shape': (3,), }";
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  auto file = files.open("x.npy", npy("'<i8'", rest, bytes_of<int64_t>({kOdd, INT64_MIN, INT64_MAX})));
  REQUIRE(file.ok());
  auto read = read_tensor(*file, DType::I64);
  REQUIRE(read.ok());
  CHECK(get_exact(read->tensor, 0) == Exact{kOdd});
  CHECK(get_exact(read->tensor, 1) == Exact{INT64_MIN});
  CHECK(get_exact(read->tensor, 2) == Exact{INT64_MAX});
  auto narrow = read_tensor(*file, DType::I32);
  REQUIRE(narrow.ok());
  CHECK(narrow->outside == 3);
  auto real = read_tensor(*file, DType::F32);
  REQUIRE(real.ok());
  CHECK(real->rounded == 2);  // all but -2^63

  auto wide = files.open("x.npy", npy("'<u8'", rest, bytes_of<uint64_t>({UINT64_MAX, 7, 8})));
  REQUIRE(wide.ok());
  CHECK(read_tensor(*wide, DType::I64)->outside == 1);
  CHECK(get_exact(read_tensor(*wide, DType::I8)->tensor, 1) == 7);
}

TEST_CASE("a whole number is rounded once") {
  // Just above a tie of bf16 by one, which f64 does not hold: to the even neighbour if it went through f64.
  const int64_t value = (int64_t{257} << 54) + 1;
  auto converted = convert(&value, DType::I64, Sizes{}, DType::BF16);
  REQUIRE(converted.ok());
  CHECK(get(converted->tensor, 0) == std::ldexp(258.0, 54));
}

TEST_CASE("wider floats are read where they are exact") {
  Files files;
  auto file = files.open("x.npy", npy("'<f8'", ", 'fortran_order': False, 'shape': (4,), }",
                                      bytes_of<double>({1.5, 0.1, NAN, -INFINITY})));
  REQUIRE(file.ok());
  auto read = read_tensor(*file, DType::F32);
  REQUIRE(read.ok());
  CHECK(read->rounded == 1);
  CHECK(get(read->tensor, 1) == 0.1f);
  CHECK(std::isnan(get(read->tensor, 2)));
  CHECK(read_tensor(*file, DType::I32)->outside == 2);
}

TEST_CASE("elements whose type NumPy does not know need to be named") {
  Files files;
  const std::string rest = ", 'fortran_order': False, 'shape': (2,), }";
  auto pairs = files.open("x.npy", npy("'<V2'", rest, bytes_of<uint16_t>({0x3f80, 0x4000})));
  REQUIRE(pairs.ok());
  CHECK_FALSE(read_tensor(*pairs, DType::F32).ok());
  CHECK_FALSE(read_tensor(*pairs, DType::F16).ok());
  auto as_bf16 = read_tensor(*pairs, DType::BF16);
  REQUIRE(as_bf16.ok());
  CHECK(get(as_bf16->tensor, 1) == 2);

  auto bytes = files.open("x.npy", npy("'|V1'", rest, "\x38\x40"));
  REQUIRE(bytes.ok());
  CHECK_FALSE(read_tensor(*bytes, DType::E4M3).ok());
  CHECK_FALSE(view_as(*bytes, DType::BF16).ok());
  REQUIRE(view_as(*bytes, DType::E4M3).ok());
  CHECK(get(read_tensor(*bytes, DType::E4M3)->tensor, 0) == 1);
  auto floats = files.open("x.npy", npy("'<f2'", rest, "1234"));
  REQUIRE(floats.ok());
  CHECK_FALSE(view_as(*floats, DType::BF16).ok());
}

TEST_CASE(".safetensors keeps types and finds tensors by name") {
  Files files;
  HostTensor tensor = sample(DType::BF16, {3, 4});
  auto content = format_safetensors("layer.weight", tensor);
  REQUIRE(content.has_value());
  auto file = files.open("x.safetensors", *content, "layer.weight");
  REQUIRE(file.ok());
  auto back = read_tensor(*file, DType::BF16);
  REQUIRE(back.ok());
  CHECK(same(back->tensor, tensor));
  auto missing = files.open("x.safetensors", *content, "weight");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.status().message().find("layer.weight") != std::string::npos);
  for (size_t cut : {size_t{0}, size_t{7}, size_t{20}, content->size() - 1}) {
    CHECK_FALSE(files.open("x.safetensors", content->substr(0, cut), "layer.weight").ok());
  }
}

TEST_CASE("only regular files are read") {
  Files files;
  REQUIRE(mkfifo((files.folder / "fifo.npy").c_str(), 0600) == 0);
  std::filesystem::create_directory(files.folder / "folder.npy");
  for (const char* name : {"fifo.npy", "folder.npy"}) {
    CHECK(open_tensor(files.folder / name, "x").status().message().find("not a regular file") != std::string::npos);
  }
  CHECK_FALSE(read_file("/proc/self/maps", 1 << 20).ok());
}

TEST_CASE("random tensors depend on seed, name and index alone") {
  const Distribution normal = **parse_distribution("normal(1, 2)");
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
  CHECK((**parse_distribution("3.5")).kind == Distribution::Kind::Constant);
  CHECK((**parse_distribution("9007199254740993")).whole == 9007199254740993);
  CHECK((**parse_distribution("1e3")).whole == 1000);
  for (const char* good : {"uniform(0.5, 1.5)", "integers(0,100)", "normal", "normal(0, 0)"}) {
    CAPTURE(good);
    CHECK(*parse_distribution(good));
  }
  for (const char* other : {"", "x", "3.5x", "normal.npy", " 3"}) {
    CAPTURE(other);
    auto parsed = parse_distribution(other);
    REQUIRE(parsed.ok());
    CHECK_FALSE(parsed->has_value());
  }
  for (const char* bad : {"normal(1)", "normal(1,2", "normal(1,2)x", "normal(0,-1)", "uniform(2,1)", "integers(0.5,3)",
                          "integers(3,3)", "normal(nan, 1)", "uniform(0, inf)"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_distribution(bad).ok());
  }
}

TEST_CASE("written values must fit their type") {
  struct Case {
    const char* text;
    DType dtype;
    bool fits;
  };
  for (const Case& c : std::initializer_list<Case>{{"9007199254740993", DType::I64, true},
                                                   {"9223372036854775808", DType::I64, false},
                                                   {"99999999999", DType::I32, false},
                                                   {"0.7", DType::I64, false},
                                                   {"-1", DType::U8, false},
                                                   {"2", DType::Bool, false},
                                                   {"nan", DType::I32, false},
                                                   {"1e39", DType::F32, false},
                                                   {"1e39", DType::BF16, false},
                                                   {"3.4028235e38", DType::F32, true},
                                                   {"0.1", DType::BF16, true},
                                                   {"448", DType::E4M3, true},
                                                   {"500", DType::E4M3, false},
                                                   {"inf", DType::E4M3, false},
                                                   {"-inf", DType::F16, true},
                                                   {"nan", DType::BF16, true},
                                                   {"8", DType::E2M1, false},
                                                   {"integers(0, 128)", DType::I8, true},
                                                   {"integers(0, 129)", DType::I8, false},
                                                   {"uniform(0, 1)", DType::I32, false}}) {
    CAPTURE(c.text, std::string(info(c.dtype).name));
    CHECK(fits(**parse_distribution(c.text), c.dtype).ok() == c.fits);
  }
  HostTensor tensor = made(DType::I64, {2});
  fill_random(tensor, **parse_distribution("9007199254740993"), 1, "x");
  CHECK(get_exact(tensor, 1) == Exact{9007199254740993});
}
