// Times of the steps of a compilation.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace coda {

struct StepTime {
  std::string name;
  double milliseconds = 0;
};

/// Runs `body`, notes how long it took, and returns its value.
template <typename Body>
auto timed(std::vector<StepTime>& times, const char* name, Body body) {
  const auto start = std::chrono::steady_clock::now();
  auto value = body();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  times.push_back({name, took.count()});
  return value;
}

}  // namespace coda
