#include "tests/runtime/fake_cuda/fake_cuda.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

using namespace coda;

// The definitions below must agree with the table that the runtime loads.
#define CODA_DRIVER(symbol, ...) extern "C" CuResult symbol(__VA_ARGS__);
#include "runtime/driver_table.def"
#undef CODA_DRIVER

namespace {

constexpr int kCaptureUnsupported = 900, kInvalidContext = 201, kInvalidDevice = 101, kNotFound = 500;
constexpr int kInvalidHandle = 400;
constexpr int kInvalidPtx = 218, kLaunchFailed = 719;
constexpr size_t kLeastLog = 512;  ///< bytes of a log that a caller gives at least

struct Graph {
  std::vector<fake_cuda::Launch> launches;
};

/// A function of a module that this driver doesn't run: as a real one, it belongs to the context it was loaded in.
struct Function {
  std::string name;
  int device = 0;
  auto operator<=>(const Function&) const = default;
};

std::mutex mutex;
fake_cuda::State state;
std::map<CuStream, std::pair<uint64_t, Graph*>> capturing;  // stream -> capture id, graph
std::set<CuStream> streams;
thread_local std::vector<CuContext> contexts;
thread_local int capture_mode = 0;
thread_local int depth = 0;
fake_cuda::Machine* machine = nullptr;
std::string failure_text;  ///< of the machine's last failure

CuContext context_of(int device) {
  return reinterpret_cast<CuContext>(uintptr_t{0x100} + static_cast<unsigned>(device));
}
int current_device() { return static_cast<int>(reinterpret_cast<uintptr_t>(contexts.back()) - 0x100); }

/// Counts the call; its injected failure, or success.
int enter(const char* name) {
  const std::lock_guard lock(mutex);
  ++state.calls[name];
  const auto it = state.failures.find(name);
  if (it == state.failures.end()) return kCuSuccess;
  const int result = it->second;
  state.failures.erase(it);
  return result;
}

int device_count() { return machine ? 1 : state.devices; }
bool unsafe_in_capture() { return !capturing.empty() && capture_mode != kCuCaptureRelaxed; }

struct Inside {
  Inside() { ++depth; }
  ~Inside() { --depth; }
};

CuResult fail_launch(const std::string& why) {
  const std::lock_guard lock(mutex);
  failure_text = why;
  return kLaunchFailed;
}

/// Runs a launch, or keeps it for the tests. Not under the lock.
CuResult perform(const fake_cuda::Launch& launch) {
  std::function<void(const fake_cuda::Launch&)> run;
  {
    const std::lock_guard lock(mutex);
    run = state.on_launch;
    if (!run && !machine) state.launches.push_back(launch);
  }
  if (run) run(launch);
  if (!machine) return kCuSuccess;
  const std::string wrong = machine->launch(launch.function, launch);
  return wrong.empty() ? kCuSuccess : fail_launch(wrong);
}

#define ENTER()      \
  const Inside here; \
  if (const int failure = enter(__func__)) return failure
#define NEED_CONTEXT() \
  if (contexts.empty()) return kInvalidContext

}  // namespace

namespace fake_cuda {

State snapshot() {
  const std::lock_guard lock(mutex);
  return state;
}
void reset() {
  const std::lock_guard lock(mutex);
  auto memory = std::move(state.memory);
  state = State();
  state.memory = std::move(memory);
}
void use_machine(Machine* its) { machine = its; }
void set_parameter_bytes(std::vector<size_t> bytes) {
  const std::lock_guard lock(mutex);
  state.parameter_bytes = std::move(bytes);
}
void fail_next(const std::string& call, int result) {
  const std::lock_guard lock(mutex);
  state.failures[call] = result;
}
void on_launch(std::function<void(const Launch&)> function) {
  const std::lock_guard lock(mutex);
  state.on_launch = std::move(function);
}
bool inside() { return depth > 0; }
std::string library_path() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&library_path), &info);
  return info.dli_fname;
}

}  // namespace fake_cuda

