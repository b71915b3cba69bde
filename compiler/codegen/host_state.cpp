#include "compiler/codegen/host_state.h"

namespace coda {

HostState::HostState(HostEmitter& emitter, const Reduction& reduction, unsigned lanes)
    : emitter_(emitter), reduction_(reduction), lanes_(lanes) {
  llvm::Type* real = emitter.builder().getFloatTy();
  for (int i = 0; i < reduction.state_size; ++i) {
    scalar_[i] = emitter.slot(real);
    if (lanes > 1) vector_[i] = emitter.slot(llvm::FixedVectorType::get(real, lanes));
  }
}

void HostState::reset(HostEmitter::Scope* scope) {
  StateWords identity;
  for (int i = 0; i < reduction_.state_size; ++i) identity.word[i] = emitter_.real(reduction_.identity[i]);
  write(scope, identity, 1);
  if (lanes_ > 1) write(scope, identity, lanes_);
}

StateWords HostState::read(HostEmitter::Scope* scope, unsigned lanes) {
  StateWords state;
  for (int i = 0; i < reduction_.state_size; ++i) {
    llvm::AllocaInst* slot = lanes > 1 ? vector_[i] : scalar_[i];
    state.word[i] = val_of(emitter_.at(scope).CreateLoad(slot->getAllocatedType(), slot));
  }
  return state;
}

void HostState::write(HostEmitter::Scope* scope, StateWords state, unsigned lanes) {
  for (int i = 0; i < reduction_.state_size; ++i) {
    llvm::AllocaInst* slot = lanes > 1 ? vector_[i] : scalar_[i];
    llvm::Value* value = value_of(state.word[i]);
    llvm::IRBuilder<>& builder = emitter_.at(scope);
    if (lanes > 1 && !value->getType()->isVectorTy()) value = builder.CreateVectorSplat(lanes, value);
    builder.CreateStore(value, slot);
  }
}

void HostState::lift(HostEmitter::Scope* scope, const LiftedValue& x, unsigned lanes) {
  StateWords state = read(scope, lanes);
  reduction_.emit_lift(emitter_, x, state.word);
  write(scope, state, lanes);
}

void HostState::combine(HostEmitter::Scope* scope, StateWords other, unsigned lanes) {
  StateWords state = read(scope, lanes);
  reduction_.emit_combine(emitter_, state.word, other.word);
  write(scope, state, lanes);
}

StateWords HostState::total(HostEmitter::Scope* scope) {
  if (lanes_ == 1) return read(scope, 1);
  StateWords state = read(scope, lanes_);
  for (unsigned half = lanes_ / 2; half > 0; half /= 2) {
    StateWords upper;
    for (int i = 0; i < reduction_.state_size; ++i) {
      llvm::Value* all = value_of(state.word[i]);
      llvm::IRBuilder<>& builder = emitter_.at(scope);
      if (half == 1) {
        upper.word[i] = val_of(builder.CreateExtractElement(all, uint64_t{1}));
        state.word[i] = val_of(builder.CreateExtractElement(all, uint64_t{0}));
        continue;
      }
      llvm::SmallVector<int> low, high;
      for (unsigned lane = 0; lane < half; ++lane) low.push_back(lane), high.push_back(half + lane);
      upper.word[i] = val_of(builder.CreateShuffleVector(all, high));
      state.word[i] = val_of(builder.CreateShuffleVector(all, low));
    }
    reduction_.emit_combine(emitter_, state.word, upper.word);
  }
  StateWords single = read(scope, 1);
  reduction_.emit_combine(emitter_, state.word, single.word);
  return state;
}

}  // namespace coda
