// Benchmarks of the runtime: `bench_runtime warm|launch FILE...`, of what `codac build --arch sm_90a` wrote.
//   warm    preparing what the cache has, on device 0. The files hold PTX: CODA_PTXAS=driver codac build.
//   launch  a launch over a bare cuLaunchKernel, on device 0. The kernels do nothing: it is the processor's time. With
//           CODA_CUDA_DRIVER_PATH=libcoda_null_cuda.so it is our own share alone, and no GPU is needed.
// Exits with 3 where a kernel takes more than it may (bench.h), or a launch allocates or locks. `gpu_check.sh runtime`
// does both on a machine with a GPU.
#include "tools/bench_runtime/bench.h"

constexpr int kTooSlow = 3;

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const std::vector<std::string> files(words + std::min(count, 2), words + count);
  if (!files.empty() && what == "warm") return bench::warm(files) ? 0 : kTooSlow;
  if (!files.empty() && what == "launch") return bench::launches(files) ? 0 : kTooSlow;
  std::fprintf(stderr, "usage: %s warm|launch FILE...\n", words[0]);
  return 2;
}
