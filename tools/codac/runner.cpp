#include "tools/codac/runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/device.h"
#include "tools/codac/elements.h"
#include "tools/codac/laid_out.h"

namespace coda {
namespace {

Timing summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times.back(), static_cast<int>(times.size())};
}

bool written(const ParamSpec& param) { return param.is_output(); }

/// A scalar's argument from its one-element tensor.
Argument scalar(const HostTensor& tensor) {
  if (info(tensor.view().dtype).num_class == NumClass::Real) return get(tensor, 0);
  return static_cast<int64_t>(get_exact(tensor, 0));
}

/// Where each of the image's parameters is among the arguments: the same order, checked once by extents at launch.
class HostRunner : public Runner {
 public:
  HostRunner(std::unique_ptr<Kernel> kernel, const Arguments& arguments)
      : kernel_(std::move(kernel)), initial_(arguments) {}

  Status prepare() {
    const auto& params = kernel_->signature().params;
    for (size_t i = 0; i < params.size(); ++i) {
      const HostTensor& source = initial_.tensors[i];
      if (params[i].role == ParamSpec::Role::Scalar) {
        call_.push_back(scalar(source));
        copies_.emplace_back();
      } else if (written(params[i])) {
        const bool row_major = params[i].layout == ParamLayout::RowMajor;
        auto copy = row_major ? contiguous_copy(source.view()) : laid_out_memory(params[i], source.view().shape);
        if (!copy) return copy.status();
        copies_.push_back(std::move(*copy));
        call_.push_back(laid_out_view(copies_.back().view(), source.view().shape));
      } else {
        copies_.emplace_back();
        call_.push_back(source.view());
      }
    }
    return {};
  }

  Status run(uint8_t poison) override {
    const auto& params = kernel_->signature().params;
    for (size_t i = 0; i < params.size(); ++i) {
      auto to = copies_[i].storage();
      if (params[i].role == ParamSpec::Role::Out) std::fill(to.begin(), to.end(), poison);
      if (params[i].role == ParamSpec::Role::InOut) {
        std::copy(initial_.tensors[i].storage().begin(), initial_.tensors[i].storage().end(), to.begin());
      }
    }
    return kernel_->launch(call_, nullptr);
  }

  Expected<std::vector<HostTensor>> results() override {
    std::vector<HostTensor> results;
    for (size_t i = 0; i < copies_.size(); ++i) {
      const HostTensor& copy = copies_[i];
      auto result = copy.view().data
                        ? row_major_copy(kernel_->signature().params[i], copy, initial_.tensors[i].view().shape)
                        : Expected<HostTensor>(HostTensor());
      if (!result) return result.status();
      results.push_back(std::move(*result));
    }
    return results;
  }

  Expected<Timing> bench(int runs, bool) override {
    std::vector<double> times;
    for (int i = 0; i < runs + 1; ++i) {
      const auto start = std::chrono::steady_clock::now();
      if (Status status = kernel_->launch(call_, nullptr); !status.ok()) return status;
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
      if (i > 0) times.push_back(took.count());  // the first one warms up
    }
    return summary(std::move(times));
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  const Arguments& initial_;
  std::vector<HostTensor> copies_;
  std::vector<Argument> call_;
};

class DeviceRunner : public Runner {
 public:
  DeviceRunner(const Device& device, std::unique_ptr<Kernel> kernel, Stream stream, const Arguments& arguments)
      : device_(device), kernel_(std::move(kernel)), stream_(std::move(stream)), initial_(arguments) {}

  Status prepare() { return add_set(); }

  Status run(uint8_t poison) override {
    const auto& params = kernel_->signature().params;
    for (size_t i = 0; i < params.size(); ++i) {
      DeviceTensor& tensor = sets_[0].tensors[i];
      Status status;
      if (params[i].role == ParamSpec::Role::Out && tensor.buffer.bytes() > 0) {
        status = fill_bytes(device_, tensor.buffer.address(), poison, tensor.buffer.bytes());
      } else if (params[i].role == ParamSpec::Role::InOut && tensor.buffer.bytes() > 0) {
        status = copy_to_device(device_, tensor.buffer.address(), initial_.tensors[i].storage());
      }
      if (!status.ok()) return status;
    }
    if (Status status = kernel_->launch(sets_[0].call, stream_.get()); !status.ok()) return status;
    return stream_.synchronize();
  }

