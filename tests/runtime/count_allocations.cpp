#include "tests/runtime/count_allocations.h"

#include <cstdlib>
#include <new>

#include "tests/runtime/fake_cuda/fake_cuda.h"

namespace {

thread_local bool counting = false;
thread_local int allocations = 0;

}  // namespace

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (counting && !fake_cuda::inside()) ++allocations;
  return std::malloc(bytes);
}
void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  if (counting && !fake_cuda::inside()) ++allocations;
  const auto unit = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace coda {

AllocationCount::AllocationCount() {
  allocations = 0;
  counting = true;
}

int AllocationCount::stop() {
  counting = false;
  return allocations;
}

}  // namespace coda

/// Under sanitizers: impossible allocations return null, as they do without one.
extern "C" {
const char* __asan_default_options() { return "allocator_may_return_null=1"; }
const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
}
