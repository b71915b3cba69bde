#include "tools/bench_runtime/count.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>

namespace {

thread_local bool counting = false;
thread_local bench::Counts counts;

void* allocated(void* memory) {
  if (counting) ++counts.allocations;
  return memory;
}

template <class Object>
int locked(const char* name, Object* object) {
  if (counting) ++counts.locks;
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

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return locked("pthread_mutex_lock", mutex); }
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept { return locked("pthread_rwlock_rdlock", lock); }
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept { return locked("pthread_rwlock_wrlock", lock); }
}

namespace bench {

void start_counting() {
  counts = {};
  counting = true;
}

Counts stop_counting() {
  counting = false;
  return counts;
}

}  // namespace bench
