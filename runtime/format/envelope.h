// What all our stored files have around their fields: magic, version, length, checksum.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coda/status.h"

namespace coda {

struct FileKind {
  std::string_view magic;  ///< 8 characters, the last a newline
  uint32_t version;
  std::string_view what;  ///< "kernel image"
};

/// Corrupt, with what kind of file it is no usable one of.
Status corrupt(const FileKind& kind, const std::string& reason);

std::vector<uint8_t> seal(const FileKind& kind, const std::vector<uint8_t>& fields);
/// The fields; Corrupt for anything that seal() did not make for this kind and version.
Expected<std::span<const uint8_t>> unseal(const FileKind& kind, std::span<const uint8_t> bytes);
bool begins_as(const FileKind& kind, std::span<const uint8_t> bytes);

}  // namespace coda
