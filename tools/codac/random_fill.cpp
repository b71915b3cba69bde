#include "tools/codac/random_fill.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace coda {
namespace {

uint64_t mix(uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr uint32_t kSteps = 1 << 16;

/// The p-quantile of the standard normal distribution, by bisection.
double normal_quantile(double p) {
  double low = -6, high = 6;
  for (int i = 0; i < 40; ++i) {
    double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double step_middle(int64_t step) { return (static_cast<double>(step) + 0.5) / kSteps; }

/// The quantile of each step, made once: a tenth of a second, which every small tensor would cost else.
const std::vector<double>& normal_quantiles() {
  static const std::vector<double> quantiles = [] {
    std::vector<double> made(kSteps);
    parallel_parts(kSteps, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) made[static_cast<size_t>(i)] = normal_quantile(step_middle(i));
    });
    return made;
  }();
  return quantiles;
}

double value_at(const Distribution& d, int64_t step) {
  const double p = step_middle(step);
  switch (d.kind) {
    case Distribution::Kind::Normal:
      return d.a + d.b * normal_quantiles()[static_cast<size_t>(step)];
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
  const DType dtype = tensor.view().dtype;
  std::vector<Word> table(kSteps);
  parallel_parts(kSteps, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      store_element(table.data(), dtype, i, value_at(distribution, i));
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

namespace {

struct Form {
  std::string_view name;
  Distribution::Kind kind;
  bool (*sensible)(double a, double b);
  const char* demand;
};
constexpr Form kForms[] = {{"normal", Distribution::Kind::Normal, [](double, double b) { return b >= 0; },
                            "normal(MEAN, DEVIATION) with a deviation of at least 0"},
                           {"uniform", Distribution::Kind::Uniform, [](double a, double b) { return a <= b; },
                            "uniform(LEAST, END), ascending"},
                           {"integers", Distribution::Kind::Integers,
                            [](double a, double b) { return a < b && a == std::floor(a) && b == std::floor(b); },
                            "integers(LEAST, END), whole and ascending, without END"}};

Status bad(const std::string& message) { return {Code::InvalidArgument, message}; }

/// All of the text as a number.
std::optional<Distribution> constant(const std::string& text) {
  char* end = nullptr;
  Distribution d{Distribution::Kind::Constant, std::strtod(text.c_str(), &end), 0, 0, {}};
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) || *end != 0) return {};
  int64_t whole = 0;
  const char *begin = text.data() + (text[0] == '+'), *stop = text.data() + text.size();
  const auto read = std::from_chars(begin, stop, whole);
  if (read.ec == std::errc() && read.ptr == stop) d.whole = whole;
  if (!d.whole && d.a == std::floor(d.a) && std::abs(d.a) <= 0x1p53) d.whole = static_cast<int64_t>(d.a);
  return d;
}

/// Rounding is expected of a written number; being cut off at the end of the range is not.
bool fits_real(double value, const DTypeInfo& type) {
  const double stored = round_to(value, type.dtype);
  if (!std::isfinite(value)) return std::isnan(value) ? std::isnan(stored) : stored == value;
  return std::isfinite(stored) && std::abs(value) <= type.max_finite * (1 + std::ldexp(1.0, -type.mantissa_bits - 1));
}

}  // namespace

Expected<std::optional<Distribution>> parse_distribution(const std::string& text) {
  for (const Form& form : kForms) {
    if (!text.starts_with(form.name)) continue;
    Distribution out{form.kind, 0, 1, 0, {}};
    if (form.kind == Distribution::Kind::Integers && text.size() == form.name.size()) out.b = 100;
    if (text.size() == form.name.size()) return std::optional(out);
    if (text[form.name.size()] != '(') continue;
    char close = 0;
    int used = 0;
    const char* parameters = text.c_str() + form.name.size();
    const int fields = std::sscanf(parameters, "(%lf , %lf %c%n", &out.a, &out.b, &close, &used);
    const bool read = fields == 3 && close == ')' && form.name.size() + static_cast<size_t>(used) == text.size();
    if (!read || !std::isfinite(out.a) || !std::isfinite(out.b) || !form.sensible(out.a, out.b)) {
      return bad("expected " + std::string(form.demand));
    }
    return std::optional(out);
  }
  return constant(text);
}

Status fits(const Distribution& distribution, DType dtype) {
  const DTypeInfo& type = info(dtype);
  const std::string name(type.name);
  const bool constant = distribution.kind == Distribution::Kind::Constant;
  if (type.num_class == NumClass::Real) {
    if (constant && !fits_real(distribution.a, type)) return bad("the value does not fit " + name);
    return {};
  }
  const IntegerRange range = integer_range(dtype);
  if (constant) {
    if (!distribution.whole) {
      const bool fraction = std::isfinite(distribution.a) && distribution.a != std::floor(distribution.a);
      return bad(fraction ? "the value is not whole, as " + name + " is" : "the value does not fit " + name);
    }
    const bool inside = *distribution.whole >= range.low && *distribution.whole <= range.high;
    return inside ? Status() : bad("the value does not fit " + name);
  }
  if (distribution.kind != Distribution::Kind::Integers) return bad(name + " is not real; use integers(LEAST, END)");
  const bool inside = static_cast<Exact>(distribution.a) >= static_cast<Exact>(range.low) &&
                      static_cast<Exact>(distribution.b) <= static_cast<Exact>(range.high) + 1;
  return inside ? Status() : bad("some of the values do not fit " + name);
}

void fill_random(HostTensor& tensor, const Distribution& distribution, uint64_t seed, const std::string& name) {
  if (distribution.kind == Distribution::Kind::Normal) normal_quantiles();  // made here, not within a part
  uint64_t key = mix(seed);
  for (char c : name) key = mix(key ^ static_cast<unsigned char>(c));
  if (distribution.whole && info(tensor.view().dtype).num_class != NumClass::Real) {
    parallel_parts(count(tensor), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        store_exact(tensor.view().data, tensor.view().dtype, i, *distribution.whole);
    });
    return;
  }
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
        set(tensor, i, value_at(distribution, static_cast<int64_t>(mix(key ^ mix(i)) & 0xffff)));
      }
  }
}

}  // namespace coda
