#include "tools/codac/random_fill.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace coda {
namespace {

uint64_t mix(uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// The p-quantile of the standard normal distribution (bisection: 65536 calls a tensor are nothing).
double normal_quantile(double p) {
  double low = -6, high = 6;
  for (int i = 0; i < 40; ++i) {
    double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double value_at(const Distribution& d, uint32_t bits, uint32_t steps) {
  double p = (bits + 0.5) / steps;
  switch (d.kind) {
    case Distribution::Kind::Normal:
      return d.a + d.b * normal_quantile(p);
    case Distribution::Kind::Uniform:
      return d.a + (d.b - d.a) * p;
    case Distribution::Kind::Integers:
      return std::floor(d.a + (d.b - d.a) * p);
    case Distribution::Kind::Constant:
      return d.a;
  }
  return 0;
}

/// Sixteen random bits choose among 65536 values already rounded to the element type.
template <typename Word>
void fill_from_table(HostTensor& tensor, const Distribution& distribution, uint64_t key) {
  constexpr uint32_t kSteps = 1 << 16;
  const DType dtype = tensor.view().dtype;
  std::vector<Word> table(kSteps);
  parallel_parts(kSteps, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      store_element(table.data(), dtype, i, value_at(distribution, static_cast<uint32_t>(i), kSteps));
    }
  });
  const Word* from = table.data();
  Word* to = static_cast<Word*>(tensor.view().data);
  parallel_parts(count(tensor), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 4) {
      uint64_t word = mix(key ^ mix(static_cast<uint64_t>(i)));
      for (int64_t j = i; j < i + 4 && j < end; ++j, word >>= 16) to[j] = from[word & 0xffff];
    }
  });
}

}  // namespace

bool parse_distribution(const std::string& text, Distribution& out) {
  struct Form {
    const char* name;
    Distribution::Kind kind;
  };
  constexpr Form kForms[] = {{"normal", Distribution::Kind::Normal},
                             {"uniform", Distribution::Kind::Uniform},
                             {"integers", Distribution::Kind::Integers}};
  for (const Form& form : kForms) {
    size_t length = std::strlen(form.name);
    if (text.compare(0, length, form.name) != 0) continue;
    out = {form.kind, 0, 1, 0};
    if (text.size() == length) return true;
    char close = 0;
    int used = 0;
    int fields = std::sscanf(text.c_str() + length, "(%lf , %lf %c%n", &out.a, &out.b, &close, &used);
    return fields == 3 && close == ')' && length + used == text.size();
  }
  char* end = nullptr;
  out = {Distribution::Kind::Constant, std::strtod(text.c_str(), &end), 0, 0};
  return end != text.c_str() && *end == 0;
}

void fill_random(HostTensor& tensor, const Distribution& distribution, uint64_t seed, const std::string& name) {
  uint64_t key = mix(seed);
  for (char c : name) key = mix(key ^ static_cast<unsigned char>(c));
  if (distribution.kind == Distribution::Kind::Integers) {
    parallel_parts(count(tensor), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint64_t word = mix(key ^ mix(static_cast<uint64_t>(i)));
        bool outlier = distribution.outlier != 0 && (word & 15) == 0;
        double p = static_cast<double>(word >> 11) * 0x1p-53;
        set(tensor, i,
            outlier ? distribution.outlier : std::floor(distribution.a + (distribution.b - distribution.a) * p));
      }
    });
    return;
  }
  switch (info(tensor.view().dtype).bits) {
    case 64:
      return fill_from_table<uint64_t>(tensor, distribution, key);
    case 32:
      return fill_from_table<uint32_t>(tensor, distribution, key);
    case 16:
      return fill_from_table<uint16_t>(tensor, distribution, key);
    case 8:
      return fill_from_table<uint8_t>(tensor, distribution, key);
    default:  // packed 4-bit elements: one at a time
      for (int64_t i = 0; i < count(tensor); ++i) {
        set(tensor, i, value_at(distribution, static_cast<uint32_t>(mix(key ^ mix(i)) & 0xffff), 1 << 16));
      }
  }
}

}  // namespace coda
