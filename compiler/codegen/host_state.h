// The running state of a reduction in generated code: one state a lane in a vector loop, and one for what is visited
// one element at a time; folded in a fixed order.
#pragma once

#include "compiler/codegen/host_emitter.h"
#include "compiler/ops/op.h"

namespace coda {

struct StateWords {
  Val word[kMaxStateWords];
};

class HostState {
 public:
  /// `lanes` is the width of the vector loops that lift into it; 1 if there is none.
  HostState(HostEmitter& emitter, const Reduction& reduction, unsigned lanes);

  void reset(HostEmitter::Scope* scope);
  /// Lifts `x` at the end of `scope`, in a loop of `lanes` lanes (1 or the width).
  void lift(HostEmitter::Scope* scope, const LiftedValue& x, unsigned lanes);
  /// Combines with a state of `lanes` lanes.
  void combine(HostEmitter::Scope* scope, StateWords other, unsigned lanes);
  /// The state of everything: lanes first, by halves, then the single elements.
  StateWords total(HostEmitter::Scope* scope);
  /// The state as it is, lane by lane.
  StateWords read(HostEmitter::Scope* scope, unsigned lanes);

 private:
  void write(HostEmitter::Scope* scope, StateWords state, unsigned lanes);

  HostEmitter& emitter_;
  const Reduction& reduction_;
  unsigned lanes_;
  llvm::AllocaInst* vector_[kMaxStateWords] = {};
  llvm::AllocaInst* scalar_[kMaxStateWords] = {};
};

}  // namespace coda
