#include "runtime/tensor_map.h"

namespace coda {

namespace {

constexpr uint64_t kAlignment = 16;  // of addresses and strides, in bytes
constexpr uint64_t kMaxExtent = uint64_t{1} << 32;
constexpr uint64_t kMaxStride = uint64_t{1} << 40;
constexpr uint32_t kSwizzleBytes = 128;

int data_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return kCuTensorFloat32;
    case DType::F16:
      return kCuTensorFloat16;
    case DType::BF16:
      return kCuTensorBfloat16;
    case DType::I32:
      return kCuTensorInt32;
    case DType::I64:
      return kCuTensorInt64;
    case DType::E2M1:
      return -1;  // packed
    default:
      return kCuTensorUint8;
  }
}

/// Stride of axes that are walked as one; nothing where they don't follow each other in memory.
std::optional<int64_t> collapsed_stride(std::span<const int> axes, const TensorView& view) {
  std::optional<int64_t> stride;
  int64_t next = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (view.shape[*axis] == 1) continue;
    if (!stride) {
      stride = view.strides[*axis];
      next = *stride;
    }
    if (view.strides[*axis] != next) return std::nullopt;
    if (__builtin_mul_overflow(next, view.shape[*axis], &next)) return std::nullopt;
  }
  return stride.value_or(1);
}

}  // namespace

std::optional<TensorMapValues> tensor_map_values(const TensorMapSpec& spec, const LaunchPlan::MapDims& dims,
                                                 std::span<const int64_t> symbols, const TensorView& view) {
  TensorMapValues values;
  values.data_type = data_type(view.dtype);
  values.rank = static_cast<int>(spec.axes.size());
  values.swizzle = spec.swizzle_128b ? kCuTensorSwizzle128B : kCuTensorSwizzleNone;
  const int64_t element_bytes = info(view.dtype).bits / 8;
  if (values.data_type < 0) return std::nullopt;

  std::vector<std::pair<int, int64_t>> joint;  // the last axis of each list, and the stride of the list
  for (const auto& axes : spec.collapsed) {
    const auto stride = collapsed_stride(axes, view);
    if (!stride) return std::nullopt;
    joint.emplace_back(axes.back(), *stride);
  }
  auto stride_of = [&](int axis) {
    for (const auto& [last, stride] : joint) {
      if (last == axis) return stride;
    }
    return view.strides[axis];
  };

  int64_t offset = 0;
  if (spec.offset_axis >= 0) {
    const auto steps = dims.offset.evaluate(symbols);
    if (!steps || __builtin_mul_overflow(*steps, stride_of(spec.offset_axis), &offset) ||
        __builtin_mul_overflow(offset, element_bytes, &offset)) {
      return std::nullopt;
    }
  }
  values.address = reinterpret_cast<uintptr_t>(view.data) + static_cast<uintptr_t>(offset);

  for (int i = 0; i < values.rank; ++i) {
    const TensorMapAxis& axis = spec.axes[static_cast<size_t>(i)];
    const auto extent = dims.extents[static_cast<size_t>(i)].evaluate(symbols);
    if (!extent || *extent / axis.divisor <= 0) return std::nullopt;
    values.extents[i] = static_cast<uint64_t>(*extent / axis.divisor);
    values.box[i] = axis.box;
    if (values.extents[i] > kMaxExtent) return std::nullopt;
    int64_t stride = 0;
    if (__builtin_mul_overflow(stride_of(axis.axis), axis.multiplier, &stride)) return std::nullopt;
    if (i == 0) {
      const uint64_t row_bytes = uint64_t{axis.box} * static_cast<uint64_t>(element_bytes);
      if ((stride != 1 && values.extents[0] > 1) || row_bytes % kAlignment != 0) return std::nullopt;
      if (spec.swizzle_128b && row_bytes > kSwizzleBytes) return std::nullopt;
      continue;
    }
    // A single step is never taken: any stride that the hardware accepts will do.
    if (values.extents[i] == 1) stride = static_cast<int64_t>(kAlignment);
    if (stride < 0 || __builtin_mul_overflow(stride, element_bytes, &stride)) return std::nullopt;
    values.strides[i - 1] = static_cast<uint64_t>(stride);
    if (values.strides[i - 1] % kAlignment != 0 || values.strides[i - 1] >= kMaxStride) return std::nullopt;
  }
  return values;
}

bool encode_tensor_map(const Driver& cu, const TensorMapValues& values, CuTensorMap& map) {
  static constexpr uint32_t kUnitSteps[5] = {1, 1, 1, 1, 1};
  if (values.address == 0 || values.address % kAlignment != 0) return false;
  return cu.cuTensorMapEncodeTiled.raw(&map, values.data_type, static_cast<uint32_t>(values.rank),
                                       reinterpret_cast<void*>(values.address), values.extents, values.strides,
                                       values.box, kUnitSteps, kCuTensorInterleaveNone, values.swizzle,
                                       kCuTensorPromotion256B, kCuTensorFillZero) == kCuSuccess;
}

}  // namespace coda
