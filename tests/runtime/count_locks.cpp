#include "tests/runtime/count_locks.h"

#include <dlfcn.h>
#include <pthread.h>

#include "tests/runtime/fake_cuda/fake_cuda.h"

namespace {

thread_local bool counting = false;
thread_local int locks = 0;

template <class Object>
int counted(const char* name, Object* object) {
  if (counting && !fake_cuda::inside()) ++locks;
  const auto real = reinterpret_cast<int (*)(Object*)>(dlsym(RTLD_NEXT, name));
  return real(object);
}

}  // namespace

// These come before the C library's for everything in the test's executable. ThreadSanitizer has its own.
#if !defined(__SANITIZE_THREAD__)
extern "C" {
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return counted("pthread_mutex_lock", mutex); }
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept { return counted("pthread_mutex_trylock", mutex); }
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept { return counted("pthread_rwlock_rdlock", lock); }
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept { return counted("pthread_rwlock_wrlock", lock); }
}
#endif

namespace coda {

LockCount::LockCount() {
  locks = 0;
  counting = true;
}

int LockCount::stop() {
  counting = false;
  return locks;
}

}  // namespace coda
