// Whole files: read with a limit, and written so that a reader sees either the old content or all of the new.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coda/status.h"

namespace coda {

/// A file descriptor that closes itself. fork()ed children that exec don't inherit it.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(other.release()) {}
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle() { close(); }

  static Expected<FileHandle> open(const std::string& path, int flags, int mode = 0);

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void close();

 private:
  int fd_ = -1;
};

/// An Io status (NotFound for ENOENT): "<what> '<path>': <reason of errno>".
Status errno_status(const std::string& what, const std::string& path, int error);

/// Opens a regular file to read, never a FIFO or a device; `size` is its length.
Expected<FileHandle> open_regular(const std::string& path, uint64_t& size);
/// All of a regular file; refused beyond `limit` bytes, and where it holds more than it says (as those of /proc do).
Expected<std::vector<uint8_t>> read_file(const std::string& path, uint64_t limit);
/// Exactly `into.size()` bytes at `offset`.
Status read_at(const FileHandle& file, const std::string& path, uint64_t offset, std::span<uint8_t> into);
Status write_all(const FileHandle& file, const std::string& path, std::span<const uint8_t> bytes);

/// Writes beside `path` (or in `staging_dir`, same file system), fsyncs, and renames over `path`. For files of our own:
/// what a user names goes through write_output.
Status write_file_whole(const std::string& path, std::span<const uint8_t> bytes, const std::string& staging_dir = "",
                        int mode = 0644);

}  // namespace coda
