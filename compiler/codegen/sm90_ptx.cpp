#include "compiler/codegen/sm90_ptx.h"

#include "compiler/codegen/nvptx_builder.h"

namespace coda {

bool finish_sm90(NvptxBuilder& builder, const Sm90Options& options, NvptxCode code, Span where, Sm90Result& result,
                 Diagnostics& diagnostics) {
  if (options.keep_llvm) result.llvm = builder.llvm_text();
  std::string error;
  auto ptx = builder.to_ptx(kSm90Cpu, kSm90Features, code, &error);
  if (!ptx) {
    diagnostics.report(DiagId::E0502, where, {kSm90Cpu, "LLVM refused it, a defect of the compiler: " + error});
    return false;
  }
  result.ptx = std::move(*ptx);
  result.image.code_kind = CodeKind::Ptx;
  result.image.code.assign(result.ptx.begin(), result.ptx.end());
  return true;
}

}  // namespace coda
