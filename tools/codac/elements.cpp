#include "tools/codac/elements.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

namespace coda {

std::string describe(DType dtype, const Sizes& shape) {
  return std::string(info(dtype).name) + (shape.empty() ? "" : to_text(shape));
}

namespace {

template <typename T>
Exact read_as(const void* base, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

using Load = Exact (*)(const void*, int64_t);
constexpr Load kFileLoads[] = {read_as<double>, read_as<int16_t>, read_as<uint16_t>, read_as<uint32_t>,
                               read_as<uint64_t>};

/// The nearest f64 towards zero whose last bit says that more follows: rounding it again rounds the value itself.
double to_odd(Exact value) {
  double near = static_cast<double>(value);
  if (static_cast<Exact>(near) == value || !std::isfinite(near)) return near;
  if (std::abs(static_cast<Exact>(near)) > std::abs(value)) near = std::nextafter(near, 0.0);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(near) | 1);
}

Fit store_integer(void* base, DType dtype, int64_t index, Exact value) {
  const IntegerRange range = integer_range(dtype);
  const Exact whole = std::trunc(value);
  const bool inside = whole >= static_cast<Exact>(range.low) && whole <= static_cast<Exact>(range.high);
  if (dtype == DType::I64 && inside) {
    const auto stored = static_cast<int64_t>(whole);
    std::memcpy(static_cast<char*>(base) + index * static_cast<int64_t>(sizeof stored), &stored, sizeof stored);
  } else {
    store_element(base, dtype, index, static_cast<double>(value));
  }
  return !inside ? Fit::Outside : whole == value ? Fit::Exact : Fit::Rounded;
}

}  // namespace

Exact load_exact(const void* base, ElementType type, int64_t index) {
  if (const auto* file = std::get_if<FileType>(&type)) return kFileLoads[static_cast<size_t>(*file)](base, index);
  const DType dtype = std::get<DType>(type);
  return dtype == DType::I64 ? read_as<int64_t>(base, index) : load_element(base, dtype, index);
}

Fit store_exact(void* base, DType dtype, int64_t index, Exact value) {
  if (info(dtype).num_class != NumClass::Real) return store_integer(base, dtype, index, value);
  store_element(base, dtype, index, to_odd(value));
  const Exact back = load_element(base, dtype, index);
  return back == value || (std::isnan(back) && std::isnan(value)) ? Fit::Exact : Fit::Rounded;
}

IntegerRange integer_range(DType dtype) {
  const DTypeInfo& type = info(dtype);
  if (type.num_class == NumClass::Bool) return {0, 1};
  if (dtype == DType::U8) return {0, UINT8_MAX};
  const int64_t high = static_cast<int64_t>((uint64_t{1} << (type.bits - 1)) - 1);
  return {-high - 1, high};
}

Expected<Conversion> convert(const void* source, ElementType type, const Sizes& shape, DType dtype) {
  auto result = HostTensor::create(dtype, shape);
  if (!result) return result.status();
  // Elements of half a byte share it: their parts begin at multiples of 64.
  std::atomic<int64_t> rounded{0}, outside{0};
  parallel_parts(count(*result), [&](int64_t begin, int64_t end) {
    int64_t fits[3] = {};
    for (int64_t i = begin; i < end; ++i) {
      ++fits[static_cast<size_t>(store_exact(result->view().data, dtype, i, load_exact(source, type, i)))];
    }
    rounded += fits[static_cast<size_t>(Fit::Rounded)];
    outside += fits[static_cast<size_t>(Fit::Outside)];
  });
  return Conversion{std::move(*result), rounded, outside};
}

void for_each_part(int64_t count, void (*body)(void*, int64_t, int64_t), void* context) {
  constexpr int64_t kGranule = 64, kSmallest = 1 << 14;
  int64_t workers = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 64);
  int64_t part = std::max((count / workers / kGranule + 1) * kGranule, kSmallest);
  std::vector<std::thread> threads;
  for (int64_t begin = part; begin < count; begin += part) {
    threads.emplace_back(body, context, begin, std::min(begin + part, count));
  }
  body(context, 0, std::min(part, count));
  for (auto& thread : threads) thread.join();
}

}  // namespace coda
