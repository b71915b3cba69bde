// The host's emitter: functions by polynomials that stay vectors (no library calls), and code placed by what it depends
// on. A function is a tree of scopes, one for each loop body; an instruction goes to the deepest scope that one of its
// operands lives in, so work that depends on the row only is done once a row without anybody asking for it.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <deque>

#include "compiler/codegen/llvm_emitter.h"

namespace coda {

class HostEmitter : public LlvmEmitter {
 public:
  /// The straight-line part of a loop body (or of the function): grows at its end, around the loops inside it.
  struct Scope {
    llvm::BasicBlock* tail;  ///< where the next instruction goes, before the terminator
    Scope* parent;
    int depth;
  };
  struct Loop {
    Scope* scope;  ///< of the body
    llvm::Value* counter;
    Scope* outer;
    llvm::BasicBlock *header, *latch, *exit;
    llvm::PHINode* phi;
  };

  /// `function` must have no body yet; its root scope is made here, ending in a return.
  HostEmitter(llvm::IRBuilder<>& builder, llvm::Function* function);

  Scope* root() { return &scopes_.front(); }
  /// for (counter = begin; counter < end; counter += step), at the end of `in`. Code that belongs to `in` may still be
  /// added while the loop is open: it goes before the loop.
  Loop open_loop(Scope* in, llvm::Value* begin, llvm::Value* end, int64_t step);
  void close_loop(const Loop& loop);
  /// The deepest scope that one of the values lives in.
  Scope* scope_of(llvm::ArrayRef<llvm::Value*> values);
  /// The builder at the end of `scope`: for what must happen there (stores, running states).
  llvm::IRBuilder<>& at(Scope* scope);
  /// A stack slot, made at the entry.
  llvm::AllocaInst* slot(llvm::Type* type);

  Val exp2(Val a) override;
  Val log2(Val a) override;
  Val sin(Val a) override;
  Val cos(Val a) override;
  Val tanh_fast(Val a) override;

 protected:
  void place(llvm::ArrayRef<llvm::Value*> operands) override;

 private:
  struct Angle {
    llvm::Value *quadrant, *rest;  ///< i32 (low two bits count), f32 in [-pi/4, pi/4]
  };
  Angle reduce_angle(llvm::Value* x);
  Val circular(Val a, int quarter_turns);
  llvm::Value* polynomial(llvm::Value* x, llvm::ArrayRef<double> coefficients);

  llvm::Function* function_;
  std::deque<Scope> scopes_;  // stable addresses
  llvm::DenseMap<const llvm::BasicBlock*, Scope*> scope_of_block_;
};

}  // namespace coda
