// The sample kernel on the fake driver: prepared, with arguments in the fake device's memory.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>

#include "runtime/device.h"
#include "runtime/kernel.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"
#include "tests/runtime/sample_image.h"

namespace coda::testing {

/// Before main(), and so before anything asks for the driver.
inline const bool chosen = [] {
  setenv("CODA_CUDA_DRIVER_PATH", fake_cuda::library_path().c_str(), 1);
  return true;
}();

inline KernelImage cubin_image() {
  KernelImage image = sample_image();
  image.code_kind = CodeKind::Cubin;
  return image;
}

inline std::unique_ptr<Kernel> prepared(KernelImage image, int ordinal = 0) {
  auto kernel = prepare(std::make_shared<KernelImage>(std::move(image)), ordinal);
  INFO(kernel.status().message());
  REQUIRE(kernel.ok());
  return std::move(*kernel);
}

inline const Device& device(int ordinal = 0) {
  auto found = Device::get(ordinal);
  INFO(found.status().message());
  REQUIRE(found.ok());
  return **found;
}

/// The sample's arguments, in the fake device's memory.
struct Tensors {
  explicit Tensors(int64_t m = 300, int64_t f = 512, int64_t k = 64, int on = 0) : ordinal(on) {
    add(DType::BF16, {m, k});
    add(DType::BF16, {2 * f, k});
    add(DType::F32, {m});
    arguments.push_back(2.5);
    add(DType::BF16, {m, f});
  }
  void add(DType dtype, Sizes shape) {
    auto tensor = DeviceTensor::create(device(ordinal), dtype, shape);
    REQUIRE(tensor.ok());
    arguments.push_back(tensor->view);
    memory.push_back(std::move(*tensor));
  }
  TensorView& view(size_t i) { return std::get<TensorView>(arguments[i]); }
  std::vector<Argument> arguments;
  std::vector<DeviceTensor> memory;
  int ordinal;
};

/// Of a launch's parameters.
inline constexpr size_t kFirstWord = 32, kWorkspaceWord = kFirstWord + 11, kMapsWord = kFirstWord + 13;

}  // namespace coda::testing
