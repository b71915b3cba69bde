// What the runtime itself costs, apart from kernels: see main.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "coda/status.h"

namespace bench {

/// Ends the program with the message of a failure.
inline void must(const coda::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}
template <class T>
T must(coda::Expected<T> value) {
  must(value.status());
  return std::move(*value);
}

template <class F>
double milliseconds(F&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The value below which `part` of them are.
inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(part * static_cast<double>(values.size())))];
}

// What they may take for each kernel; both say whether nothing took more.
constexpr double kMostLoadMilliseconds = 2, kMostSteadyMicroseconds = 1.5, kMostFreshMicroseconds = 3;
bool warm(const std::vector<std::string>& files);
bool launches(const std::vector<std::string>& files);

}  // namespace bench
