#include "tests/runtime/file_faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>

namespace {

using coda::testing::FileFault;

std::atomic<FileFault> armed{FileFault::None};
std::atomic<int> at{0}, calls{0};

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// What is to happen to the call that begins now.
FileFault next() {
  if (armed.load() == FileFault::None) return FileFault::None;
  const int call = calls++;
  if (armed.load() == FileFault::Lose && call >= at.load()) return FileFault::Lose;
  const FileFault fault = call == at.load() ? armed.load() : FileFault::None;
  if (fault == FileFault::Kill) raise(SIGKILL);
  return fault;
}

template <class Call>
int faulty(Call call) {
  const FileFault fault = next();
  if (fault == FileFault::Fail) return errno = ENOSPC, -1;
  const int result = call();
  if (fault == FileFault::KillHalfway) raise(SIGKILL);
  return result;
}

}  // namespace

// These come before the C library's for everything in the test's process.
extern "C" {
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = (flags & O_CREAT) ? va_arg(list, int) : 0;
  va_end(list);
  return faulty([&] { return real<int (*)(const char*, int, ...)>("open")(path, flags, mode); });
}
ssize_t write(int file, const void* bytes, size_t size) {
  const auto call = real<ssize_t (*)(int, const void*, size_t)>("write");
  const FileFault fault = next();
  if (fault == FileFault::Fail) return errno = ENOSPC, -1;
  if (fault == FileFault::KillHalfway) {
    (void)call(file, bytes, size / 2);
    raise(SIGKILL);
  }
  return call(file, bytes, size);
}
int fsync(int file) {
  return faulty([&] { return real<int (*)(int)>("fsync")(file); });
}
int rename(const char* from, const char* to) noexcept {
  const auto call = real<int (*)(const char*, const char*)>("rename");
  if (armed.load() != FileFault::Lose) return faulty([&] { return call(from, to); });
  const bool lost = next() == FileFault::Lose;
  const int result = call(from, to);
  if (lost && result == 0) real<int (*)(const char*)>("unlink")(to);
  return result;
}
int unlink(const char* path) noexcept {
  return faulty([&] { return real<int (*)(const char*)>("unlink")(path); });
}
}

namespace coda::testing {

void arm_file_fault(FileFault fault, int call) {
  at = call;
  calls = 0;
  armed = fault;
}
int file_calls() { return calls; }

}  // namespace coda::testing
