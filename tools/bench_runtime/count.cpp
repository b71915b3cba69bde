#include "tools/bench_runtime/count.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>
#include <cstring>

namespace {

thread_local bool counting = false;
thread_local bench::Counts counts;

constexpr int kMostLockers = 1 << 16;
thread_local void* lockers[kMostLockers];  // where the first locks were asked for

/// The driver's locks are its own affair, in our calls of it as in a bare launch.
bool is_driver(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "libcuda.") != nullptr;
}

void* allocated(void* memory) {
  if (counting) ++counts.allocations;
  return memory;
}

template <class Object>
int locked(const char* name, Object* object, void* caller) {
  if (counting) {
    if (counts.locks < kMostLockers) lockers[counts.locks] = caller;
    ++counts.locks;
  }
  return reinterpret_cast<int (*)(Object*)>(dlsym(RTLD_NEXT, name))(object);
}

}  // namespace

// These come before the C library's.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) noexcept { return allocated(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) noexcept { return allocated(__libc_calloc(count, bytes)); }
void* realloc(void* memory, size_t bytes) noexcept { return allocated(__libc_realloc(memory, bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return allocated(__libc_memalign(alignment, bytes)); }

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return locked("pthread_mutex_lock", mutex, __builtin_return_address(0));
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return locked("pthread_rwlock_rdlock", lock, __builtin_return_address(0));
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return locked("pthread_rwlock_wrlock", lock, __builtin_return_address(0));
}
}

namespace bench {

void start_counting() {
  counts = {};
  counting = true;
}

Counts stop_counting() {
  counting = false;
  const long recorded = counts.locks < kMostLockers ? counts.locks : kMostLockers;
  for (long i = 0; i < recorded; ++i) counts.locks -= is_driver(lockers[i]) ? 1 : 0;
  return counts;
}

}  // namespace bench
