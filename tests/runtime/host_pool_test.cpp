// The threads of the host back end, and the product that they share, without compiled code: what ThreadSanitizer can
// see whole.
#include "runtime/host_pool.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/host_gemm.h"
#include "runtime/tensor.h"

using namespace coda;

namespace {

constexpr int64_t kM = 150, kN = 90, kK = 300, kTileRows = 32;

struct Product {
  Product() : x(kM * kK), w(kN * kK), y(kM * kN, -1) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 16;
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) / -16;
  }
  static HostOperand operand(const std::vector<float>& values, int64_t outer) {
    HostOperand one{};
    one.address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(values.data()));
    one.dtype = static_cast<int64_t>(DType::F32);
    one.axes = one.depth_axes = 1;
    one.extents[0] = outer;
    one.strides[0] = one.depth_run = one.depth_extents[0] = kK;
    one.depth_stride = one.depth_strides[0] = 1;
    return one;
  }
  Status run(HostPool& pool) {
    HostGeometry geometry{};
    geometry.rows = kM;
    geometry.tile_rows = kTileRows;
    geometry.batches = geometry.regions = geometry.terms = 1;
    geometry.term[0] = {operand(x, kM), operand(w, kN), kK, 1};
    geometry.region[0] = {kN, 1, 32, {}};
    const HostTileSink store = [&](int64_t, const float* sums, int64_t row, int64_t rows, int64_t column,
                                   int64_t columns, int64_t) {
      for (int64_t r = 0; r < rows; ++r) {
        std::memcpy(&y[static_cast<size_t>((row + r) * kN + column)], sums + r * host_pitch(32),
                    static_cast<size_t>(columns) * sizeof(float));
      }
    };
    const auto lock = pool.lock();
    return host_gemm(geometry, pool, store);
  }
  std::vector<float> x, w, y;
};

}  // namespace

TEST_CASE("a pool does each piece of work once, on threads that tell themselves apart") {
  for (const int threads : {1, 2, 5}) {
    HostPool pool(threads);
    REQUIRE(pool.threads() == threads);
    const auto lock = pool.lock();
    for (const int64_t count : {0, 1, 3, 1000}) {
      std::vector<int> done(static_cast<size_t>(count));  // by one thread each: no atomics
      std::array<int64_t, 5> by_worker{};
      pool.run(count, [&](int64_t i, int worker) {
        ++done[static_cast<size_t>(i)];
        ++by_worker[static_cast<size_t>(worker)];
      });
      CHECK(std::all_of(done.begin(), done.end(), [](int n) { return n == 1; }));
      int64_t all = 0;
      for (const int64_t n : by_worker) all += n;
      CHECK(all == count);
    }
  }
}

TEST_CASE("a product has the same bits on any number of threads, and callers take turns") {
  Product expected;
  HostPool alone(1), pool(4);
  REQUIRE(expected.run(alone).ok());
  for (const int64_t i : {int64_t{0}, kM / 2, kM - 1}) {
    for (const int64_t j : {int64_t{0}, kN - 1}) {
      double sum = 0;
      for (int64_t k = 0; k < kK; ++k) {
        sum += static_cast<double>(expected.x[static_cast<size_t>(i * kK + k)]) *
               expected.w[static_cast<size_t>(j * kK + k)];
      }
      CHECK(expected.y[static_cast<size_t>(i * kN + j)] == Approx(sum).epsilon(1e-5));
    }
  }
  std::array<Product, 3> products;
  std::array<int, 3> failed{};
  std::vector<std::thread> callers;
  for (size_t i = 0; i < products.size(); ++i) {
    callers.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) failed[i] += !products[i].run(pool).ok();
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (size_t i = 0; i < products.size(); ++i) {
    CHECK(failed[i] == 0);
    CHECK(products[i].y == expected.y);
  }
}
