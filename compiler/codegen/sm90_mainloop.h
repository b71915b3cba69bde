// The consumer's k-loops, one for each product that is summed: wgmma on the stages of the ring into accumulators that
// are SSA values throughout. Directly: the tensor cores sum all of the depth. Promoted: they sum one stage, piece by
// piece, which is then added in f32; for 8-bit operands, whose sums they keep with few bits. The shape of this code is
// what keeps the assembler from serialising wgmma: one assembly block a k-block, every accumulator tied through it and
// through the final wait, none touched between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/nvptx_numbers.h"
#include "compiler/codegen/sm90_context.h"

namespace coda {

class Sm90Mainloop {
 public:
  explicit Sm90Mainloop(Sm90Context& context);

  /// Emits what does not depend on the tile; by consumers.
  void prepare(NvptxNumbers& numbers);
  const std::string& failure() const { return failure_; }

  /// One tile's k-blocks, the last still in flight unless they have landed.
  struct Flight {
    std::vector<Val> accumulators;
    Val last_stage;
    Sm90Turn turn;  ///< of the next tile
    bool landed = false;
    bool rare = false;  ///< few tiles come this way: one version of their epilogue is enough
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
  /// One of the products that are summed, and what its sum with those before is multiplied by.
  struct Term {
    Val a_descriptor, b_descriptor, blocks;
    bool a_depth_major = true, b_depth_major = true;
    std::optional<Val> scale;
  };

  Term begun(Term term);

  /// The assembly of one stage: operands are the pieces' registers, then the descriptors from number `descriptors`.
  /// `first`: the registers' contents don't count.
  std::string instructions(const Term& term, std::span<const Piece> pieces, int descriptors, bool first) const;
  /// Sums a stage into accumulators; in flight.
  std::vector<Val> multiply(const Term& term, std::span<const Val> accumulators, Val stage, bool first);
  /// The piece's sums with those over a stage added.
  std::vector<Val> add_piece(const Term& term, const Piece& piece, Val stage, std::span<const Val> sums);
  std::vector<Val> wait(std::span<const Val> accumulators);
  /// `flight` with the blocks of `term` behind it; directly, from block `begin` on.
  Flight direct(const Term& term, const Flight& flight, int begin);
  Flight promoted(const Term& term, const Flight& flight);

  Sm90Context& c_;
  NvptxBuilder& b_;
  const bool veils_sums_;  ///< from ptxas: see land
  std::vector<Term> terms_;
  Val a_address_, b_address_;  ///< I32, of the consumer's part of stage 0
  std::string failure_;
};

}  // namespace coda
