// Counts what this thread allocates with operator new, apart from what the fake driver allocates for itself.
#pragma once

namespace coda {

class AllocationCount {
 public:
  AllocationCount();
  int stop();
};

}  // namespace coda
