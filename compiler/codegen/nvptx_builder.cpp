#include "compiler/codegen/nvptx_builder.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <cstdlib>

#include "compiler/codegen/nvptx_target.h"

namespace coda {
namespace {

constexpr int kSharedSpace = 3;
constexpr int kRemoteSpace = 7;
constexpr int kTensorMapBytes = 128;

llvm::Value* value(Val v) { return static_cast<llvm::Value*>(v.handle); }
Val wrap(llvm::Value* v) { return Val{v}; }
llvm::BasicBlock* basic(Block b) { return static_cast<llvm::BasicBlock*>(b.handle); }

[[noreturn]] void internal_error(const char* what, std::string_view detail) {
  std::fprintf(stderr, "coda: internal error in the GPU code generator: %s: %.*s\n", what,
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

}  // namespace

struct NvptxBuilder::State {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = std::make_unique<llvm::Module>("coda", context);
  llvm::IRBuilder<> ir{context};
  llvm::Function* function = nullptr;
  llvm::GlobalVariable* shared = nullptr;
  int tensor_maps = 0;
  struct OpenLoop {
    llvm::BasicBlock *before, *head;
    std::vector<std::pair<llvm::PHINode*, llvm::Value*>> late;  ///< carried besides, and their next values
  };
  std::vector<OpenLoop> loops;

  llvm::Type* type(Ty t) {
    switch (t) {
      case Ty::Void:
        return llvm::Type::getVoidTy(context);
      case Ty::I1:
        return ir.getInt1Ty();
      case Ty::I8:
        return ir.getInt8Ty();
      case Ty::I16:
        return ir.getInt16Ty();
      case Ty::I32:
        return ir.getInt32Ty();
      case Ty::I64:
        return ir.getInt64Ty();
      case Ty::F32:
        return ir.getFloatTy();
      case Ty::BF16:
        return llvm::Type::getBFloatTy(context);
      case Ty::F16:
        return llvm::Type::getHalfTy(context);
      case Ty::Ptr:
        return ir.getPtrTy(0);
      case Ty::Shared:
        return ir.getPtrTy(kSharedSpace);
      case Ty::Remote:
        return ir.getPtrTy(kRemoteSpace);
    }
    internal_error("unknown type", "");
  }
};

NvptxBuilder::NvptxBuilder() : state_(std::make_unique<State>()) {
  state_->ir.setFastMathFlags([] {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    return flags;
  }());
}
NvptxBuilder::~NvptxBuilder() = default;

void NvptxBuilder::begin_kernel(const KernelSignature& signature) {
  State& s = *state_;
  auto* map = llvm::ArrayType::get(s.ir.getInt8Ty(), kTensorMapBytes);
  std::vector<llvm::Type*> params(static_cast<size_t>(signature.tensor_maps) + 1, s.ir.getPtrTy(0));
  auto* type = llvm::FunctionType::get(s.type(Ty::Void), params, false);
  s.function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, signature.name, *s.module);
  s.function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  s.tensor_maps = signature.tensor_maps;
  for (int i = 0; i <= signature.tensor_maps; ++i) {
    const bool is_map = i < signature.tensor_maps;
    llvm::AttrBuilder attributes(s.context);
    attributes.addByValAttr(is_map ? static_cast<llvm::Type*>(map) : s.ir.getInt64Ty());  // see end_kernel
    attributes.addAlignmentAttr(is_map ? 64 : 8);
    attributes.addAttribute("nvvm.grid_constant");
    s.function->addParamAttrs(static_cast<unsigned>(i), attributes);
    s.function->getArg(static_cast<unsigned>(i))->setName(is_map ? "map" + std::to_string(i) : "words");
  }
  s.function->addFnAttr("nvvm.maxntid", std::to_string(signature.threads));
  s.function->addFnAttr("nvvm.minctasm", std::to_string(signature.ctas_per_sm));
  // Before a jump by table ptxas waits for all multiplications.
  s.function->addFnAttr("no-jump-tables", "true");
  if (signature.cluster > 1) s.function->addFnAttr("nvvm.cluster_dim", std::to_string(signature.cluster) + ",1,1");
  s.shared = new llvm::GlobalVariable(*s.module, llvm::ArrayType::get(s.ir.getInt8Ty(), 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "shared_memory", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  s.shared->setAlignment(llvm::Align(1024));
  enter(block("entry"));
}

void NvptxBuilder::end_kernel(int words) {
  State& s = *state_;
  const unsigned argument = static_cast<unsigned>(s.tensor_maps);
  auto* list = llvm::ArrayType::get(s.ir.getInt64Ty(), static_cast<uint64_t>(std::max(1, words)));
  s.function->removeParamAttr(argument, llvm::Attribute::ByVal);
  s.function->addParamAttr(argument, llvm::Attribute::getWithByValType(s.context, list));
}

Val NvptxBuilder::tensor_map(int index) { return wrap(state_->function->getArg(static_cast<unsigned>(index))); }

Val NvptxBuilder::word(int index) {
  State& s = *state_;
  llvm::Value* at = s.ir.CreateConstInBoundsGEP1_64(s.ir.getInt64Ty(),
                                                    s.function->getArg(static_cast<unsigned>(s.tensor_maps)), index);
  llvm::LoadInst* load = s.ir.CreateAlignedLoad(s.ir.getInt64Ty(), at, llvm::Align(8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(s.context, {}));
  return wrap(load);
}

Val NvptxBuilder::shared_base() { return wrap(state_->shared); }

Val NvptxBuilder::i1(bool v) { return wrap(state_->ir.getInt1(v)); }
Val NvptxBuilder::i16(int64_t v) { return wrap(state_->ir.getInt16(static_cast<uint16_t>(v))); }
Val NvptxBuilder::i32(int64_t v) { return wrap(state_->ir.getInt32(static_cast<uint32_t>(v))); }
Val NvptxBuilder::i64(int64_t v) { return wrap(state_->ir.getInt64(static_cast<uint64_t>(v))); }
Val NvptxBuilder::f32(double v) { return wrap(llvm::ConstantFP::get(state_->ir.getFloatTy(), static_cast<float>(v))); }
Val NvptxBuilder::undef(Ty type) { return wrap(llvm::PoisonValue::get(state_->type(type))); }

Val NvptxBuilder::op(IntOp op, Val a, Val b) {
  auto& ir = state_->ir;
  llvm::Value *x = value(a), *y = value(b);
  switch (op) {
    case IntOp::Add:
      return wrap(ir.CreateAdd(x, y));
    case IntOp::Sub:
      return wrap(ir.CreateSub(x, y));
    case IntOp::Mul:
      return wrap(ir.CreateMul(x, y));
    case IntOp::And:
      return wrap(ir.CreateAnd(x, y));
    case IntOp::Or:
      return wrap(ir.CreateOr(x, y));
    case IntOp::Xor:
      return wrap(ir.CreateXor(x, y));
    case IntOp::Shl:
      return wrap(ir.CreateShl(x, y));
    case IntOp::Lshr:
      return wrap(ir.CreateLShr(x, y));
    case IntOp::Udiv:
      return wrap(ir.CreateUDiv(x, y));
    case IntOp::Urem:
      return wrap(ir.CreateURem(x, y));
    case IntOp::Umin:
      return wrap(ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y));
    case IntOp::Umax:
      return wrap(ir.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y));
  }
  internal_error("unknown integer operation", "");
}

Val NvptxBuilder::op(IntOp o, Val a, int64_t b) {
  return op(o, a, wrap(llvm::ConstantInt::get(value(a)->getType(), static_cast<uint64_t>(b), true)));
}

Val NvptxBuilder::test(IntTest test, Val a, Val b) {
  static constexpr llvm::CmpInst::Predicate kPredicates[] = {
      llvm::CmpInst::ICMP_EQ,  llvm::CmpInst::ICMP_NE,  llvm::CmpInst::ICMP_ULT, llvm::CmpInst::ICMP_ULE,
      llvm::CmpInst::ICMP_UGT, llvm::CmpInst::ICMP_UGE, llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_SGE};
  return wrap(state_->ir.CreateICmp(kPredicates[static_cast<int>(test)], value(a), value(b)));
}

Val NvptxBuilder::test(IntTest t, Val a, int64_t b) {
  return test(t, a, wrap(llvm::ConstantInt::get(value(a)->getType(), static_cast<uint64_t>(b), true)));
}

Val NvptxBuilder::select(Val condition, Val a, Val b) {
  return wrap(state_->ir.CreateSelect(value(condition), value(a), value(b)));
}

Val NvptxBuilder::convert(Val a, Ty to) {
  auto& ir = state_->ir;
  llvm::Type* type = state_->type(to);
  if (type->isFloatingPointTy()) return wrap(ir.CreateFPCast(value(a), type));
  return wrap(ir.CreateZExtOrTrunc(value(a), type));
}

Val NvptxBuilder::bits(Val a, Ty to) { return wrap(state_->ir.CreateBitCast(value(a), state_->type(to))); }

Val NvptxBuilder::ceil_div(Val a, int64_t b) { return op(IntOp::Udiv, add(a, b - 1), b); }

Val NvptxBuilder::offset(Val pointer, Val bytes) {
  return wrap(state_->ir.CreateGEP(state_->ir.getInt8Ty(), value(pointer), value(bytes)));
}
Val NvptxBuilder::offset(Val pointer, int64_t bytes) { return bytes == 0 ? pointer : offset(pointer, i32(bytes)); }
Val NvptxBuilder::to_remote(Val shared) {
  return wrap(state_->ir.CreateAddrSpaceCast(value(shared), state_->type(Ty::Remote)));
}
Val NvptxBuilder::shared_int(Val shared) {
  return wrap(state_->ir.CreatePtrToInt(value(shared), state_->ir.getInt32Ty()));
}
Val NvptxBuilder::address(Val pointer) {
  return wrap(state_->ir.CreatePtrToInt(value(pointer), state_->ir.getInt64Ty()));
}
Val NvptxBuilder::pointer(Val address) {
  return wrap(state_->ir.CreateIntToPtr(value(address), state_->type(Ty::Ptr)));
}
Val NvptxBuilder::load(Ty type, Val pointer, int alignment) {
  return wrap(
      state_->ir.CreateAlignedLoad(state_->type(type), value(pointer), llvm::Align(static_cast<uint64_t>(alignment))));
}
void NvptxBuilder::store(Val v, Val pointer, int alignment) {
  state_->ir.CreateAlignedStore(value(v), value(pointer), llvm::Align(static_cast<uint64_t>(alignment)));
}

Val NvptxBuilder::fadd(Val a, Val b) { return wrap(state_->ir.CreateFAdd(value(a), value(b))); }
Val NvptxBuilder::fmul(Val a, Val b) { return wrap(state_->ir.CreateFMul(value(a), value(b))); }

Block NvptxBuilder::block(std::string_view name) {
  return Block{llvm::BasicBlock::Create(state_->context, llvm::StringRef(name.data(), name.size()), state_->function)};
}
Block NvptxBuilder::here() const { return Block{state_->ir.GetInsertBlock()}; }
void NvptxBuilder::enter(Block block) { state_->ir.SetInsertPoint(basic(block)); }
void NvptxBuilder::jump(Block to) { state_->ir.CreateBr(basic(to)); }
void NvptxBuilder::branch(Val condition, Block yes, Block no) {
  state_->ir.CreateCondBr(value(condition), basic(yes), basic(no));
}
void NvptxBuilder::switch_on(Val v, Block otherwise, std::span<const Block> cases) {
  auto* sw = state_->ir.CreateSwitch(value(v), basic(otherwise), static_cast<unsigned>(cases.size()));
  for (size_t i = 0; i < cases.size(); ++i) {
    sw->addCase(llvm::cast<llvm::ConstantInt>(llvm::ConstantInt::get(value(v)->getType(), i)), basic(cases[i]));
  }
}
void NvptxBuilder::ret() { state_->ir.CreateRetVoid(); }
Phi NvptxBuilder::phi(Ty type) { return Phi{wrap(state_->ir.CreatePHI(state_->type(type), 2))}; }
void NvptxBuilder::incoming(const Phi& phi, Val v, Block from) {
  llvm::cast<llvm::PHINode>(value(phi.value))->addIncoming(value(v), basic(from));
}

void NvptxBuilder::when(Val condition, std::string_view name, const std::function<void()>& body) {
  Block inside = block(name), after = block(std::string(name) + ".end");
  branch(condition, inside, after);
  enter(inside);
  body();
  jump(after);
  enter(after);
}

std::vector<Val> NvptxBuilder::loop(std::string_view name, std::span<const Val> initial,
                                    const std::function<Val(std::span<const Val>)>& more,
                                    const std::function<std::vector<Val>(std::span<const Val>)>& body) {
  State& s = *state_;
  Block before = here(), head = block(name), inside = block(std::string(name) + ".body"),
        after = block(std::string(name) + ".end");
  jump(head);
  enter(head);
  std::vector<llvm::PHINode*> phis;
  std::vector<Val> values;
  for (Val v : initial) {
    phis.push_back(s.ir.CreatePHI(value(v)->getType(), 2));
    phis.back()->addIncoming(value(v), basic(before));
    values.push_back(wrap(phis.back()));
  }
  branch(more(values), inside, after);
  enter(inside);
  s.loops.push_back({basic(before), basic(head), {}});
  std::vector<Val> next = body(values);
  for (const auto& [phi, more_next] : s.loops.back().late) phi->addIncoming(more_next, s.ir.GetInsertBlock());
  s.loops.pop_back();
  if (next.size() != phis.size()) internal_error("a loop's body lost a carried value", name);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(value(next[i]), s.ir.GetInsertBlock());
  jump(head);
  enter(after);
  return values;
}

Val NvptxBuilder::carry(Val initial) {
  auto& loop = state_->loops.back();
  llvm::IRBuilderBase::InsertPointGuard guard(state_->ir);
  state_->ir.SetInsertPoint(loop.head, loop.head->begin());
  llvm::PHINode* phi = state_->ir.CreatePHI(value(initial)->getType(), 2);
  phi->addIncoming(value(initial), loop.before);
  return wrap(phi);
}

void NvptxBuilder::carry_on(Val carried, Val next) {
  state_->loops.back().late.emplace_back(llvm::cast<llvm::PHINode>(value(carried)), value(next));
}

Val NvptxBuilder::intrinsic(std::string_view name, std::initializer_list<Val> args,
                            std::initializer_list<Ty> overloads) {
  return intrinsic(name, std::span<const Val>(args.begin(), args.size()),
                   std::span<const Ty>(overloads.begin(), overloads.size()));
}

Val NvptxBuilder::intrinsic(std::string_view name, std::span<const Val> args, std::span<const Ty> overloads) {
  const std::string full = "llvm." + std::string(name);
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(full);
  if (id == llvm::Intrinsic::not_intrinsic) internal_error("this LLVM lacks an intrinsic", full);
  std::vector<llvm::Type*> types;
  for (Ty t : overloads) types.push_back(state_->type(t));
  std::vector<llvm::Value*> values;
  for (Val v : args) values.push_back(value(v));
  return wrap(state_->ir.CreateIntrinsic(id, types, values));
}

std::vector<Val> NvptxBuilder::inline_asm(const std::string& text, const std::string& constraints,
                                          std::span<const Val> args, std::span<const Ty> results, AsmFlags flags) {
  State& s = *state_;
  std::vector<llvm::Value*> values;
  std::vector<llvm::Type*> types, outs;
  for (Val v : args) {
    values.push_back(value(v));
    types.push_back(value(v)->getType());
  }
  for (Ty t : results) outs.push_back(s.type(t));
  llvm::Type* out = outs.empty()       ? s.type(Ty::Void)
                    : outs.size() == 1 ? outs[0]
                                       : static_cast<llvm::Type*>(llvm::StructType::get(s.context, outs));
  auto* type = llvm::FunctionType::get(out, types, false);
  llvm::CallInst* call =
      s.ir.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, flags.side_effect), values);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (flags.convergent) call->addFnAttr(llvm::Attribute::Convergent);
  if (outs.size() <= 1) return outs.empty() ? std::vector<Val>{} : std::vector<Val>{wrap(call)};
  std::vector<Val> parts;
  for (unsigned i = 0; i < outs.size(); ++i) parts.push_back(wrap(s.ir.CreateExtractValue(call, i)));
  return parts;
}

NvptxBuilder::Place NvptxBuilder::mark() {
  // A no-op cast of a fresh poison: an instruction to stand before, removed by unmark().
  auto* marker = new llvm::FreezeInst(llvm::PoisonValue::get(state_->ir.getInt1Ty()), "place");
  state_->ir.Insert(marker);
  return Place{marker};
}

void NvptxBuilder::at(Place place, const std::function<void()>& body) {
  llvm::IRBuilderBase::InsertPointGuard guard(state_->ir);
  state_->ir.SetInsertPoint(static_cast<llvm::Instruction*>(place.handle));
  body();
}

void NvptxBuilder::unmark(Place place) { static_cast<llvm::Instruction*>(place.handle)->eraseFromParent(); }

void* NvptxBuilder::ir_builder() { return &state_->ir; }

std::optional<std::string> NvptxBuilder::verify() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::verifyModule(*state_->module, &stream)) return std::nullopt;
  return text;
}

std::string NvptxBuilder::llvm_text() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  state_->module->print(stream, nullptr);
  return text;
}

std::optional<std::string> NvptxBuilder::to_ptx(const std::string& cpu, const std::string& features, NvptxCode code,
                                                std::string* error) {
  prepare_nvptx_module(*state_->module, cpu, features);
  if (auto broken = verify()) {
    if (error) *error = *broken;
    return std::nullopt;
  }
  return nvptx_to_ptx(*state_->module, cpu, features, code, error);
}

}  // namespace coda
