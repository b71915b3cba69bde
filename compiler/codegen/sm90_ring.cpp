#include "compiler/codegen/sm90_ring.h"

#include "compiler/codegen/nvptx_ops.h"

namespace coda {

void Sm90Ring::init() {
  for (int i = 0; i < s_.stages; ++i) {
    gpu::mbarrier_init(b_, full(b_.i32(i)), 1);
    gpu::mbarrier_init(b_, empty(b_.i32(i)), s_.sharers() * s_.cluster);
  }
  gpu::mbarrier_fence_init(b_);
}

Sm90Turn Sm90Ring::next(const Sm90Turn& turn) {
  Val after = b_.add(turn.stage, 1);
  Val wraps = b_.test(IntTest::Eq, after, s_.stages);
  return {b_.select(wraps, b_.i32(0), after), b_.op(IntOp::Xor, turn.parity, b_.convert(wraps, Ty::I32))};
}

Sm90Turn Sm90Ring::after(const Sm90Turn& turn, Val count) {
  Val rounds = b_.op(IntOp::Udiv, count, s_.stages);
  Val stage = b_.add(turn.stage, b_.sub(count, b_.mul(rounds, s_.stages)));
  Val wraps = b_.test(IntTest::Uge, stage, s_.stages);
  rounds = b_.add(rounds, b_.convert(wraps, Ty::I32));
  return {b_.select(wraps, b_.sub(stage, b_.i32(s_.stages)), stage),
          b_.op(IntOp::Xor, turn.parity, b_.op(IntOp::And, rounds, 1))};
}

Val Sm90Ring::full(Val stage) {
  return b_.offset(b_.offset(b_.shared_base(), barrier_offset()), b_.op(IntOp::Shl, stage, 4));
}
Val Sm90Ring::empty(Val stage) { return b_.offset(full(stage), 8); }
Val Sm90Ring::base(Val stage) { return b_.offset(b_.shared_base(), b_.mul(stage, s_.stage_bytes())); }

void Sm90Ring::wait_full(const Sm90Turn& turn) { gpu::mbarrier_wait(b_, full(turn.stage), turn.parity); }
void Sm90Ring::wait_empty(const Sm90Turn& turn) { gpu::mbarrier_wait(b_, empty(turn.stage), turn.parity); }

void Sm90Ring::release(Val stage, Val thread) {
  b_.when(b_.test(IntTest::Ult, thread, s_.cluster), "release", [&] {
    if (s_.cluster > 1) {
      gpu::mbarrier_arrive_remote(b_, empty(stage), thread);
    } else {
      gpu::mbarrier_arrive(b_, empty(stage));
    }
  });
}

}  // namespace coda
