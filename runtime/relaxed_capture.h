// Lets this thread load and allocate while it, or another one, captures a graph: neither becomes part of the graph.
#pragma once

#include "runtime/driver.h"

namespace coda {

class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& cu) : cu_(cu) { status_ = cu_.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() {
    if (status_.ok()) (void)cu_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  const Status& status() const { return status_; }

 private:
  const Driver& cu_;
  int mode_ = kCuCaptureRelaxed;
  Status status_;
};

}  // namespace coda
