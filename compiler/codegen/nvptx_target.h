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
/// What most of a kernel is: long epilogues without a loop, of which ptxas makes the same however much LLVM has done to
/// them; the same where registers are so short that every value counts which need not be kept; or loops, whose
/// addresses take fewer registers if LLVM works on them.
enum class NvptxCode { StraightLine, Crowded, Loops };

/// Runs the passes and the code generator, at least at -O2: below it wgmma is serialised.
std::optional<std::string> nvptx_to_ptx(llvm::Module& module, const std::string& cpu, const std::string& features,
                                        NvptxCode code, std::string* error);

}  // namespace coda
