// The C++ interface of coda, for programs that embed it:
//
//   auto image = coda::compile_text({.text = source, .kernel = "gate_up", .target = "sm_90a"});
//   auto kernel = coda::prepare(*image, 0);
//   (*kernel)->launch(arguments, stream);
#pragma once

#include <memory>
#include <string>

#include "coda/status.h"
#include "runtime/device.h"
#include "runtime/format/kernel_image.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace coda {

struct SourceText {
  std::string text;
  std::string path = "<text>";  ///< names the text in messages; imports are relative to it
  std::string kernel;           ///< empty: the only one of the text
  std::string target = "host";  ///< or "sm_90a"
  Bindings dims;
};
/// The program's diagnostics are the message. In libcoda only, not in a runtime built without the compiler.
Expected<std::shared_ptr<const KernelImage>> compile_text(const SourceText& source);

}  // namespace coda
