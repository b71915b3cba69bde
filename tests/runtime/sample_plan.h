// A plan as a compiler would make it: a chain of the sample's kernels, each reading what the one before has written.
#pragma once

#include "runtime/format/plan_image.h"
#include "tests/runtime/sample_image.h"

namespace coda::testing {

/// The sample with other symbols for its depth and its columns.
inline KernelImage sample_link(const std::string& name, const Dim& k, const Dim& f) {
  KernelImage image = sample_image();
  const Dim m = Dim::symbol("M");
  image.name = name;
  image.code_kind = CodeKind::Cubin;
  image.params[0].extents = {m, k};
  image.params[1].extents = {Dim(2) * f, k};
  image.params[4].extents = {m, f};
  image.facts = {{k, Dim(0), Dim(8), "="}};
  image.depth = k;
  image.region_columns = {f};
  image.words[9].dim = f;
  image.words[10].dim = k;
  image.conditions[0].extents = {f};
  image.tensor_maps[0].axes = {{k, 1, 1, 1, 64}, {m, 1, 0, 1, 128}};
  image.tensor_maps[1].axes = {{k, 1, 1, 1, 64}, {f, 1, 0, 1, 64}};
  image.tensor_maps[1].offset = f;
  image.workspaces[0].columns = f;
  return image;
}

/// x[M, D0], w1[2*D1, D0], …, wn[2*Dn, Dn-1], rstd, scale -> y[M, Dn]: n kernels, n - 1 tensors between them.
inline PlanImage sample_plan(int steps) {
  using Role = ParamSpec::Role;
  const Dim m = Dim::symbol("M");
  const auto d = [](int i) { return Dim::symbol("D" + std::to_string(i)); };
  PlanImage plan;
  plan.name = "chain";
  plan.target = "sm_90a";
  plan.params.push_back({"x", Role::In, DType::BF16, {m, d(0)}, {}});
  for (int i = 1; i <= steps; ++i) {
    plan.params.push_back({"w" + std::to_string(i), Role::In, DType::BF16, {Dim(2) * d(i), d(i - 1)}, {}});
  }
  plan.params.push_back({"rstd", Role::In, DType::F32, {m}, {}});
  plan.params.push_back({"scale", Role::Scalar, DType::F32, {}, 1.5});
  plan.params.push_back({"y", Role::Out, DType::BF16, {m, d(steps)}, {}});
  const int rstd = steps + 1, scale = steps + 2, y = steps + 3, first_tensor = steps + 4;
  for (int i = 1; i <= steps; ++i) {
    PlanStep step;
    step.kernel = sample_link("link" + std::to_string(i), d(i - 1), d(i));
    step.arguments = {i == 1 ? 0 : first_tensor + i - 2, i, rstd, scale, i == steps ? y : first_tensor + i - 1};
    plan.steps.push_back(std::move(step));
    if (i < steps) plan.tensors.push_back({"t" + std::to_string(i), DType::BF16, {m, d(i)}});
  }
  return plan;
}

}  // namespace coda::testing
