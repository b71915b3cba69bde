#include "compiler/codegen/host_object.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

namespace coda {

namespace {

void initialise_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> host_machine(const std::string& cpu, std::string& reason) {
  initialise_target();
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  if (!triple.isX86() || !triple.isOSBinFormatELF()) {
    reason = "host code is generated for x86-64 ELF systems only, not for " + triple.str();
    return nullptr;
  }
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    reason = error;
    return nullptr;
  }
  std::string features;
  if (cpu.empty()) {
    for (const auto& [name, enabled] : llvm::sys::getHostCPUFeatures()) {
      features += std::string(features.empty() ? "" : ",") + (enabled ? "+" : "-") + name.str();
    }
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, cpu.empty() ? llvm::sys::getHostCPUName().str() : cpu, features, options,
                                  llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  const llvm::MCSubtargetInfo& subtarget = *machine->getMCSubtargetInfo();
  for (const char* needed : {"+avx2", "+fma", "+f16c"}) {
    if (!subtarget.checkFeatures(needed)) {
      reason = std::string("the processor lacks ") + (needed + 1) + "; host code needs AVX2, FMA and F16C (x86-64-v3)";
      return nullptr;
    }
  }
  return machine;
}

unsigned vector_lanes(const llvm::TargetMachine& machine) {
  return machine.getMCSubtargetInfo()->checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl") ? 16 : 8;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  // The code is generated vectorised and hoisted: what is left is to keep states in registers and to clean up.
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
}

std::vector<uint8_t> emit_object(llvm::Module& module, llvm::TargetMachine& machine, std::string& reason) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    reason = "this target can't write object files";
    return {};
  }
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace coda
