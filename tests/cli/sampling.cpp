// Which coordinates --verify looks at.
#include <catch2/catch.hpp>
#include <set>

#include "tools/codac/verify.h"

using namespace coda;

TEST_CASE("a sample has the corners, no repetition, and the size asked for") {
  VerifyOptions options;
  auto coordinates = sample_coordinates({8192, 14336}, options);
  std::set<std::vector<int64_t>> distinct(coordinates.begin(), coordinates.end());
  CHECK(distinct.size() == 16 * 64);
  for (int64_t row : {0, 8191}) {
    for (int64_t column : {0, 14335}) CHECK(distinct.count({row, column}) == 1);
  }
}

TEST_CASE("small shapes are covered whole") {
  VerifyOptions options;
  CHECK(sample_coordinates({3, 5}, options).size() == 15);
  CHECK(sample_coordinates({3, 2, 4}, options).size() == 24);
  CHECK(sample_coordinates({7}, options).size() == 7);
  CHECK(sample_coordinates({}, options).size() == 1);
  CHECK(sample_coordinates({0, 5}, options).empty());
  CHECK(sample_coordinates({5, 0}, options).empty());
}

TEST_CASE("coordinates of higher ranks stay within their extents") {
  VerifyOptions options;
  for (const auto& c : sample_coordinates({100, 32, 128}, options)) {
    REQUIRE(c.size() == 3);
    CHECK((c[0] < 100 && c[1] < 32 && c[2] < 128));
  }
}
