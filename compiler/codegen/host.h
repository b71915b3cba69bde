// The host back end: an epilogue program becomes an ELF object for this processor, behind the same KernelImage as GPU
// code. The product itself is a library routine (runtime/host_gemm.h); the object holds what is particular to the
// program. LLVM-free.
#pragma once

#include <optional>
#include <string>

#include "compiler/epilogue/epilogue.h"
#include "runtime/format/kernel_image.h"

namespace coda {

struct HostRequest {
  std::string cpu;         ///< an LLVM processor name; empty: the one this runs on
  bool want_llvm = false;  ///< fill `llvm_text`
};

struct HostOutput {
  KernelImage image;
  std::string llvm_text;
  double generate_ms = 0, optimise_ms = 0, object_ms = 0;
};

/// Nothing if the program can't be compiled for the host; `reason` then says why.
std::optional<HostOutput> compile_host(const EpilogueProgram& epilogue, const HostRequest& request,
                                       std::string& reason);

}  // namespace coda
