#include "compiler/codegen/nvptx_target.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

namespace coda {
namespace {

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string& cpu, const std::string& features, NvptxCode code) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  const auto level = code == NvptxCode::Loops ? llvm::CodeGenOptLevel::Aggressive : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, level));
}

/// Leaves out what takes half of the code generator's time in straight-line code, where ptxas does it again.
class WithoutSlowPasses : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    return std::find(std::begin(kSlow), std::end(kSlow), pass) == std::end(kSlow);
  }

 private:
  static constexpr llvm::StringLiteral kSlow[] = {"slsr", "nary-reassociate", "early-cse"};
};

}  // namespace

void prepare_nvptx_module(llvm::Module& module, const std::string& cpu, const std::string& features) {
  auto machine = make_machine(cpu, features, NvptxCode::Loops);
  if (!machine) return;
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
}

std::optional<std::string> nvptx_to_ptx(llvm::Module& module, const std::string& cpu, const std::string& features,
                                        NvptxCode code, std::string* error) {
  auto machine = make_machine(cpu, features, code);
  if (!machine) {
    if (error) *error = "this LLVM has no NVPTX target";
    return std::nullopt;
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass());
  if (code != NvptxCode::StraightLine) {
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::EarlyCSEPass());
  }
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    if (error) *error = "LLVM's NVPTX target can't write assembly";
    return std::nullopt;
  }
  WithoutSlowPasses gate;
  llvm::OptPassGate& usual = module.getContext().getOptPassGate();
  if (code != NvptxCode::Loops) module.getContext().setOptPassGate(gate);
  codegen.run(module);
  module.getContext().setOptPassGate(usual);
  return std::string(text.str());
}

}  // namespace coda
