// What a thread allocates and locks while it counts, in this program and in all that it has loaded, but for what the
// CUDA driver locks.
#pragma once

namespace bench {

struct Counts {
  long allocations = 0, locks = 0;
};
void start_counting();
Counts stop_counting();

}  // namespace bench
