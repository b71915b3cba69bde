// A CUDA driver that does nothing, for timing what is not the driver: every call succeeds. null_device.cpp has those
// that must answer something.
#include "runtime/driver_types.h"

using namespace coda;

#define CODA_DRIVER(symbol, ...) \
  extern "C" __attribute__((weak)) CuResult symbol(__VA_ARGS__) { return kCuSuccess; }
#include "runtime/driver_table.def"
