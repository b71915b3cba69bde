// Counts the mutexes this thread locks, apart from the fake driver's own.
#pragma once

namespace coda {

class LockCount {
 public:
  LockCount();
  int stop();
};

}  // namespace coda
