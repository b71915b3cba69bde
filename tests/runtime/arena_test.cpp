// Places of tensors with lifetimes in one memory.
#include "runtime/arena.h"

#include <catch2/catch.hpp>
#include <random>

using namespace coda;

namespace {

int64_t arranged(std::vector<ArenaTensor>& tensors) {
  std::vector<int> order;
  return arrange(tensors, order);
}

/// No two that live at once may share a byte.
void check_apart(const std::vector<ArenaTensor>& tensors, int64_t whole) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ArenaTensor& a = tensors[i];
    CHECK(a.offset >= 0);
    CHECK(a.offset + a.bytes <= whole);
    for (size_t j = 0; j < i; ++j) {
      const ArenaTensor& b = tensors[j];
      const bool together = a.first <= b.last && b.first <= a.last;
      const bool collide = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      CHECK_FALSE((together && collide));
    }
  }
}

}  // namespace

TEST_CASE("tensors that live at different times share memory") {
  std::vector<ArenaTensor> chain = {{0, 1, 256}, {1, 2, 512}, {2, 3, 256}, {3, 4, 512}};
  CHECK(arranged(chain) == 768);
  check_apart(chain, 768);
  std::vector<ArenaTensor> together = {{0, 3, 256}, {1, 2, 512}, {0, 1, 1024}};
  CHECK(arranged(together) == 1792);
  std::vector<ArenaTensor> none;
  CHECK(arranged(none) == 0);
  std::vector<ArenaTensor> empty = {{0, 2, 0}, {0, 2, 256}, {1, 1, 0}};
  CHECK(arranged(empty) == 256);
}

TEST_CASE("random lifetimes never collide, and take no more than all together and no less than what lives at once") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<ArenaTensor> tensors;
    const int steps = 1 + static_cast<int>(random() % 8);
    for (unsigned i = 0; i < random() % 12; ++i) {
      const int a = static_cast<int>(random() % static_cast<unsigned>(steps));
      const int b = static_cast<int>(random() % static_cast<unsigned>(steps));
      tensors.push_back({std::min(a, b), std::max(a, b), static_cast<int64_t>(random() % 5) * 256});
    }
    const int64_t whole = arranged(tensors);
    check_apart(tensors, whole);
    int64_t sum = 0, most = 0;
    for (const auto& tensor : tensors) sum += tensor.bytes;
    for (int step = 0; step < steps; ++step) {
      int64_t alive = 0;
      for (const auto& tensor : tensors) alive += tensor.first <= step && step <= tensor.last ? tensor.bytes : 0;
      most = std::max(most, alive);
    }
    CHECK(whole <= sum);
    CHECK(whole >= most);
  }
}
