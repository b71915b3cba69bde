// Kernels on a CUDA device.
#include <algorithm>
#include <array>

#include "runtime/assemble.h"
#include "runtime/change.h"
#include "runtime/device_pointers.h"
#include "runtime/kept_per_thread.h"
#include "runtime/launch_function.h"
#include "runtime/loaded_kernel.h"
#include "runtime/relaxed_capture.h"
#include "runtime/tensor_map.h"
#include "runtime/workspace.h"

namespace coda {

namespace {

constexpr size_t kMostMaps = 64;  // check_image() refuses more

/// "PTX 8.0", from its own words; empty for machine code.
std::string ptx_version(std::span<const uint8_t> code) {
  constexpr std::string_view kDirective = ".version ";
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  const size_t at = text.find(kDirective);
  if (text.starts_with("\x7f"
                       "ELF") ||
      at == std::string_view::npos)
    return "";
  const std::string_view rest = text.substr(at + kDirective.size());
  return "PTX " + std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

/// What to do about a driver that doesn't know the code's version.
std::string remedy(const Driver& cu, std::span<const uint8_t> code) {
  const std::string version = ptx_version(code);
  return "; this driver, of CUDA " + std::to_string(cu.version() / 1000) + "." +
         std::to_string(cu.version() % 1000 / 10) + ", is too old for the code" +
         (version.empty() ? "" : ", which is " + version) + ": update it, or install ptxas";
}

class Module {
 public:
  explicit Module(const Device& device) : device_(device) {}
  ~Module() {
    if (!module_) return;
    const ContextScope scope(device_);
    const RelaxedCapture relaxed(device_.cu());
    if (scope.status().ok()) (void)device_.cu().cuModuleUnload(module_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Status load(std::span<const uint8_t> code, const KernelImage& image) {
    const ContextScope scope(device_);
    if (!scope.status().ok()) return scope.status();
    const Driver& cu = device_.cu();
    const RelaxedCapture relaxed(cu);
    if (!relaxed.status().ok()) return relaxed.status();
    if (Status status = load_module(cu, code); !status.ok()) return status;
    if (Status status = cu.cuModuleGetFunction(&function_, module_, image.entry.c_str()); !status.ok()) return status;
    if (image.shared_bytes == 0) return {};
    return cu.cuFuncSetAttribute(function_, kCuFunctionMaxDynamicShared, image.shared_bytes);
  }
  CuFunction function() const { return function_; }

 private:
  /// With the driver's own words on what it could not assemble.
  Status load_module(const Driver& cu, std::span<const uint8_t> code) {
    std::vector<char> log(8192);
    int options[] = {kCuJitErrorLog, kCuJitErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    const CuResult result = cu.cuModuleLoadDataEx.raw(&module_, code.data(), 2, options, values);
    if (result == kCuSuccess) return {};
    log.back() = 0;
    const Status status = cu.check(result, "cuModuleLoadDataEx");
    const std::string help = result == kCuUnsupportedPtx ? remedy(cu, code) : "";
    return {status.code(), status.message() + help + (log[0] ? ":\n" + std::string(log.data()) : "")};
  }

  const Device& device_;
  CuModule module_ = nullptr;
  CuFunction function_ = nullptr;
};

class CudaKernel : public LoadedKernel {
 public:
  CudaKernel(LaunchPlan plan, const Device& device)
      : LoadedKernel(std::move(plan), device.ordinal()),
        device_(device),
        module_(device),
        workspaces_(device, image().workspaces),
        pointers_(device) {}

  Status load() {
    auto code = device_code(image());
    if (!code) return code.status();
    return module_.load(*code, image());
  }

  using Kernel::launch;
  Status launch(std::span<const Argument> arguments, void* stream, Workspace workspace) override;
  /// Kernels count rows, columns, depth and tiles in 32 bits.
  Status admit(std::span<const Argument> arguments, const Binding& binding) const override;
  Status enqueue(std::span<const Argument> arguments, Call& call, void* stream, bool follows) override;

 private:
  /// A thread's last launch. Without arguments: none, or one that failed.
  struct Last {
    std::vector<Argument> arguments;
    Call call;
  };

  /// Checks and binds what differs from the last launch, in the device's context.
  Status bind(std::span<const Argument> arguments, Last& last) const;
  /// enqueue() with the device's context current.
  Status enqueue_here(std::span<const Argument> arguments, Call& call, void* stream, bool follows);
  /// Fills the tensor maps and the words that depend on them and on the workspaces.
  Status fill_parameters(std::span<const Argument> arguments, CuStream stream, Call& call);
  void encode_maps(std::span<const Argument> arguments, Call& call) const;
  int64_t grid(const Binding& binding) const;

  const Device& device_;
  Module module_;
  WorkspacePool workspaces_;
  DevicePointers pointers_;
  KeptPerThread<Last> last_;
};

Status CudaKernel::admit(std::span<const Argument> arguments, const Binding& binding) const {
  constexpr int64_t kMost = (int64_t{1} << 31) - (int64_t{1} << 16);  // room for the last tile to reach beyond
  auto too_large = [&](const std::string& what, int64_t value) {
    return Status(Code::Unsupported, "kernel '" + image().name + "': " + what + " is " + std::to_string(value) +
                                         "; one launch can do at most " + std::to_string(kMost));
  };
  if (binding.rows > kMost) return too_large(image().rows.text(), binding.rows);
  if (binding.depth > kMost) return too_large(image().depth.text(), binding.depth);
  for (size_t i = 0; i < binding.region_columns.size(); ++i) {
    if (binding.region_columns[i] > kMost)
      return too_large(image().region_columns[i].text(), binding.region_columns[i]);
  }
  if (binding.tiles > kMost / image().split) return too_large("the number of tiles", binding.tiles);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* view = std::get_if<TensorView>(&arguments[i]);
    for (int axis = 0; view && axis < view->shape.size(); ++axis) {
      if (view->shape[axis] > kMost) {
        return too_large("axis " + std::to_string(axis) + " of '" + image().params[i].name + "'", view->shape[axis]);
      }
    }
  }
  return {};
}

Status CudaKernel::fill_parameters(std::span<const Argument> arguments, CuStream stream, Call& call) {
  Binding& binding = call.binding;
  if (!binding.workspace_bytes.empty()) {
    std::array<void*, 16> addresses{};
    const std::span<void*> used = std::span(addresses).first(binding.workspace_bytes.size());
    if (Status status = workspaces_.get(stream, binding.workspace_bytes, used); !status.ok()) return status;
    plan().set_workspaces(used, binding);
  }
  encode_maps(arguments, call);
  return {};
}

void CudaKernel::encode_maps(std::span<const Argument> arguments, Call& call) const {
  const auto& maps = image().tensor_maps;
  if (call.made.size() != maps.size()) {
    call.maps.assign(maps.size(), {});
    call.made.assign(maps.size(), {});
    call.map_bits = 0;
  }
  for (size_t i = 0; i < maps.size(); ++i) {
    const auto& view = std::get<TensorView>(arguments[static_cast<size_t>(maps[i].param)]);
    Call::Map& made = call.made[i];
    if (view.data == made.made_for) continue;
    if (made.values) {
      move_tensor_map(*made.values, made.made_for, view.data);
    } else {
      made.values = tensor_map_values(maps[i], plan().map_dims(i), call.binding.symbols, view);
    }
    made.made_for = view.data;
    const bool encoded = made.values && encode_tensor_map(device_.cu(), *made.values, call.maps[i]);
    if (!encoded) call.maps[i] = {};
    const uint64_t bit = uint64_t{1} << i;
    call.map_bits = encoded ? call.map_bits | bit : call.map_bits & ~bit;
  }
  plan().set_tensor_map_bits(call.map_bits, call.binding);
}

int64_t CudaKernel::grid(const Binding& binding) const {
  // Persistent CTAs: as many clusters as fit the device, or one a tile group if there are fewer. One at least, for
  // outputs that don't depend on any tile.
  const int64_t cluster = image().cluster;
  const int64_t most = std::max<int64_t>(device_.sm_count() / cluster * image().ctas_per_sm, 1);
  return std::clamp<int64_t>(binding.tiles / cluster * image().split, 1, most) * cluster;
}

Status CudaKernel::bind(std::span<const Argument> arguments, Last& last) const {
  const Change since = change(last.arguments, arguments);
  if (since == Change::None) return {};
  Binding& binding = last.call.binding;
  if (since == Change::Values) {
    if (Status status = plan().rebind(arguments, binding); !status.ok() || !binding.has_output) return status;
    return pointers_.check(signature(), arguments, last.arguments);
  }
  last.call.forget_maps();
  if (Status status = plan().bind(arguments, device(), binding); !status.ok()) return status;
  if (!binding.has_output) return {};
  if (Status status = admit(arguments, binding); !status.ok()) return status;
  return pointers_.check(signature(), arguments);
}

Status CudaKernel::launch(std::span<const Argument> arguments, void* stream, Workspace) {
  if (device_.cu().forked()) return device_.cu().forked_status();
  const ContextScope scope(device_);
  if (!scope.status().ok()) return scope.status();
  const auto last = last_.use();
  Status status = bind(arguments, *last);
  if (status.ok()) status = enqueue_here(arguments, last->call, stream, false);
  if (status.ok()) {
    last->arguments.assign(arguments.begin(), arguments.end());
  } else {
    last->arguments.clear();
  }
  return status;
}

Status CudaKernel::enqueue(std::span<const Argument> arguments, Call& call, void* stream, bool follows) {
  const ContextScope scope(device_);
  return scope.status().ok() ? enqueue_here(arguments, call, stream, follows) : scope.status();
}

Status CudaKernel::enqueue_here(std::span<const Argument> arguments, Call& call, void* stream_handle, bool follows) {
  Binding& binding = call.binding;
  if (!binding.has_output) return {};
  const auto stream = static_cast<CuStream>(stream_handle);
  if (Status status = fill_parameters(arguments, stream, call); !status.ok()) return status;
  // The kernel's parameters: the maps, then the words as one. The driver places them (a map is aligned to 64 bytes, and
  // the parameter space does not begin at a multiple of that).
  const size_t maps = call.maps.size();
  std::array<void*, kMostMaps + 1> parameters;
  for (size_t i = 0; i < maps; ++i) parameters[i] = &call.maps[i];
  parameters[maps] = binding.words.data();

  const LaunchShape shape{static_cast<unsigned>(grid(binding)), static_cast<unsigned>(image().threads),
                          static_cast<unsigned>(image().shared_bytes)};
  const Status status =
      launch_function(device_.cu(), module_.function(), shape, stream, parameters.data(), follows && image().dependent);
  return status.ok() ? status : status.with_context("kernel '" + image().name + "'");
}

}  // namespace

Expected<std::unique_ptr<LoadedKernel>> load_cuda(LaunchPlan plan, const Device& device) {
  const KernelImage& image = plan.image();
  if (Status status = device.runs(image.target); !status.ok()) return status;
  if (image.shared_bytes > device.shared_bytes()) {
    return Status(Code::Unsupported, "kernel '" + image.name + "' needs " + std::to_string(image.shared_bytes) +
                                         " bytes of shared memory, CUDA device " + std::to_string(device.ordinal()) +
                                         " has " + std::to_string(device.shared_bytes()));
  }
  if (image.threads < 1 || image.workspaces.size() > 16) {
    return Status(Code::Corrupt, "kernel '" + image.name + "' has no usable launch geometry");
  }
  auto kernel = std::make_unique<CudaKernel>(std::move(plan), device);
  if (Status status = kernel->load(); !status.ok()) return status.with_context("kernel '" + kernel->image().name + "'");
  return std::unique_ptr<LoadedKernel>(std::move(kernel));
}

}  // namespace coda
