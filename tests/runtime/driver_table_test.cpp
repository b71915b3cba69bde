// Compares driver_types.h and driver_table.def with the real cuda.h, if there was one when this was built.
#include <catch2/catch.hpp>
#include <cstdio>
#include <type_traits>

#include "runtime/driver_types.h"

#ifdef CODA_HAS_CUDA_HEADER
// Declares the versioned names (cuMemAlloc_v2, ...) that the table loads.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace {

/// What of a type matters to a call: its size, and whether it travels as an integer, a pointer or a structure.
template <class T>
constexpr int kind_of() {
  if constexpr (std::is_pointer_v<T>) return 1;
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return 2;
  return 3;
}
template <class A, class B>
constexpr bool same_type() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return true;
  } else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_cv_t<std::remove_pointer_t<A>>;
    using From = std::remove_cv_t<std::remove_pointer_t<B>>;
    // Pointers to opaque handles' tags end the walk; pointers to data must point to the same thing.
    if constexpr (std::is_class_v<To> && std::is_class_v<From>) return true;
    if constexpr (!std::is_class_v<To> && !std::is_class_v<From>) return same_type<To, From>();
    return false;
  } else {
    return sizeof(A) == sizeof(B) && kind_of<A>() == kind_of<B>();
  }
}
template <class A, class B>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) != sizeof...(B)) return false;
    if constexpr (sizeof...(A) == sizeof...(B)) return same_type<R, S>() && (same_type<A, B>() && ... && true);
  }();
};

template <class... Args>
using Call = coda::CuResult (*)(Args...);

namespace table {
using namespace coda;
#define CODA_DRIVER(symbol, ...) \
  static_assert(SameCall<Call<__VA_ARGS__>, decltype(&::symbol)>::value, #symbol " differs from cuda.h");
#include "runtime/driver_table.def"
#undef CODA_DRIVER
#define CODA_CUDA_CONSTANT(ours, theirs, value) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs " differs");
CODA_CUDA_CONSTANTS(CODA_CUDA_CONSTANT)
#undef CODA_CUDA_CONSTANT
}  // namespace table

static_assert(sizeof(coda::CuTensorMap) == sizeof(CUtensorMap) && alignof(coda::CuTensorMap) == alignof(CUtensorMap));
static_assert(sizeof(coda::CuUuid) == sizeof(CUuuid));
// The comparison itself must be able to fail.
static_assert(!SameCall<Call<int*, int>, decltype(&::cuMemAlloc_v2)>::value);
static_assert(!SameCall<Call<unsigned, int>, decltype(&::cuInit)>::value);

}  // namespace

TEST_CASE("the driver table agrees with cuda.h") { SUCCEED("checked by the compiler"); }

#else

TEST_CASE("the driver table agrees with cuda.h") { std::puts("skipped: no cuda.h when this was built"); }

#endif
