// What the emulator finds wrong: with the program's text, or with what its threads do.
#pragma once

#include <stdexcept>
#include <string>

namespace coda::ptx {

/// Thrown inside the emulator; parse() and launch() turn it into their result.
struct Fault : std::runtime_error {
  explicit Fault(const std::string& text) : std::runtime_error(text) {}
};

}  // namespace coda::ptx
