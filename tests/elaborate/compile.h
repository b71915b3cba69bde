// Text to Program in one call, for tests: no disk, imports from a map. Each program is verified, and read back from its
// text form.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/elaborate/elaborate.h"

namespace coda::test {

struct Compiled {
  std::optional<Program> program;
  std::string diagnostics;  ///< as text, warnings too
};

inline ImportReader reader_of(std::map<std::string, std::string> files) {
  return [files = std::move(files)](const std::string& path) -> Expected<std::string> {
    const auto it = files.find(path);
    if (it == files.end()) return Status(Code::NotFound, "there is no such file");
    return it->second;
  };
}

Compiled compile(const std::string& text, const ElaborateRequest& request = {}, const std::string& path = "test.coda",
                 const ImportReader& reader = {});

}  // namespace coda::test