CuResult cuInit(unsigned) {
  ENTER();
  return kCuSuccess;
}
CuResult cuDriverGetVersion(int* version) {
  ENTER();
  *version = 13000;
  return kCuSuccess;
}
CuResult cuGetErrorName(CuResult result, const char** name) {
  *name = result == kCuOutOfMemory  ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED"
                                    : "CUDA_ERROR_FAKE";
  return kCuSuccess;
}
CuResult cuGetErrorString(CuResult result, const char** text) {
  static thread_local std::string copy;
  const std::lock_guard lock(mutex);
  copy = failure_text;
  *text = result == kCuOutOfMemory ? "out of memory" : result == kLaunchFailed ? copy.c_str() : "a fake error";
  return kCuSuccess;
}
CuResult cuDeviceGetCount(int* count) {
  ENTER();
  *count = device_count();
  return kCuSuccess;
}
CuResult cuDeviceGet(CuDevice* device, int ordinal) {
  ENTER();
  *device = ordinal;
  return ordinal < device_count() ? kCuSuccess : kInvalidDevice;
}
CuResult cuDeviceGetName(char* name, int bytes, CuDevice device) {
  std::strncpy(name, machine ? "Emulated H200" : device == 0 ? "Fake H200" : "Fake A100", static_cast<size_t>(bytes));
  return kCuSuccess;
}
CuResult cuDeviceGetAttribute(int* value, int attribute, CuDevice device) {
  const std::map<int, std::pair<int, int>> values = {{kCuAttributeMajor, {9, 8}},
                                                     {kCuAttributeMinor, {0, 0}},
                                                     {kCuAttributeSmCount, {132, 108}},
                                                     {kCuAttributeSharedOptin, {232448, 166912}}};
  const auto it = values.find(attribute);
  if (it == values.end()) return kCuInvalidValue;
  *value = device == 0 ? it->second.first : it->second.second;
  if (machine && attribute == kCuAttributeSmCount) *value = machine->sm_count();
  return kCuSuccess;
}
CuResult cuDeviceTotalMem_v2(size_t* bytes, CuDevice) {
  *bytes = size_t{1} << 37;
  return kCuSuccess;
}
CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  ENTER();
  *context = context_of(device);
  return kCuSuccess;
}
CuResult cuCtxGetCurrent(CuContext* context) {
  ENTER();
  *context = contexts.empty() ? nullptr : contexts.back();
  return kCuSuccess;
}
CuResult cuCtxPushCurrent_v2(CuContext context) {
  ENTER();
  contexts.push_back(context);
  return kCuSuccess;
}
CuResult cuCtxPopCurrent_v2(CuContext* context) {
  NEED_CONTEXT();
  *context = contexts.back();
  contexts.pop_back();
  return kCuSuccess;
}
CuResult cuCtxSynchronize() { return kCuSuccess; }

CuResult cuMemAlloc_v2(CuDevicePtr* address, size_t bytes) {
  ENTER();
  NEED_CONTEXT();
  const std::lock_guard lock(mutex);
  if (unsafe_in_capture()) return kCaptureUnsupported;
  if (bytes == 0 || bytes > size_t{1} << 36) return bytes == 0 ? kCuInvalidValue : kCuOutOfMemory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xa5, bytes);
  state.memory[reinterpret_cast<uintptr_t>(memory)] = {bytes, current_device()};
  if (machine) machine->allocated(reinterpret_cast<uintptr_t>(memory), bytes);
  *address = reinterpret_cast<uintptr_t>(memory);
  return kCuSuccess;
}
CuResult cuMemFree_v2(CuDevicePtr address) {
  ENTER();
  const std::lock_guard lock(mutex);
  if (unsafe_in_capture()) return kCaptureUnsupported;
  if (state.memory.erase(static_cast<uintptr_t>(address)) != 1) return kCuInvalidValue;
  if (machine) machine->freed(static_cast<uintptr_t>(address));
  std::free(reinterpret_cast<void*>(address));
  return kCuSuccess;
}
CuResult cuMemcpyHtoDAsync_v2(CuDevicePtr to, const void* from, size_t bytes, CuStream) {
  ENTER();
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  if (machine) machine->written(static_cast<uintptr_t>(to), bytes);
  return kCuSuccess;
}
CuResult cuMemcpyDtoHAsync_v2(void* to, CuDevicePtr from, size_t bytes, CuStream) {
  ENTER();
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  if (!machine) return kCuSuccess;
  const std::string wrong = machine->read(static_cast<uintptr_t>(from), bytes);
  if (!wrong.empty()) return fail_launch(wrong);
  return kCuSuccess;
}
CuResult cuMemsetD8Async(CuDevicePtr at, unsigned char value, size_t bytes, CuStream) {
  ENTER();
  std::memset(reinterpret_cast<void*>(at), value, bytes);
  if (machine) machine->written(static_cast<uintptr_t>(at), bytes);
  return kCuSuccess;
}
CuResult cuPointerGetAttributes(unsigned count, int* attributes, void** values, CuDevicePtr address) {
  ENTER();
  const std::lock_guard lock(mutex);
  auto it = state.memory.upper_bound(static_cast<uintptr_t>(address));
  const bool known = it != state.memory.begin() && address < std::prev(it)->first + std::prev(it)->second.first;
  for (unsigned i = 0; i < count; ++i) {  // what is not known is no error, but 0 throughout
    int value = 0;
    if (known) {
      value = attributes[i] == kCuPointerMemoryType ? static_cast<int>(kCuMemoryDevice) : std::prev(it)->second.second;
    }
    std::memcpy(values[i], &value, sizeof(value));
  }
  return kCuSuccess;
}

