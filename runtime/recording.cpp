#include "runtime/recording.h"

#include "runtime/device.h"

namespace coda {

namespace {

class HostRecording : public Recording {
 public:
  HostRecording(Kernel& kernel, std::span<const Argument> arguments)
      : kernel_(kernel), arguments_(arguments.begin(), arguments.end()) {}
  Status launch(void* stream) override { return kernel_.launch(arguments_, stream); }

 private:
  Kernel& kernel_;
  std::vector<Argument> arguments_;
};

class GraphRecording : public Recording {
 public:
  explicit GraphRecording(const Device& device) : device_(device) {}
  ~GraphRecording() override {
    const ContextScope scope(device_);
    if (executable_ && scope.status().ok()) (void)device_.cu().cuGraphExecDestroy(executable_);
  }

  Status capture(Kernel& kernel, std::span<const Argument> arguments) {
    const ContextScope scope(device_);
    if (!scope.status().ok()) return scope.status();
    const Driver& cu = device_.cu();
    auto stream = Stream::create(device_);
    if (!stream) return stream.status();
    if (Status status = kernel.fold(arguments, stream->get()); !status.ok()) return status;
    if (Status status = cu.cuStreamBeginCapture_v2(stream->get(), kCuCaptureThreadLocal); !status.ok()) return status;
    Status status = kernel.launch(arguments, stream->get());
    CuGraph graph = nullptr;
    const Status ended = cu.cuStreamEndCapture(stream->get(), &graph);
    if (status.ok()) status = ended;
    if (status.ok()) status = cu.cuGraphInstantiateWithFlags(&executable_, graph, 0);
    if (graph) (void)cu.cuGraphDestroy(graph);
    return status;
  }

  Status launch(void* stream) override {
    if (device_.cu().forked()) return device_.cu().forked_status();
    const ContextScope scope(device_);
    return scope.status().ok() ? device_.cu().cuGraphLaunch(executable_, static_cast<CuStream>(stream))
                               : scope.status();
  }

 private:
  const Device& device_;
  CuGraphExec executable_ = nullptr;
};

}  // namespace

Expected<std::unique_ptr<Recording>> record(Kernel& kernel, std::span<const Argument> arguments) {
  if (kernel.device() == kHostDevice) {
    return std::unique_ptr<Recording>(std::make_unique<HostRecording>(kernel, arguments));
  }
  auto device = Device::get(kernel.device());
  if (!device) return device.status();
  auto recording = std::make_unique<GraphRecording>(**device);
  if (Status status = recording->capture(kernel, arguments); !status.ok()) return status;
  return std::unique_ptr<Recording>(std::move(recording));
}

}  // namespace coda
