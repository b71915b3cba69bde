// Runs host images: the product in f32, blocked, packed and threaded, and the image's code on every tile of it. Results
// do not depend on the number of threads.
#pragma once

#include <memory>

#include "runtime/host_abi.h"
#include "runtime/host_object.h"
#include "runtime/host_pool.h"
#include "runtime/loaded_kernel.h"

namespace coda {

/// The code of one host image.
class HostCode {
 public:
  static Expected<HostCode> load(const KernelImage& image);

  /// Runs it on the argument words (Workspace words included).
  Status run(const int64_t* words, HostPool& pool) const;

 private:
  std::shared_ptr<const HostObject> object_;
  HostGeometryFn geometry_ = nullptr;
  HostRowsFn rows_ = nullptr;
  HostRowsFn sweep_ = nullptr;  ///< of an image without a product, instead of `rows_` and `tiles_`
  HostFinishFn finish_ = nullptr;
  std::vector<HostTileFn> tiles_;
};

}  // namespace coda
