// Tensors by DLPack: what is taken, what is refused and why.
#include "runtime/dlpack.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>

#include "coda/coda_c.h"

using namespace coda;

namespace {

// The structure as DLPack declares it.
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
static_assert(sizeof(DLTensor) == sizeof(DlpackTensor));
static_assert(offsetof(DLTensor, device.device_id) == offsetof(DlpackTensor, device_id));
static_assert(offsetof(DLTensor, ndim) == offsetof(DlpackTensor, rank));
static_assert(offsetof(DLTensor, dtype.lanes) == offsetof(DlpackTensor, lanes));
static_assert(offsetof(DLTensor, shape) == offsetof(DlpackTensor, shape));
static_assert(offsetof(DLTensor, byte_offset) == offsetof(DlpackTensor, byte_offset));

std::string refusal(const DLTensor& tensor) {
  const auto view = from_dlpack(&tensor);
  return view ? "" : view.status().message();
}

}  // namespace

TEST_CASE("a DLPack tensor is a view of the same memory") {
  float memory[64] = {};
  int64_t shape[] = {2, 3}, strides[] = {8, 1};
  DLTensor tensor{memory, {1, 0}, 2, {2, 32, 1}, shape, strides, 16};
  auto view = from_dlpack(&tensor);
  REQUIRE(view.ok());
  CHECK(view->data == memory + 4);
  CHECK(view->dtype == DType::F32);
  CHECK(view->device == kHostDevice);
  CHECK(view->shape == Sizes{2, 3});
  CHECK(view->strides == Sizes{8, 1});

  tensor.strides = nullptr;
  CHECK(from_dlpack(&tensor)->strides == Sizes{3, 1});
  tensor.ndim = 0;
  tensor.shape = nullptr;
  CHECK(from_dlpack(&tensor)->shape == Sizes());
  tensor.device = {3, 0};  // pinned host memory
  CHECK(from_dlpack(&tensor)->device == kHostDevice);
  tensor.device = {2, 5};
  CHECK(from_dlpack(&tensor)->device == 5);
  tensor.device = {13, 1};
  CHECK(from_dlpack(&tensor)->device == 1);
  shape[0] = 0;
  DLTensor empty{nullptr, {1, 0}, 2, {4, 16, 1}, shape, nullptr, 0};
  CHECK(from_dlpack(&empty)->data == nullptr);
}

TEST_CASE("what a DLPack tensor has that coda has not is named") {
  float memory[4] = {};
  int64_t shape[] = {2, 2};
  const DLTensor right{memory, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  REQUIRE(refusal(right).empty());
  const auto with = [&](auto change) {
    DLTensor tensor = right;
    change(tensor);
    return refusal(tensor);
  };
  CHECK(from_dlpack(nullptr).status().message() == "DLPack tensor: the pointer is null");
  for (const int32_t rank : {-1, 9, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    CHECK(with([&](DLTensor& t) { t.ndim = rank; }).find("axes, at most 8 are possible") != std::string::npos);
  }
  CHECK(with([](DLTensor& t) { t.device.device_type = 10; }).find("its device type is 10") != std::string::npos);
  CHECK(with([](DLTensor& t) { t.device = {2, -1}; }).find("its CUDA device is -1") != std::string::npos);
  CHECK(with([](DLTensor& t) { t.shape = nullptr; }).find("it has no shape") != std::string::npos);
  CHECK(with([](DLTensor& t) { t.dtype.lanes = 4; }).find("4 lanes") != std::string::npos);
  CHECK(with([](DLTensor& t) { t.dtype.bits = 64; }).find("code 2 with 64 bits") != std::string::npos);
  CHECK(with([](DLTensor& t) { t.dtype.code = 5; }).find("code 5 with 32 bits") != std::string::npos);
  CHECK(with([](DLTensor& t) { t.data = nullptr, t.byte_offset = 4; }).find("no memory") != std::string::npos);
  for (const uint64_t far : {UINT64_MAX, UINT64_MAX - reinterpret_cast<uintptr_t>(memory) + 1}) {
    CHECK(with([&](DLTensor& t) { t.byte_offset = far; }).find("leaves the address space") != std::string::npos);
  }
  int64_t negative[] = {2, -2};
  CHECK(with([&](DLTensor& t) { t.shape = negative; }).find("axis 1 has -2 elements") != std::string::npos);
}

TEST_CASE("every type goes out by DLPack and comes back") {
  for (const DTypeInfo& type : dtype_table()) {
    TensorView view{.data = &view, .dtype = type.dtype, .shape = {4, 2}, .strides = {2, 1}, .device = 3};
    const DlpackTensor tensor = to_dlpack(view);
    CHECK(tensor.bits == type.bits);
    const auto back = from_dlpack(&tensor);
    REQUIRE(back.ok());
    CHECK(back->data == view.data);
    CHECK(back->dtype == view.dtype);
    CHECK(back->shape == view.shape);
    CHECK(back->strides == view.strides);
    CHECK(back->device == 3);
  }
}

TEST_CASE("the C interface takes DLPack tensors") {
  float memory[6] = {};
  int64_t shape[] = {2, 3}, strides[] = {1, 2};
  DLTensor tensor{memory, {2, 1}, 2, {2, 32, 1}, shape, strides, 8};
  coda_argument argument{};
  argument.name = "x";
  REQUIRE(coda_argument_from_dlpack(&tensor, &argument) == CODA_OK);
  CHECK(std::string(argument.name) == "x");
  CHECK(argument.kind == CODA_TENSOR);
  CHECK(argument.dtype == CODA_F32);
  CHECK(argument.data == memory + 2);
  CHECK(argument.device == 1);
  CHECK(argument.rank == 2);
  CHECK(argument.shape == shape);
  CHECK(argument.strides == strides);
  tensor.ndim = 100;
  CHECK(coda_argument_from_dlpack(&tensor, &argument) == CODA_INVALID_ARGUMENT);
  CHECK(std::string(coda_error()).find("it has 100 axes") != std::string::npos);
  CHECK(coda_argument_from_dlpack(nullptr, &argument) == CODA_INVALID_ARGUMENT);
  CHECK(coda_argument_from_dlpack(&tensor, nullptr) == CODA_INVALID_ARGUMENT);
}
