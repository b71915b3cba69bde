#include "runtime/format/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "runtime/format/file_io.h"

namespace coda {
namespace {

constexpr mode_t kPermissions = 07777, kAnyWrite = S_IWUSR | S_IWGRP | S_IWOTH;

/// How a path is written: by another file put in its place, or through the one that is there.
struct Target {
  std::string file;  ///< links followed
  bool exists = false, in_place = false;
  struct stat info {};
};

Status refused(const std::string& path, const std::string& why) {
  return {Code::Io, "cannot write '" + path + "': " + why};
}

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool can_make_files(const std::string& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0; }

Expected<Target> target_of(const std::string& path) {
  std::error_code error;
  Target target;
  target.file = std::filesystem::weakly_canonical(path, error).string();
  if (error) return refused(path, error.message());
  // A link to a file that is yet to be made: canonical only as far as things exist.
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(target.file, error)); ++links) {
    const auto to = std::filesystem::read_symlink(target.file, error);
    if (error || links == 40) return refused(path, "it is a link that leads nowhere");
    const auto joined = std::filesystem::path(target.file).parent_path() / to;
    target.file = std::filesystem::weakly_canonical(joined, error).string();
  }
  if (::stat(target.file.c_str(), &target.info) != 0) {
    if (errno != ENOENT) return errno_status("cannot write", path, errno);
    return target;
  }
  target.exists = true;
  const mode_t mode = target.info.st_mode;
  if (S_ISDIR(mode)) return refused(path, "it is a folder");
  if (S_ISBLK(mode) || S_ISSOCK(mode)) return refused(path, "it is neither a file nor a pipe");
  if ((mode & kAnyWrite) == 0) return refused(path, "it is read-only");
  if (::access(target.file.c_str(), W_OK) != 0) return errno_status("cannot write", path, errno);
  target.in_place = !S_ISREG(mode) || target.info.st_nlink > 1 || !can_make_files(folder_of(target.file));
  return target;
}

Status write_in_place(const std::string& path, const Target& target, std::span<const uint8_t> bytes) {
  auto file = FileHandle::open(target.file, O_WRONLY | O_NOCTTY | (S_ISREG(target.info.st_mode) ? O_TRUNC : 0));
  if (!file) return file.status();
  return write_all(*file, path, bytes);
}

}  // namespace

Status check_output(const std::string& path) {
  auto target = target_of(path);
  if (!target) return target.status();
  if (path.empty() || path.back() == '/') return refused(path, "it names no file");
  const std::string folder = folder_of(target->file);
  if (!target->in_place && !can_make_files(folder)) {
    return refused(path, "the folder '" + folder + "': " + std::generic_category().message(errno));
  }
  return {};
}

Status write_output(const std::string& path, std::span<const uint8_t> bytes) {
  if (Status status = check_output(path); !status.ok()) return status;
  auto target = target_of(path);
  if (!target) return target.status();
  if (target->in_place) return write_in_place(path, *target, bytes);
  Status written = write_file_whole(target->file, bytes);
  if (!written.ok() || !target->exists) return written;
  // A new file has the old one's owner and mode, as far as we may give them away; the mode last, for chown clears bits.
  const bool owned = ::chown(target->file.c_str(), target->info.st_uid, target->info.st_gid) == 0;
  const mode_t mode = target->info.st_mode & (owned ? kPermissions : 0777);
  if (::chmod(target->file.c_str(), mode) != 0) return errno_status("cannot set the mode of", path, errno);
  return {};
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  const bool exist[] = {::stat(a.c_str(), &one) == 0, ::stat(b.c_str(), &other) == 0};
  if (exist[0] && exist[1]) return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  if (exist[0] != exist[1]) return false;
  std::error_code error;
  return std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error);
}

}  // namespace coda
