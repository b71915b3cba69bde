#include "compiler/codegen/host_emitter.h"

namespace coda {

using llvm::BasicBlock;
using llvm::Value;

HostEmitter::HostEmitter(llvm::IRBuilder<>& builder, llvm::Function* function)
    : LlvmEmitter(builder), function_(function) {
  BasicBlock* entry = BasicBlock::Create(function->getContext(), "entry", function);
  builder_.SetInsertPoint(entry);
  builder_.CreateRetVoid();
  scopes_.push_back({entry, nullptr, 0});
  scope_of_block_[entry] = &scopes_.back();
}

HostEmitter::Loop HostEmitter::open_loop(Scope* in, Value* begin, Value* end, int64_t step) {
  llvm::LLVMContext& context = function_->getContext();
  const auto block = [&](const char* name, Scope* scope) {
    BasicBlock* made = BasicBlock::Create(context, name, function_);
    scope_of_block_[made] = scope;
    return made;
  };
  scopes_.push_back({nullptr, in, in->depth + 1});
  Loop loop{.scope = &scopes_.back(), .outer = in};
  // A preheader of its own keeps the phi's incoming block right when `in` grows.
  BasicBlock* preheader = block("pre", in);
  loop.header = block("head", loop.scope);
  BasicBlock* body = block("body", loop.scope);
  loop.latch = block("latch", loop.scope);
  loop.exit = block("exit", in);
  loop.scope->tail = body;

  llvm::Instruction* terminator = in->tail->getTerminator();
  terminator->removeFromParent();
  terminator->insertInto(loop.exit, loop.exit->end());
  builder_.SetInsertPoint(in->tail);
  builder_.CreateBr(preheader);
  builder_.SetInsertPoint(preheader);
  builder_.CreateBr(loop.header);

  builder_.SetInsertPoint(loop.header);
  loop.phi = builder_.CreatePHI(begin->getType(), 2);
  loop.phi->addIncoming(begin, preheader);
  loop.counter = loop.phi;
  builder_.CreateCondBr(builder_.CreateICmpSLT(loop.phi, end), body, loop.exit);
  builder_.SetInsertPoint(body);
  builder_.CreateBr(loop.latch);
  builder_.SetInsertPoint(loop.latch);
  loop.phi->addIncoming(builder_.CreateNSWAdd(loop.phi, llvm::ConstantInt::get(begin->getType(), step)), loop.latch);
  builder_.CreateBr(loop.header);
  return loop;
}

void HostEmitter::close_loop(const Loop& loop) { loop.outer->tail = loop.exit; }

HostEmitter::Scope* HostEmitter::scope_of(llvm::ArrayRef<Value*> values) {
  Scope* deepest = root();
  for (Value* value : values) {
    const auto* instruction = llvm::dyn_cast_or_null<llvm::Instruction>(value);
    if (!instruction) continue;
    Scope* scope = scope_of_block_.lookup(instruction->getParent());
    if (scope->depth > deepest->depth) deepest = scope;
  }
  return deepest;
}

llvm::IRBuilder<>& HostEmitter::at(Scope* scope) {
  builder_.SetInsertPoint(scope->tail->getTerminator());
  return builder_;
}

llvm::AllocaInst* HostEmitter::slot(llvm::Type* type) {
  BasicBlock& entry = function_->getEntryBlock();
  builder_.SetInsertPoint(&entry, entry.begin());
  return builder_.CreateAlloca(type);
}

void HostEmitter::place(llvm::ArrayRef<Value*> operands) { at(scope_of(operands)); }

}  // namespace coda
