#include "runtime/host.h"

#include <algorithm>
#include <array>

#include "runtime/host_gemm.h"

namespace coda {

namespace {

/// Rows of the finish stage that one task does.
constexpr int64_t kFinishRows = 1024;

template <class Function>
Status find(const HostObject& object, const std::string& name, Function& out) {
  out = reinterpret_cast<Function>(object.find(name));
  if (out) return {};
  return {Code::Corrupt, "the host image has no function '" + name + "'"};
}

class HostKernel : public LoadedKernel {
 public:
  HostKernel(LaunchPlan plan, HostCode code) : LoadedKernel(std::move(plan), kHostDevice), code_(std::move(code)) {}

  using Kernel::launch;
  Status launch(std::span<const Argument> arguments, void* stream, Workspace) override {
    thread_local Call call;
    if (Status status = plan().bind(arguments, kHostDevice, call.binding); !status.ok()) return status;
    return enqueue(arguments, call, stream, false);
  }

  Status admit(std::span<const Argument>, const Binding&) const override { return {}; }

  Status enqueue(std::span<const Argument>, Call& call, void*, bool) override {
    Binding& binding = call.binding;
    if (!binding.has_output) return {};
    HostPool& pool = HostPool::shared();
    const auto lock = pool.lock();
    std::vector<void*> addresses;
    workspaces_.resize(std::max(workspaces_.size(), binding.workspace_bytes.size()));
    for (size_t i = 0; i < binding.workspace_bytes.size(); ++i) {
      void* memory = workspaces_[i].get(static_cast<size_t>(binding.workspace_bytes[i]));
      if (!memory) {
        return {Code::OutOfMemory,
                "no memory for a workspace of " + std::to_string(binding.workspace_bytes[i]) + " bytes"};
      }
      addresses.push_back(memory);
    }
    plan().set_workspaces(addresses, binding);
    return code_.run(binding.words.data(), pool);
  }

 private:
  HostCode code_;
  std::vector<Scratch> workspaces_;  // guarded by the pool's lock
};

}  // namespace

Expected<HostCode> HostCode::load(const KernelImage& image) {
  if (image.code_kind != CodeKind::HostObject) return Status(Code::Unsupported, "the image holds no host code");
  auto object = HostObject::load(image.code);
  if (!object) return object.status().with_context("kernel '" + image.name + "'");
  HostCode code;
  code.object_ = std::move(*object);
  const HostObject& symbols = *code.object_;
  code.tiles_.resize(image.region_columns.size());
  Status status = find(symbols, image.entry + ".geometry", code.geometry_);
  if (status.ok()) status = find(symbols, image.entry + ".finish", code.finish_);
  if (status.ok() && find(symbols, image.entry + ".sweep", code.sweep_).ok()) return code;
  if (status.ok()) status = find(symbols, image.entry + ".rows", code.rows_);
  for (size_t r = 0; r < code.tiles_.size() && status.ok(); ++r) {
    status = find(symbols, image.entry + ".tile" + std::to_string(r), code.tiles_[r]);
  }
  if (!status.ok()) return status;
  return code;
}

Status HostCode::run(const int64_t* words, HostPool& pool) const {
  HostGeometry geometry;
  geometry_(words, &geometry);
  if (sweep_) {
    const int64_t rows = geometry.tile_rows;
    pool.run((geometry.rows + rows - 1) / rows,
             [&](int64_t i, int) { sweep_(words, i * rows, std::min(geometry.rows, (i + 1) * rows)); });
    finish_(words);
    return {};
  }
  const HostTileSink sink = [&](int64_t region, const float* accumulators, int64_t row, int64_t rows, int64_t column,
                                int64_t columns, int64_t row_tile) {
    tiles_[static_cast<size_t>(region)](words, accumulators, row, rows, column, columns, row_tile);
  };
  if (Status status = host_gemm(geometry, pool, sink); !status.ok()) return status;
  pool.run((geometry.rows + kFinishRows - 1) / kFinishRows,
           [&](int64_t i, int) { rows_(words, i * kFinishRows, std::min(geometry.rows, (i + 1) * kFinishRows)); });
  finish_(words);
  return {};
}

Expected<std::unique_ptr<LoadedKernel>> load_host(LaunchPlan plan) {
  auto code = HostCode::load(plan.image());
  if (!code) return code.status();
  return std::unique_ptr<LoadedKernel>(std::make_unique<HostKernel>(std::move(plan), std::move(*code)));
}

}  // namespace coda
