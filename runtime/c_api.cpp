#include "runtime/c_api.h"

#include <algorithm>

#include "runtime/dlpack.h"

using namespace coda;

static_assert(CODA_OUT_OF_MEMORY == static_cast<int>(Code::OutOfMemory) &&
              CODA_DRIVER == static_cast<int>(Code::Driver));
static_assert(CODA_BOOL == static_cast<int>(DType::Bool) && CODA_UE8M0 == static_cast<int>(DType::UE8M0) &&
              CODA_I64 == static_cast<int>(DType::I64) && CODA_BF16 == static_cast<int>(DType::BF16));
static_assert(CODA_SCALAR == static_cast<int>(ParamSpec::Role::Scalar) && CODA_HOST == kHostDevice);

namespace {

Status null_argument() { return {Code::InvalidArgument, "a pointer is null"}; }

Status no_param(const Signature& image, const std::string& name) {
  std::string names;
  for (const ParamSpec& param : image.params) names += (names.empty() ? "" : ", ") + param.name;
  return {Code::InvalidArgument, "kernel '" + image.name + "' has no parameter '" + name + "'; it has " + names};
}

Status read_tensor(const std::string& name, const coda_argument& argument, Argument& out) {
  if (argument.dtype < 0 || argument.dtype > CODA_BOOL) {
    return argument_error(name, "its type has the unknown number " + std::to_string(argument.dtype));
  }
  if (argument.rank < 0 || argument.rank > kMaxRank || (argument.rank > 0 && !argument.shape)) {
    return argument_error(name, "it has " + std::to_string(argument.rank) + " axes, at most " +
                                    std::to_string(kMaxRank) + " are possible");
  }
  TensorView view;
  view.data = argument.data;
  view.dtype = static_cast<DType>(argument.dtype);
  view.device = argument.device;
  for (int32_t axis = 0; axis < argument.rank; ++axis) {
    view.shape.push_back(argument.shape[axis]);
    if (argument.strides) view.strides.push_back(argument.strides[axis]);
  }
  if (!argument.strides) view.strides = contiguous_strides(view.shape);
  out = view;
  return {};
}

Status read_argument(const std::string& name, const coda_argument& argument, Argument& out) {
  switch (argument.kind) {
    case CODA_TENSOR:
      return read_tensor(name, argument, out);
    case CODA_REAL:
      out = argument.real;
      return {};
    case CODA_INTEGER:
      out = argument.integer;
      return {};
    default:
      return argument_error(name, "its kind has the unknown number " + std::to_string(argument.kind));
  }
}

/// Puts the arguments in the order of the parameters.
Status order_arguments(const Kernel& kernel, std::span<const coda_argument> given, std::vector<Argument>& ordered) {
  const Signature& image = kernel.signature();
  ordered.assign(image.params.size(), std::monostate());
  for (size_t i = 0; i < given.size(); ++i) {
    std::optional<int> index;
    if (given[i].name) {
      index = kernel.param_index(given[i].name);
      if (!index) return no_param(image, given[i].name);
    } else if (i < image.params.size()) {
      index = static_cast<int>(i);
    } else {
      return {Code::InvalidArgument, "kernel '" + image.name + "' takes " + std::to_string(image.params.size()) +
                                         " arguments, " + std::to_string(given.size()) + " were given"};
    }
    const std::string& name = image.params[static_cast<size_t>(*index)].name;
    Argument& place = ordered[static_cast<size_t>(*index)];
    if (!std::holds_alternative<std::monostate>(place)) return argument_error(name, "it is given twice");
    if (Status status = read_argument(name, given[i], place); !status.ok()) return status;
  }
  return {};
}

thread_local std::string last_error;

/// The arguments of one call in order; one a thread, so that calls do not allocate.
std::vector<Argument>& thread_arguments() {
  thread_local std::vector<Argument> ordered;
  return ordered;
}

/// Calls `use` with the arguments in order.
template <class F>
coda_code with_arguments(const coda_kernel* kernel, const coda_argument* arguments, size_t count, F use) {
  return guarded([&]() -> Status {
    if (!kernel || (count > 0 && !arguments)) return null_argument();
    std::vector<Argument>& ordered = thread_arguments();
    Status status = order_arguments(*kernel->kernel, {arguments, count}, ordered);
    return status.ok() ? use(std::span<const Argument>(ordered)) : status;
  });
}

Status keep_image(Expected<Artefact> loaded, coda_image** out) {
  if (!loaded) return loaded.status();
  *out = new coda_image{std::move(*loaded)};
  return {};
}

}  // namespace

namespace coda {

coda_code report(const Status& status) {
  if (!status.ok()) last_error = status.message();
  return static_cast<coda_code>(status.code());
}

std::optional<Bindings> read_bindings(const coda_binding* bindings, size_t count) {
  Bindings read;
  for (size_t i = 0; i < count; ++i) {
    if (!bindings || !bindings[i].symbol) return std::nullopt;
    read[bindings[i].symbol] = bindings[i].value;
  }
  return read;
}

}  // namespace coda

uint32_t coda_abi_version(void) { return CODA_ABI_VERSION; }

const char* coda_error(void) { return last_error.c_str(); }

