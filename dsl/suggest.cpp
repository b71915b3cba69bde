#include "dsl/suggest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace coda {

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Letters to insert, remove, replace, or swap with their neighbour.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestName = 64;
  if (name.size() > kLongestName) return "";
  std::string best;
  // A slip in a name of one letter can only be its case.
  size_t best_distance = name.size() < 2 ? 1 : std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName || candidate == name) continue;
    const size_t d = distance(lower(name), lower(candidate));
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  if (!best.empty() || name.size() < 3) return best;
  // No slip: perhaps the beginning of a longer name, of several the shortest.
  for (const std::string& candidate : candidates) {
    if (!lower(candidate).starts_with(lower(name)) || candidate == name) continue;
    if (best.empty() || candidate.size() < best.size()) best = candidate;
  }
  return best;
}

std::string suggestion(const std::string& name, std::vector<std::string> candidates, const std::string& kind,
                       const std::string& otherwise) {
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return "did you mean `" + nearest + "`?";
  if (candidates.empty()) return otherwise;
  return kind + ": " + listed(candidates);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == kMost) return text + " …";
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += "`" + names[i] + "`";
  }
  return text;
}

}  // namespace coda