  Expected<std::vector<HostTensor>> results() override {
    const auto& params = kernel_->signature().params;
    std::vector<HostTensor> results(params.size());
    for (size_t i = 0; i < params.size(); ++i) {
      if (!written(params[i])) continue;
      auto result = sets_[0].tensors[i].to_host(device_);
      if (result.ok()) result = row_major_copy(params[i], *result, initial_.tensors[i].view().shape);
      if (!result) return result.status();
      results[i] = std::move(*result);
    }
    return results;
  }

  Expected<Timing> bench(int runs, bool recorded) override {
    // Enough sets that together they exceed the L2 cache several times, within what the device has.
    constexpr size_t kEnough = size_t{256} << 20, kMostSets = 8;
    while (sets_.size() < kMostSets && sets_.size() * set_bytes() < kEnough) {
      if (Status status = add_set(); !status.ok()) return status;
    }
    std::vector<std::unique_ptr<Recording>> recordings;
    for (size_t i = 0; recorded && i < sets_.size(); ++i) {
      auto recording = record(*kernel_, sets_[i].call);
      if (!recording) return recording.status();
      recordings.push_back(std::move(*recording));
    }
    auto start = Event::create(device_), end = Event::create(device_);
    if (!start || !end) return start ? end.status() : start.status();
    std::vector<double> times;
    for (int i = 0; i < runs + 3; ++i) {
      const size_t set = static_cast<size_t>(i) % sets_.size();
      if (Status status = start->record(stream_.get()); !status.ok()) return status;
      Status launched =
          recorded ? recordings[set]->launch(stream_.get()) : kernel_->launch(sets_[set].call, stream_.get());
      if (!launched.ok()) return launched;
      if (Status status = end->record(stream_.get()); !status.ok()) return status;
      auto took = Event::milliseconds(*start, *end);
      if (!took) return took.status();
      if (i >= 3) times.push_back(*took);
    }
    return summary(std::move(times));
  }

 private:
  struct Set {
    std::vector<DeviceTensor> tensors;
    std::vector<Argument> call;
  };

  Status add_set() {
    Set set;
    const auto& params = kernel_->signature().params;
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].role == ParamSpec::Role::Scalar) {
        set.call.push_back(scalar(initial_.tensors[i]));
        set.tensors.emplace_back();
        continue;
      }
      const Sizes& shape = initial_.tensors[i].view().shape;
      auto memory = params[i].layout == ParamLayout::RowMajor ? Expected<HostTensor>(HostTensor())
                                                              : laid_out_memory(params[i], shape);
      if (!memory) return memory.status();
      const bool row_major = params[i].layout == ParamLayout::RowMajor;
      auto tensor = DeviceTensor::from_host(device_, row_major ? initial_.tensors[i] : *memory);
      if (!tensor) return tensor.status().with_context(params[i].name);
      set.call.push_back(laid_out_view(tensor->view, shape));
      set.tensors.push_back(std::move(*tensor));
    }
    sets_.push_back(std::move(set));
    return {};
  }

  size_t set_bytes() const {
    size_t bytes = 1;
    for (const auto& tensor : sets_[0].tensors) bytes += tensor.buffer.bytes();
    return bytes;
  }

  const Device& device_;
  std::unique_ptr<Kernel> kernel_;
  Stream stream_;
  const Arguments& initial_;
  std::vector<Set> sets_;
};

/// The image must be of the program whose arguments these are: an image given with --image may not be.
Status check_params(const Signature& image, const Arguments& arguments) {
  if (image.params.size() != arguments.tensors.size()) {
    return Status(Code::InvalidArgument, "the image has other parameters than the program");
  }
  return {};
}

}  // namespace

Expected<std::unique_ptr<Runner>> Runner::create(std::shared_ptr<const Image> image, int device,
                                                 const Arguments& arguments) {
  if (Status status = check_params(signature(*image), arguments); !status.ok()) return status;
  auto kernel = coda::prepare(std::move(image), device, arguments.dims);
  if (!kernel) return kernel.status();
  if (device == kHostDevice) {
    auto runner = std::make_unique<HostRunner>(std::move(*kernel), arguments);
    if (Status status = runner->prepare(); !status.ok()) return status;
    return std::unique_ptr<Runner>(std::move(runner));
  }
  auto opened = Device::get(device);
  if (!opened) return opened.status();
  auto stream = Stream::create(**opened);
  if (!stream) return stream.status();
  auto runner = std::make_unique<DeviceRunner>(**opened, std::move(*kernel), std::move(*stream), arguments);
  if (Status status = runner->prepare(); !status.ok()) return status;
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace coda