coda_code coda_image_load(const char* path, coda_image** out) {
  return guarded([&] { return path && out ? keep_image(load_artefact(path), out) : null_argument(); });
}

coda_code coda_image_from_bytes(const void* bytes, size_t size, coda_image** out) {
  return guarded([&] {
    if (!bytes || !out) return null_argument();
    return keep_image(artefact_from_bytes({static_cast<const uint8_t*>(bytes), size}), out);
  });
}

coda_code coda_image_save(const coda_image* image, const char* path) {
  return guarded([&] { return image && path ? save_artefact(image->artefact, path) : null_argument(); });
}

void coda_image_free(coda_image* image) { delete image; }

const char* coda_image_name(const coda_image* image) { return image->signature().name.c_str(); }

const char* coda_image_target(const coda_image* image) { return image->targets.c_str(); }

int32_t coda_image_param_count(const coda_image* image) {
  return static_cast<int32_t>(image->signature().params.size());
}

coda_code coda_image_param(const coda_image* image, int32_t index, coda_param* out) {
  return guarded([&]() -> Status {
    if (!image || !out) return null_argument();
    if (index < 0 || index >= coda_image_param_count(image)) {
      return {Code::InvalidArgument, "there is no parameter " + std::to_string(index)};
    }
    const ParamSpec& param = image->signature().params[static_cast<size_t>(index)];
    *out = {param.name.c_str(), static_cast<coda_role>(param.role), static_cast<coda_dtype>(param.dtype),
            static_cast<int32_t>(param.extents.size()), param.default_value.has_value()};
    return {};
  });
}

const char* coda_image_param_dim(const coda_image* image, int32_t index, int32_t axis) {
  if (!image || index < 0 || index >= coda_image_param_count(image)) return nullptr;
  const auto& extents = image->signature().params[static_cast<size_t>(index)].extents;
  if (axis < 0 || axis >= static_cast<int32_t>(extents.size())) return nullptr;
  return extents[static_cast<size_t>(axis)].text().c_str();
}

coda_code coda_prepare(const coda_image* image, int32_t device, const coda_binding* given, size_t given_count,
                       coda_kernel** out) {
  return guarded([&]() -> Status {
    const auto bindings = read_bindings(given, given_count);
    if (!image || !out || !bindings) return null_argument();
    auto kernel = prepare(image->artefact, device, *bindings);
    if (!kernel) return kernel.status();
    *out = new coda_kernel{std::move(*kernel)};
    return {};
  });
}

void coda_kernel_free(coda_kernel* kernel) { delete kernel; }

coda_code coda_argument_from_dlpack(const void* tensor, coda_argument* out) {
  return guarded([&]() -> Status {
    if (!tensor || !out) return null_argument();
    const auto view = from_dlpack(tensor);
    if (!view) return view.status();
    const auto* given = static_cast<const DlpackTensor*>(tensor);
    out->kind = CODA_TENSOR;
    out->dtype = static_cast<coda_dtype>(view->dtype);
    out->data = view->data;
    out->device = view->device;
    out->rank = given->rank;
    out->shape = given->shape;
    out->strides = given->strides;
    return {};
  });
}

coda_code coda_launch(coda_kernel* kernel, const coda_argument* arguments, size_t count, void* stream) {
  return coda_launch_in(kernel, arguments, count, stream, nullptr, 0);
}

coda_code coda_launch_in(coda_kernel* kernel, const coda_argument* arguments, size_t count, void* stream,
                         void* workspace, size_t bytes) {
  return with_arguments(kernel, arguments, count, [&](std::span<const Argument> ordered) {
    return kernel->kernel->launch(ordered, stream, {workspace, bytes});
  });
}

coda_code coda_workspace_bytes(const coda_kernel* kernel, const coda_argument* arguments, size_t count, size_t* out) {
  return with_arguments(kernel, arguments, count, [&](std::span<const Argument> ordered) -> Status {
    if (!out) return null_argument();
    auto bytes = kernel->kernel->workspace_bytes(ordered);
    if (bytes) *out = static_cast<size_t>(*bytes);
    return bytes.status();
  });
}

coda_code coda_fold(coda_kernel* kernel, const coda_argument* arguments, size_t count, void* stream) {
  return with_arguments(kernel, arguments, count,
                        [&](std::span<const Argument> ordered) { return kernel->kernel->fold(ordered, stream); });
}

coda_code coda_weights_changed(coda_kernel* kernel) {
  return guarded([&]() -> Status {
    if (!kernel) return null_argument();
    kernel->kernel->weights_changed();
    return {};
  });
}

coda_code coda_record(coda_kernel* kernel, const coda_argument* arguments, size_t count, coda_recording** out) {
  return with_arguments(kernel, arguments, count, [&](std::span<const Argument> ordered) -> Status {
    if (!out) return null_argument();
    auto recording = record(*kernel->kernel, ordered);
    if (!recording) return recording.status();
    *out = new coda_recording{std::move(*recording)};
    return {};
  });
}

coda_code coda_recording_launch(coda_recording* recording, void* stream) {
  return guarded([&] { return recording ? recording->recording->launch(stream) : null_argument(); });
}

void coda_recording_free(coda_recording* recording) { delete recording; }