CuResult cuStreamCreate(CuStream* stream, unsigned) {
  ENTER();
  NEED_CONTEXT();
  static uintptr_t next = 0x1000;
  const std::lock_guard lock(mutex);
  *stream = reinterpret_cast<CuStream>(next++);
  streams.insert(*stream);
  return kCuSuccess;
}
CuResult cuStreamDestroy_v2(CuStream stream) {
  ENTER();
  const std::lock_guard lock(mutex);
  return streams.erase(stream) == 1 ? kCuSuccess : kCuInvalidValue;
}
CuResult cuStreamSynchronize(CuStream stream) {
  ENTER();
  const std::lock_guard lock(mutex);
  return capturing.contains(stream) || unsafe_in_capture() ? kCaptureUnsupported : kCuSuccess;
}
CuResult cuStreamGetCaptureInfo_v2(CuStream stream, int* status, unsigned long* id, CuGraph*, const CuGraphNode**,
                                   size_t*) {
  ENTER();
  const std::lock_guard lock(mutex);
  const auto it = capturing.find(stream);
  *status = it == capturing.end() ? kCuCaptureNone : kCuCaptureActive;
  if (it != capturing.end()) *id = it->second.first;
  return kCuSuccess;
}
CuResult cuStreamBeginCapture_v2(CuStream stream, int) {
  const std::lock_guard lock(mutex);
  capturing[stream] = {++state.captures, new Graph};
  return kCuSuccess;
}
CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph) {
  const std::lock_guard lock(mutex);
  *graph = reinterpret_cast<CuGraph>(capturing.at(stream).second);
  capturing.erase(stream);
  return kCuSuccess;
}
CuResult cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER();
  std::swap(*mode, capture_mode);
  return kCuSuccess;
}
CuResult cuGraphInstantiateWithFlags(CuGraphExec* executable, CuGraph graph, unsigned long long) {
  *executable = reinterpret_cast<CuGraphExec>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return kCuSuccess;
}
CuResult cuGraphLaunch(CuGraphExec executable, CuStream) {
  const auto& launches = reinterpret_cast<Graph*>(executable)->launches;
  if (!machine) {
    const std::lock_guard lock(mutex);
    state.launches.insert(state.launches.end(), launches.begin(), launches.end());
    return kCuSuccess;
  }
  for (const fake_cuda::Launch& launch : launches) {
    if (const CuResult result = perform(launch)) return result;
  }
  return kCuSuccess;
}
CuResult cuGraphExecDestroy(CuGraphExec executable) {
  delete reinterpret_cast<Graph*>(executable);
  return kCuSuccess;
}
CuResult cuGraphDestroy(CuGraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return kCuSuccess;
}

CuResult cuEventCreate(CuEvent* event, unsigned) {
  ENTER();
  *event = reinterpret_cast<CuEvent>(uintptr_t{0x77});
  return kCuSuccess;
}
CuResult cuEventDestroy_v2(CuEvent) { return kCuSuccess; }
CuResult cuEventRecord(CuEvent, CuStream) { return kCuSuccess; }
CuResult cuEventSynchronize(CuEvent) { return kCuSuccess; }
CuResult cuEventElapsedTime(float* time, CuEvent, CuEvent) {
  *time = 1.5f;
  return kCuSuccess;
}

