// What the files that implement coda_c.h share.
#pragma once

#include <exception>
#include <memory>
#include <new>

#include "coda/coda_c.h"
#include "coda/status.h"
#include "runtime/recording.h"

struct coda_image {
  coda::Artefact artefact;
  std::string targets = artefact.targets();
  const coda::Signature& signature() const { return artefact.signature(); }
};
struct coda_kernel {
  std::unique_ptr<coda::Kernel> kernel;
};
struct coda_recording {
  std::unique_ptr<coda::Recording> recording;
};

namespace coda {

/// Keeps the message for coda_error().
coda_code report(const Status& status);
/// Nothing if an entry has no name.
std::optional<Bindings> read_bindings(const coda_binding* bindings, size_t count);

/// Runs `body`, which returns a Status; nothing is thrown across the C interface.
template <class F>
coda_code guarded(F body) {
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return report({Code::OutOfMemory, "out of host memory"});
  } catch (const std::exception& error) {
    return report({Code::Unsupported, error.what()});
  }
}

}  // namespace coda
