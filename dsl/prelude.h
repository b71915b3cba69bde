// The standard library's source, embedded at build time from dsl/prelude/*.coda.
#pragma once

#include <span>
#include <string_view>

namespace coda {

struct PreludeFile {
  std::string_view name, text;
};
std::span<const PreludeFile> prelude_files();

}  // namespace coda