CuResult cuModuleLoadDataEx(CuModule* module, const void* data, unsigned options, int* names, void** values) {
  if (const int failure = enter(__func__)) {
    for (unsigned i = 0; i < options; ++i) {
      if (names[i] == kCuJitErrorLog) std::strcpy(static_cast<char*>(values[i]), "ptxas fatal: a fake reason");
    }
    return failure;
  }
  NEED_CONTEXT();
  {
    const std::lock_guard lock(mutex);
    if (unsafe_in_capture()) return kCaptureUnsupported;
    ++state.modules;
  }
  if (machine && data) {
    std::string log;
    *module = machine->load(static_cast<const char*>(data), log);
    for (unsigned i = 0; i < options && !*module; ++i) {
      if (names[i] != kCuJitErrorLog) continue;
      const std::string fits = log.substr(0, kLeastLog);
      std::memcpy(values[i], fits.c_str(), fits.size() + 1);
    }
    return *module ? kCuSuccess : kInvalidPtx;
  }
  *module = static_cast<CuModule>(const_cast<void*>(data));
  return data ? kCuSuccess : kCuInvalidValue;
}
CuResult cuModuleUnload(CuModule module) {
  ENTER();
  {
    const std::lock_guard lock(mutex);
    if (unsafe_in_capture()) return kCaptureUnsupported;
    --state.modules;
  }
  if (machine) machine->unload(module);
  return kCuSuccess;
}
CuResult cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  ENTER();
  if (machine) {
    *function = machine->function(module, name);
    return *function ? kCuSuccess : kNotFound;
  }
  static std::set<Function> functions;
  const std::lock_guard lock(mutex);
  if (!*name) return kNotFound;
  *function = reinterpret_cast<CuFunction>(const_cast<Function*>(&*functions.insert({name, current_device()}).first));
  return kCuSuccess;
}
CuResult cuFuncGetAttribute(int* value, int attribute, CuFunction) {
  *value = state.function_attributes[attribute];
  return kCuSuccess;
}
CuResult cuFuncSetAttribute(CuFunction, int attribute, int value) {
  ENTER();
  const std::lock_guard lock(mutex);
  state.function_attributes[attribute] = value;
  return kCuSuccess;
}
namespace {

CuResult launched(fake_cuda::Launch launch, void** arguments) {
  if (!machine) {
    const Function& function = *reinterpret_cast<const Function*>(launch.function);
    if (function.device != current_device()) return kInvalidHandle;
    launch.entry = function.name;
    launch.device = function.device;
  }
  for (size_t i = 0; const size_t bytes : machine ? machine->parameter_bytes(launch.function) : state.parameter_bytes) {
    const size_t at = launch.parameters.size();
    launch.parameters.resize(at + bytes / 8);
    std::memcpy(launch.parameters.data() + at, arguments[i++], bytes);
  }
  {
    const std::lock_guard lock(mutex);
    if (const auto it = capturing.find(launch.stream); it != capturing.end()) {
      it->second.second->launches.push_back(launch);
      return kCuSuccess;
    }
  }
  return perform(launch);
}

}  // namespace

CuResult cuLaunchKernel(CuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CuStream stream, void** arguments, void** extra) {
  ENTER();
  NEED_CONTEXT();
  if (gx == 0 || bx == 0 || gy * gz * by * bz != 1 || !arguments || extra) return kCuInvalidValue;
  return launched({"", function, gx, bx, shared, stream, 0, false, {}}, arguments);
}
#ifndef FAKE_CUDA_BEFORE_11_8
CuResult cuLaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void** arguments, void** extra) {
  ENTER();
  NEED_CONTEXT();
  const CuLaunchConfig& c = *config;
  if (c.grid_x == 0 || c.block_x == 0 || c.grid_y * c.grid_z * c.block_y * c.block_z != 1 || !arguments || extra) {
    return kCuInvalidValue;
  }
  bool dependent = false;
  for (unsigned i = 0; i < c.attribute_count; ++i) {
    if (c.attributes[i].id != kCuLaunchProgrammatic) return kCuInvalidValue;
    dependent = c.attributes[i].value.programmatic_stream_serialization == 1;
  }
  return launched({"", function, c.grid_x, c.block_x, c.shared_bytes, c.stream, 0, dependent, {}}, arguments);
}
#endif
CuResult cuTensorMapEncodeTiled(CuTensorMap* map, int type, uint32_t rank, void* address, const uint64_t* extents,
                                const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int interleave,
                                int swizzle, int, int fill) {
  ENTER();
  fake_cuda::EncodedMap encoded{fake_cuda::kMapMagic, reinterpret_cast<uintptr_t>(address)};
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || encoded.address % 16 != 0 || rank < 1 || rank > 5 || interleave ||
      fill) {
    return kCuInvalidValue;
  }
  for (uint32_t i = 0; i < rank; ++i) {
    if (extents[i] == 0 || extents[i] > uint64_t{1} << 32 || box[i] == 0 || box[i] > 256 || steps[i] != 1) {
      return kCuInvalidValue;
    }
    encoded.extents[i] = extents[i];
    encoded.box[i] = static_cast<uint16_t>(box[i]);
    if (i > 0 && (strides[i - 1] % 16 != 0 || strides[i - 1] >= uint64_t{1} << 40)) return kCuInvalidValue;
    if (i > 0) encoded.strides[i - 1] = strides[i - 1];
  }
  encoded.rank = static_cast<uint8_t>(rank);
  encoded.type = static_cast<uint8_t>(type);
  encoded.swizzle = static_cast<uint8_t>(swizzle);
  static_assert(sizeof(encoded) <= sizeof(CuTensorMap));
  std::memcpy(map, &encoded, sizeof(encoded));
  return kCuSuccess;
}
CuResult cuDeviceGetUuid_v2(CuUuid* uuid, CuDevice device) {
  std::memset(uuid, device + 1, sizeof(*uuid));
  return kCuSuccess;
}
