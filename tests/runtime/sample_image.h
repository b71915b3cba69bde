// An image as a compiler would make it, for the runtime's tests: gate_up with checkpoint-layout weights.
#pragma once

#include "runtime/format/kernel_image.h"

namespace coda::testing {

inline KernelImage sample_image() {
  const Dim m = Dim::symbol("M"), f = Dim::symbol("F"), k = Dim::symbol("K");
  KernelImage image;
  image.name = "gate_up";
  image.target = "sm_90a";
  image.params = {
      {"x", ParamSpec::Role::In, DType::BF16, {m, k}, {}},
      {"w", ParamSpec::Role::In, DType::BF16, {Dim(2) * f, k}, {}},
      {"rstd", ParamSpec::Role::In, DType::F32, {m}, {}},
      {"scale", ParamSpec::Role::Scalar, DType::F32, {}, 1.5},
      {"act", ParamSpec::Role::Out, DType::BF16, {m, f}, {}},
  };
  image.facts = {{k, Dim(0), Dim(8), "="}};
  image.code_kind = CodeKind::Ptx;
  image.entry = "gate_up";
  const std::string code = ".version 8.0\n.target sm_90a\n.address_size 64\n";
  image.code.assign(code.begin(), code.end());
  image.rows = m;
  image.depth = k;
  image.region_columns = {f};
  image.region_segments = {2};
  image.tile_rows = 128;
  image.tile_columns = 256;
  image.cluster = 2;
  image.threads = 384;
  image.shared_bytes = 200 * 1024;
  using Kind = WordSpec::Kind;
  image.words = {{Kind::Pointer, 0, -1, {}}, {Kind::Stride, 0, 0, {}},   {Kind::Pointer, 1, -1, {}},
                 {Kind::Stride, 1, 0, {}},   {Kind::Pointer, 2, -1, {}}, {Kind::Scalar, 3, -1, {}},
                 {Kind::Pointer, 4, -1, {}}, {Kind::Stride, 4, 0, {}},   {Kind::Extent, -1, -1, m},
                 {Kind::Extent, -1, -1, f},  {Kind::Extent, -1, -1, k},  {Kind::Workspace, 0, -1, {}},
                 {Kind::Conditions},         {Kind::TensorMaps}};
  image.conditions = {{4, 1, 16, {f}, 8}};
  TensorMapSpec a, b;
  a.param = 0;
  a.axes = {{k, 1, 1, 1, 64}, {m, 1, 0, 1, 128}};
  b.param = 1;
  b.axes = {{k, 1, 1, 1, 64}, {f, 1, 0, 1, 64}};
  b.offset_axis = 0;
  b.offset = f;
  image.tensor_maps = {a, b};
  image.workspaces = {{m * Dim(4), m, f, 128, 128, 512, true}};
  image.schedule = "coop128x256";
  return image;
}

}  // namespace coda::testing
