// LLVM's NVPTX back end behind two functions: a module's data layout, and PTX text from a module. The pass list is
// short on purpose: kernels arrive nearly as they should leave, and the time from text to PTX is paid by users.
#pragma once

#include <optional>
#include <string>

namespace llvm {
class Module;
}

namespace coda {

/// Sets triple and data layout.
void prepare_nvptx_module(llvm::Module& module, const std::string& cpu, const std::string& features);
/// Runs the passes and the code generator (always -O3: below it wgmma is serialised).
std::optional<std::string> nvptx_to_ptx(llvm::Module& module, const std::string& cpu, const std::string& features,
                                        std::string* error);

}  // namespace coda
