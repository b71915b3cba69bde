// Kernels without a product on the host: elementwise work, statistics that feed back into their row, statistics over
// all rows, regroupings, beside the reference.
#include <catch2/catch.hpp>

#include "host_case.h"
#include "rowwise_forms.h"

using namespace coda;
using namespace coda::test;

namespace {

const std::vector<int64_t> kRagged = {0, 1, 2, 3, 7, 17, 33, 65, 127, 290};

void run_ragged(const RowwiseForm& form, HostRun run) {
  const HostProgram program = compile_for_host(form.text, form.bound);
  run.ulps = form.ulps;
  for (const auto& [name, value] : form.moderate) {
    for (const int64_t size : kRagged) {
      run.sizes = form.moderate;
      run.sizes[name] = size;
      run_and_check(program, run);
    }
  }
}

}  // namespace

TEST_CASE("host: kernels without a product", "[host][rowwise]") {
  for (const RowwiseForm& form : rowwise_forms()) {
    INFO(form.name);
    run_ragged(form, {});
  }
}

TEST_CASE("host: kernels without a product, strided and on one thread", "[host][rowwise]") {
  for (const RowwiseForm& form : rowwise_forms()) {
    INFO(form.name);
    const HostProgram program = compile_for_host(form.text, form.bound);
    run_and_check(program, {.sizes = form.moderate, .threads = 1, .pitch = 5, .ulps = form.ulps});
    run_and_check(program, {.sizes = form.moderate, .last_stride = 3, .ulps = form.ulps});
  }
}

TEST_CASE("host: rows with NaN and infinities keep to themselves", "[host][rowwise]") {
  for (const RowwiseForm& form : rowwise_forms()) {
    if (form.name != "rmsnorm" && form.name != "softmax" && form.name != "copy" && form.name != "groups in rows")
      continue;
    INFO(form.name);
    const HostProgram program = compile_for_host(form.text, form.bound);
    HostRun run{.sizes = form.moderate, .non_finite = true, .ulps = form.ulps};
    run_and_check(program, run);
  }
}

TEST_CASE("host: a mean far from zero costs no digits", "[host][rowwise]") {
  const HostProgram program =
      compile_for_host("kernel f(x: f32[M, N], offset: f32) -> (y: f32[M, N]) {\n    y = standardise(x + offset)\n}\n");
  for (const double offset : {1e4, -1e4}) {
    run_and_check(program, {.sizes = {{"M", 5}, {"N", 1000}}, .scalars = {{"offset", offset}}, .ulps = 40000});
  }
}
