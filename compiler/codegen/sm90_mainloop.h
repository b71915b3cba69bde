// The consumer's k-loop: wgmma on the stages of the ring into accumulators that are SSA values throughout. Directly:
// the tensor cores sum all of the depth. Promoted: they sum one stage, piece by piece, which is then added in f32; for
// 8-bit operands, whose sums they keep with few bits. The shape of this code is what keeps the assembler from
// serialising wgmma: one assembly block a k-block, every accumulator tied through it and through the final wait, none
// touched between.
#pragma once

#include "compiler/codegen/sm90_context.h"

namespace coda {

class Sm90Mainloop {
 public:
  explicit Sm90Mainloop(Sm90Context& context);

  /// Emits what does not depend on the tile; by consumers.
  void prepare();

  /// One tile's k-blocks, the last still in flight unless they have landed.
  struct Flight {
    std::vector<Val> accumulators;
    Val last_stage;
    Sm90Turn turn;  ///< of the next tile
    bool landed = false;
  };
  /// `blocks`: how many, at least 1.
  Flight run(Sm90Turn turn, Val blocks);
  /// Waits for the last k-block and frees its stage; the finished accumulators.
  std::vector<Val> land(const Flight& flight);

 private:
  /// A part of the consumer's tile: 64 rows from `row`, `columns` columns from `column`.
  struct Piece {
    int row, column, columns;
    int registers() const { return columns / 2; }
  };

  Val descriptor(Val address, bool depth_major);
  /// The assembly of one stage: operands are the pieces' registers, then the descriptors from number `descriptors`.
  /// `first`: the registers' contents don't count.
  std::string instructions(std::span<const Piece> pieces, int descriptors, bool first) const;
  /// Sums a stage into accumulators; in flight.
  std::vector<Val> multiply(std::span<const Val> accumulators, Val stage, bool first);
  /// The piece's sums with those over a stage added.
  std::vector<Val> add_piece(const Piece& piece, Val stage, std::span<const Val> sums);
  std::vector<Val> wait(std::span<const Val> accumulators);
  Flight run_direct(Sm90Turn turn, Val blocks);
  Flight run_promoted(Sm90Turn turn, Val blocks);

  Sm90Context& c_;
  NvptxBuilder& b_;
  Val a_descriptor_, b_descriptor_;
};

}  // namespace coda
