#include "runtime/kept_per_thread.h"

namespace coda {

uint64_t thread_number() {
  static std::atomic<uint64_t> last{0};
  thread_local const uint64_t mine = ++last;
  return mine;
}

}  // namespace coda
