// Files that a user names for output. What stands there keeps being what it is: links are followed, modes and hard
// links stay, and pipes and devices are written to, not replaced.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "coda/status.h"

namespace coda {

/// What would keep write_output from writing `path`, as far as that can be said without touching it: its folder is
/// missing or can't be written, it is a folder or a disk, or nobody may write to it.
Status check_output(const std::string& path);

/// A regular file appears whole or stays as it was; one with several names, or in a folder where none can be made, is
/// overwritten in place.
Status write_output(const std::string& path, std::span<const uint8_t> bytes);

/// Whether both name one file, which need not exist yet.
bool same_file(const std::string& a, const std::string& b);

}  // namespace coda
