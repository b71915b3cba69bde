#include "runtime/host_pack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "runtime/format/dtype.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace coda {

namespace {

constexpr int kMaxWidth = 32;
/// Depth converted at a time: kMaxWidth rows of it stay in the first-level cache.
constexpr int64_t kChunk = 128;

// ---- elements to f32 ------------------------------------------------------------------------------------------------

struct F32 {
  using Stored = float;
  static float get(float x) { return x; }
};
struct BF16 {
  using Stored = uint16_t;
  static float get(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }
};
struct F16 {
  using Stored = uint16_t;
  static float get(uint16_t x) {
    // Read with f32's bias and scaled, which is right for subnormal numbers too.
    const uint32_t magnitude = (x & 0x7FFFu) << 13;
    uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    if ((x & 0x7C00u) == 0x7C00u) bits |= 0x7F800000u;
    return std::bit_cast<float>(bits | (x & 0x8000u) << 16);
  }
};
template <DType Type>
struct Byte {
  using Stored = uint8_t;
  static float get(uint8_t x) {
    static const std::array<float, 256> table = [] {
      std::array<float, 256> values;
      for (int code = 0; code < 256; ++code) {
        const auto stored = static_cast<uint8_t>(code);
        values[code] = static_cast<float>(load_element(&stored, Type, 0));
      }
      return values;
    }();
    return table[x];
  }
};

/// `count` elements `stride` apart, to out[0], out[out_stride], ...
using ConvertFn = void (*)(const void* base, int64_t offset, int64_t stride, int64_t count, float* out);

template <class Type>
void convert(const void* base, int64_t offset, int64_t stride, int64_t count, float* out) {
  using Stored = typename Type::Stored;
  const auto* from = static_cast<const Stored*>(base) + offset;
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = Type::get(from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = Type::get(from[i * stride]);
  }
}

template <DType Type>
void convert_any(const void* base, int64_t offset, int64_t stride, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(load_element(base, Type, offset + i * stride));
}

/// In the order of DType.
constexpr ConvertFn kConvert[] = {
    convert<F32>,
    convert<F16>,
    convert<BF16>,
    convert<Byte<DType::E4M3>>,
    convert<Byte<DType::E5M2>>,
    convert_any<DType::E2M1>,
    convert<Byte<DType::UE8M0>>,
    convert_any<DType::I64>,
    convert_any<DType::I32>,
    convert<Byte<DType::U8>>,
    convert<Byte<DType::I8>>,
    convert<Byte<DType::Bool>>,
};

// ---- transposition --------------------------------------------------------------------------------------------------

/// out[k][i] = in[i][k] for `rows` rows of `length`, rows kChunk apart on one side and `width` on the other.
void transpose(const float* in, int rows, int64_t length, int width, float* out) {
  int i = 0;
#if defined(__x86_64__)
  for (; i + 4 <= rows; i += 4) {
    int64_t k = 0;
    for (; k + 4 <= length; k += 4) {
      __m128 row[4];
      for (int r = 0; r < 4; ++r) row[r] = _mm_loadu_ps(in + (i + r) * kChunk + k);
      _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
      for (int r = 0; r < 4; ++r) _mm_storeu_ps(out + (k + r) * width + i, row[r]);
    }
    for (; k < length; ++k) {
      for (int r = 0; r < 4; ++r) out[k * width + i + r] = in[(i + r) * kChunk + k];
    }
  }
#endif
  for (; i < rows; ++i) {
    for (int64_t k = 0; k < length; ++k) out[k * width + i] = in[i * kChunk + k];
  }
}

/// Element offset of a number in mixed radix.
int64_t offset_of(int64_t number, int64_t axes, const int64_t* extents, const int64_t* strides) {
  int64_t offset = 0;
  for (int64_t axis = axes - 1; axis > 0; --axis) {
    offset += number % extents[axis] * strides[axis];
    number /= extents[axis];
  }
  return axes > 0 ? offset + number * strides[0] : 0;
}

int64_t depth_offset(const HostOperand& operand, int64_t depth) {
  if (operand.depth_axes == 1) return depth * operand.depth_stride;
  return offset_of(depth, operand.depth_axes, operand.depth_extents, operand.depth_strides);
}

/// Element offset of an outer coordinate at depth 0; kNowhere for a gathered one that lies nowhere.
constexpr int64_t kNowhere = std::numeric_limits<int64_t>::min();
int64_t outer_offset(const HostOperand& operand, int64_t coordinate) {
  if (operand.index_axes > 0) {
    const int64_t at = offset_of(coordinate, operand.index_axes, operand.index_extents, operand.index_strides);
    const double place =
        load_element(reinterpret_cast<const void*>(operand.index_address), static_cast<DType>(operand.index_dtype), at);
    const bool inside = place >= 0 && place < static_cast<double>(operand.extents[0]);
    return inside ? static_cast<int64_t>(place) * operand.strides[0] : kNowhere;
  }
  return offset_of(coordinate, operand.axes, operand.extents, operand.strides);
}

}  // namespace

HostOperand host_operand(const HostOperand& operand, int64_t batch) {
  HostOperand one = operand;
  const int64_t offset = offset_of(batch, operand.batch_axes, operand.batch_extents, operand.batch_strides);
  one.address += offset * (info(static_cast<DType>(operand.dtype)).bits / 8);
  return one;
}

void host_pack(const HostOperand& operand, int64_t first, int64_t count, int64_t depth, int64_t length, int width,
               float* out) {
  const ConvertFn get = kConvert[operand.dtype];
  const void* base = reinterpret_cast<const void*>(operand.address);
  alignas(64) float rows[kMaxWidth * kChunk];
  for (int64_t panel = 0; panel < count; panel += width, out += length * width) {
    const int used = static_cast<int>(std::min<int64_t>(width, count - panel));
    int64_t offsets[kMaxWidth];
    bool neighbours = operand.index_axes == 0;
    for (int i = 0; i < used; ++i) {
      offsets[i] = outer_offset(operand, first + panel + i);
      neighbours = neighbours && offsets[i] == offsets[0] + i;
    }
    if (used < width) std::memset(out, 0, static_cast<size_t>(length * width) * sizeof(float));
    if (neighbours && operand.depth_stride != 1) {
      for (int64_t k = 0; k < length; ++k) {
        get(base, offsets[0] + depth_offset(operand, depth + k), 1, used, out + k * width);
      }
      continue;
    }
    for (int64_t start = 0, chunk = 0; start < length; start += chunk) {
      chunk = std::min(kChunk, length - start);
      if (operand.depth_axes > 1) chunk = std::min(chunk, operand.depth_run - (depth + start) % operand.depth_run);
      const int64_t from = depth_offset(operand, depth + start);
      for (int i = 0; i < used; ++i) {
        if (offsets[i] == kNowhere) {
          std::fill_n(rows + i * kChunk, chunk, 0.0f);
        } else {
          get(base, offsets[i] + from, operand.depth_stride, chunk, rows + i * kChunk);
        }
      }
      transpose(rows, used, chunk, width, out + start * width);
    }
  }
}

}  // namespace coda
