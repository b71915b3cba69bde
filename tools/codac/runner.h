// Runs a prepared kernel on one device with a set of arguments: holds the device's copies, poisons outputs, times.
#pragma once

#include <memory>
#include <vector>

#include "runtime/recording.h"
#include "tools/codac/arguments.h"

namespace coda {

struct Timing {
  double median_ms = 0, fastest_ms = 0, slowest_ms = 0;
  int runs = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// `device` is kHostDevice or a CUDA ordinal. `arguments` are copied there, so that runs may change them.
  static Expected<std::unique_ptr<Runner>> create(std::shared_ptr<const Image> image, int device,
                                                  const Arguments& arguments);

  /// Fills outputs with `poison`, resets inouts, runs, and waits.
  virtual Status run(uint8_t poison) = 0;
  /// The outputs and inouts by parameter; other entries are empty.
  virtual Expected<std::vector<HostTensor>> results() = 0;
  /// Runs over several copies of the arguments in turn, so that caches hold no more than they would in a program.
  /// `recorded`: replays of CUDA graphs.
  virtual Expected<Timing> bench(int runs, bool recorded) = 0;
};

}  // namespace coda
