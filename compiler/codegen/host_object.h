// From an LLVM module to an ELF object for a processor.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

namespace coda {

/// For the named processor, or if `cpu` is empty for this one. Null, and the reason, if it lacks what generated code
/// relies on (AVX2, FMA and F16C).
std::unique_ptr<llvm::TargetMachine> host_machine(const std::string& cpu, std::string& reason);
/// f32 in a vector register.
unsigned vector_lanes(const llvm::TargetMachine& machine);
void optimise(llvm::Module& module, llvm::TargetMachine& machine);
/// Empty, and the reason, on failure.
std::vector<uint8_t> emit_object(llvm::Module& module, llvm::TargetMachine& machine, std::string& reason);

}  // namespace coda
