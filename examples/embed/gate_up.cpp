// Embeds coda in a C++ program: compiles examples/gate_up.coda, runs it on the host, and prints one output.
//   gate_up FILE
#include <cstdio>
#include <fstream>
#include <sstream>

#include "coda/coda.h"

namespace {

int fail(const coda::Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

coda::HostTensor filled(coda::DType dtype, const coda::Sizes& shape, double value) {
  auto tensor = coda::HostTensor::create(dtype, shape);
  const int64_t count = *coda::element_count(shape);
  for (int64_t i = 0; i < count; ++i) coda::store_element(tensor->view().data, dtype, i, value);
  return std::move(*tensor);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: gate_up FILE\n", stderr), 2;
  std::stringstream text;
  text << std::ifstream(argv[1]).rdbuf();

  auto image =
      coda::compile_text({.text = text.str(), .path = argv[1], .kernel = "gate_up", .target = "host", .dims = {}});
  if (!image) return fail(image.status());
  auto kernel = coda::prepare(*image, coda::kHostDevice);  // a CUDA ordinal for images of target "sm_90a"
  if (!kernel) return fail(kernel.status());

  constexpr int64_t kRows = 4, kWidth = 8, kDepth = 64;
  const auto x = filled(coda::DType::BF16, {kRows, kDepth}, 0.5);
  const auto w = filled(coda::DType::BF16, {2 * kWidth, kDepth}, 0.25);
  const auto rstd = filled(coda::DType::F32, {kRows}, 0.25);
  const auto act = filled(coda::DType::BF16, {kRows, kWidth}, 0);
  const coda::Argument arguments[] = {x.view(), w.view(), rstd.view(), act.view()};
  if (coda::Status status = (*kernel)->launch(arguments, nullptr); !status.ok()) return fail(status);
  std::printf("silu(2) * 2 = %g\n", coda::load_element(act.view().data, coda::DType::BF16, 0));
  return 0;
}
