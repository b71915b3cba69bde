// Runs what `codac build examples/gate_up.coda --arch sm_90a,host -o FILE --header gate_up.h` wrote, on the host,
// through its typed header and the library without a compiler: typed FILE
#include <cstdio>

#include "gate_up.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: typed FILE\n", stderr), 2;
  const auto fail = [](const coda::Status& status) {
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  };
  auto kernel = gate_up::Kernel::load(argv[1], coda::kHostDevice);  // or a CUDA ordinal
  if (!kernel) return fail(kernel.status());

  constexpr int64_t kRows = 4, kWidth = 8, kDepth = 64;
  const auto tensor = [](coda::DType dtype, const coda::Sizes& shape, double value) {
    auto made = coda::HostTensor::create(dtype, shape);
    for (int64_t i = 0; i < *coda::element_count(shape); ++i) coda::store_element(made->view().data, dtype, i, value);
    return std::move(*made);
  };
  const auto x = tensor(coda::DType::BF16, {kRows, kDepth}, 0.5);
  const auto w = tensor(coda::DType::BF16, {2 * kWidth, kDepth}, 0.25);
  const auto rstd = tensor(coda::DType::F32, {kRows}, 0.25);
  const auto act = tensor(coda::DType::BF16, {kRows, kWidth}, 0);
  const coda::Status status = kernel->launch({.x = x.view(), .w = w.view(), .rstd = rstd.view(), .act = act.view()});
  if (!status.ok()) return fail(status);
  std::printf("silu(2) * 2 = %g\n", coda::load_element(act.view().data, coda::DType::BF16, 0));
  return 0;
}
