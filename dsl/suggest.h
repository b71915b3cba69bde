// "Did you mean …": the ways out of a misspelt name.
#pragma once

#include <string>
#include <vector>

namespace coda {

/// The candidate nearest to `name` if it is near enough to be a slip; else "".
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

/// "did you mean `gate`?", or "`kind` here are a, b, c", or `otherwise` if there are no candidates.
std::string suggestion(const std::string& name, std::vector<std::string> candidates, const std::string& kind,
                       const std::string& otherwise);

/// "`a`, `b` and `c`"; long lists are cut.
std::string listed(const std::vector<std::string>& names);

}  // namespace coda
