// The consumer's k-loop: wgmma on the stages of the ring into accumulators that are SSA values throughout. The shape of
// this code is what keeps the assembler from serialising wgmma: one assembly block a k-block, every accumulator tied
// through it and through the final wait, none touched between.
#pragma once

#include "compiler/codegen/sm90_context.h"

namespace coda {

class Sm90Mainloop {
 public:
  explicit Sm90Mainloop(Sm90Context& context);

  /// Emits what does not depend on the tile; by consumers.
  void prepare();

  /// One tile's k-blocks, the last still in flight.
  struct Flight {
    std::vector<Val> accumulators;
    Val last_stage;
    Sm90Turn turn;  ///< of the next tile
  };
  Flight run(Sm90Turn turn);
  /// Waits for the last k-block and frees its stage; the finished accumulators.
  std::vector<Val> land(const Flight& flight);

 private:
  Val descriptor(Val address, bool depth_major);
  std::vector<Val> multiply(std::span<const Val> accumulators, Val stage, bool first);

  Sm90Context& c_;
  NvptxBuilder& b_;
  Val a_descriptor_, b_descriptor_;
};

}  // namespace coda
