// What every part of the sm_90a kernel generator works with: the builder, the arguments, the plan, the ring and the
// tile walk, and the values that are alive in the whole kernel.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_arguments.h"
#include "compiler/codegen/sm90_layout.h"
#include "compiler/codegen/sm90_ring.h"
#include "compiler/codegen/sm90_tiles.h"

namespace coda {

struct Sm90Context {
  NvptxBuilder& b;
  Sm90Arguments& arguments;
  KernelImage& image;
  const EpilogueProgram& epilogue;
  const Sm90Plan& plan;
  Sm90Ring& ring;
  Sm90Tiles& tiles;

  Val thread;        ///< I32, in the CTA
  Val thread_in_wg;  ///< I32
  Val warpgroup;     ///< I32, uniform
  Val depth_blocks;  ///< I32, of all terms
  /// I32, of each of the program's terms, at least 1: a depth of 0 is one block of zeros.
  std::vector<Val> term_blocks;
  Dim rows;  ///< M

  // In a consumer.
  Val consumer;  ///< I32, number of this warpgroup among the consumers
  Val share;     ///< I32, which part of its tile's rows it owns

  /// Named barriers: 0 is the CTA's, one each consumer, the loading producer's, and one each consumer for its turn.
  static constexpr int kFirstConsumerBarrier = 1;
  static constexpr int kProducerBarrier = 4;
  static constexpr int kFirstTurnBarrier = 5;
  Val consumer_barrier() { return b.add(consumer, kFirstConsumerBarrier); }

  /// Runs `body(r)` where the region is r, and joins what it returns.
  std::vector<Val> for_region(Val region, std::span<const Ty> types, const std::function<std::vector<Val>(int)>& body);
  /// Runs `body(r)` where the region is r or uses its code.
  void for_code(Val region, const std::function<void(int)>& body);
};

}  // namespace coda
