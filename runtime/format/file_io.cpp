#include "runtime/format/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace coda {

Status errno_status(const std::string& what, const std::string& path, int error) {
  const Code code = error == ENOENT ? Code::NotFound : Code::Io;
  return {code, what + " '" + path + "': " + std::generic_category().message(error)};
}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int FileHandle::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void FileHandle::close() {
  if (fd_ >= 0) ::close(release());
}

Expected<FileHandle> FileHandle::open(const std::string& path, int flags, int mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return errno_status("cannot open", path, errno);
  return FileHandle(fd);
}

Expected<FileHandle> open_regular(const std::string& path, uint64_t& size) {
  auto file = FileHandle::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);  // a FIFO would wait for its writer
  if (!file) return file.status();
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) return errno_status("cannot read", path, errno);
  if (!S_ISREG(info.st_mode)) return Status(Code::Io, "cannot read '" + path + "': it is not a regular file");
  size = static_cast<uint64_t>(info.st_size);
  return file;
}

Expected<std::vector<uint8_t>> read_file(const std::string& path, uint64_t limit) {
  uint64_t size = 0;
  auto file = open_regular(path, size);
  if (!file) return file.status();
  if (size > limit) {
    return Status(Code::Io, "cannot read '" + path + "': it has " + std::to_string(size) + " bytes, more than " +
                                std::to_string(limit));
  }
  std::vector<uint8_t> bytes(size);
  if (Status status = read_at(*file, path, 0, bytes); !status.ok()) return status;
  uint8_t more = 0;
  if (::pread(file->get(), &more, 1, static_cast<off_t>(size)) > 0) {
    return Status(Code::Io, "cannot read '" + path + "': it holds more than the " + std::to_string(size) +
                                " bytes that it says it has");
  }
  return bytes;
}

Status read_at(const FileHandle& file, const std::string& path, uint64_t offset, std::span<uint8_t> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(file.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_status("cannot read", path, errno);
    if (got == 0) return {Code::Io, "cannot read '" + path + "': it ends too early"};
    into = into.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Status write_all(const FileHandle& file, const std::string& path, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_status("cannot write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

Status write_file_whole(const std::string& path, std::span<const uint8_t> bytes, const std::string& staging_dir,
                        int mode) {
  static std::atomic<uint64_t> serial{0};
  const size_t slash = path.find_last_of('/');
  const std::string folder = !staging_dir.empty() ? staging_dir + "/" : path.substr(0, slash + 1);  // npos + 1 is 0
  std::string staged;
  int fd = -1;
  do {
    staged = folder + ".coda-" + std::to_string(::getpid()) + "-" + std::to_string(serial++);
    fd = ::open(staged.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (fd < 0 && (errno == EINTR || errno == EEXIST));
  if (fd < 0) return errno_status("cannot write", path, errno);

  FileHandle file(fd);
  Status status = write_all(file, path, bytes);
  if (status.ok() && ::fsync(file.get()) != 0) status = errno_status("cannot write", path, errno);
  file.close();
  if (status.ok() && ::rename(staged.c_str(), path.c_str()) != 0) status = errno_status("cannot write", path, errno);
  if (!status.ok()) ::unlink(staged.c_str());
  return status;
}

}  // namespace coda
