#include "runtime/kernel.h"

#include <algorithm>
#include <set>

#include "runtime/device.h"
#include "runtime/loaded_kernel.h"
#include "runtime/planned_kernel.h"

namespace coda {

namespace {

Status check_place(const Signature& signature, int device) {
  const bool for_host = signature.target == "host";
  if (for_host == (device == kHostDevice)) return {};
  return {Code::Unsupported, "'" + signature.name + "' is compiled for " + signature.target + ", not for " +
                                 (for_host ? "CUDA device " + std::to_string(device) : "the host")};
}

Expected<std::unique_ptr<LoadedKernel>> load(LaunchPlan plan, int device) {
  if (device == kHostDevice) return load_host(std::move(plan));
  auto opened = Device::get(device);
  if (!opened) return opened.status();
  return load_cuda(std::move(plan), **opened);
}

void add_symbols(const Signature& signature, std::set<std::string>& known) {
  const auto add = [&](const Dim& dim) { known.merge(dim.symbols()); };
  for (const auto& [symbol, value] : signature.bound) known.insert(symbol);
  for (const ParamSpec& param : signature.params) std::for_each(param.extents.begin(), param.extents.end(), add);
  for (const FactSpec& fact : signature.facts) {
    add(fact.left);
    add(fact.right);
    if (fact.modulus) add(*fact.modulus);
  }
}

/// Values given for symbols: extents, of symbols that the code has.
Status check_given(const std::string& name, const std::set<std::string>& known, const Bindings& given) {
  for (const auto& [symbol, value] : given) {
    const auto bad = [&](const std::string& why) {
      return Status(Code::InvalidArgument, "kernel '" + name + "' " + why);
    };
    if (known.count(symbol) == 0) return bad("has no dimension '" + symbol + "'");
    if (value < 0) return bad("can't have dimension " + symbol + " = " + std::to_string(value));
  }
  return {};
}

Status check_given(const Signature& signature, const Bindings& given) {
  std::set<std::string> known;
  add_symbols(signature, known);
  return check_given(signature.name, known, given);
}

Expected<std::unique_ptr<Kernel>> prepare_checked(std::shared_ptr<const KernelImage> image, int device,
                                                  const Bindings& given) {
  if (Status status = check_place(*image, device); !status.ok()) return status;
  auto plan = LaunchPlan::create(std::move(image), given);
  if (!plan) return plan.status();
  auto kernel = load(std::move(*plan), device);
  if (!kernel) return kernel.status();
  return std::unique_ptr<Kernel>(std::move(*kernel));
}

Expected<std::unique_ptr<Kernel>> prepare_checked(std::shared_ptr<const PlanImage> image, int device,
                                                  const Bindings& given) {
  if (Status status = check_place(*image, device); !status.ok()) return status;
  auto layout = PlanLayout::create(std::move(image), given);
  if (!layout) return layout.status();
  std::vector<std::unique_ptr<LoadedKernel>> kernels;
  for (size_t step = 0; step < layout->image().steps.size(); ++step) {
    auto plan = layout->take_kernel(step);
    auto kernel = load(std::move(plan), device);
    if (!kernel) return kernel.status();
    kernels.push_back(std::move(*kernel));
  }
  auto memory = device == kHostDevice ? host_plan_memory() : cuda_plan_memory(device);
  if (!memory) return memory.status();
  return std::unique_ptr<Kernel>(
      std::make_unique<PlannedKernel>(std::move(*layout), std::move(kernels), std::move(*memory), device));
}

Expected<std::unique_ptr<Kernel>> prepare_checked(const std::shared_ptr<const Image>& image, int device,
                                                  const Bindings& given) {
  return std::visit(
      [&](const auto& kind) {
        return prepare_checked(std::shared_ptr<const std::decay_t<decltype(kind)>>(image, &kind), device, given);
      },
      *image);
}

}  // namespace

std::optional<int> Kernel::param_index(std::string_view name) const {
  const auto& params = signature().params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const KernelImage> image, int device, const Bindings& given) {
  if (Status status = check_given(*image, given); !status.ok()) return status;
  return prepare_checked(std::move(image), device, given);
}

Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const PlanImage> image, int device, const Bindings& given) {
  if (Status status = check_given(*image, given); !status.ok()) return status;
  return prepare_checked(std::move(image), device, given);
}

Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const Image> image, int device, const Bindings& given) {
  if (Status status = check_given(signature(*image), given); !status.ok()) return status;
  return prepare_checked(image, device, given);
}

Expected<std::shared_ptr<const Image>> image_for(const Artefact& artefact, int device) {
  if (artefact.images.empty()) return Status(Code::InvalidArgument, "the artefact is empty");
  if (artefact.images.size() == 1) return artefact.images.front();  // whether it fits, prepare() says in its own words
  const Device* cuda = nullptr;
  if (device != kHostDevice) {
    auto opened = Device::get(device);
    if (!opened) return opened.status();
    cuda = *opened;
  }
  for (const auto& image : artefact.images) {
    const std::string& target = signature(*image).target;
    if (cuda ? cuda->runs(target).ok() : target == "host") return image;
  }
  const std::string place =
      cuda ? "CUDA device " + std::to_string(device) + " (" + cuda->name() + "), which is " + cuda->arch() : "the host";
  return Status(Code::Unsupported, "'" + artefact.signature().name + "' is compiled for " + artefact.targets() +
                                       ", not for " + place + "; compile it for that too");
}

Expected<std::unique_ptr<Kernel>> prepare(const Artefact& artefact, int device, const Bindings& given) {
  std::set<std::string> known;  // of all targets: what one is specialised to, another may leave open
  for (const auto& image : artefact.images) add_symbols(signature(*image), known);
  if (!artefact.images.empty()) {
    if (Status status = check_given(artefact.signature().name, known, given); !status.ok()) return status;
  }
  auto image = image_for(artefact, device);
  return image ? prepare_checked(*image, device, given) : image.status();
}

}  // namespace coda
