// Debian's static LLVMSupport calls glibc 2.36's arc4random; with this definition a release runs on glibc 2.34.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}
