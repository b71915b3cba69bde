// The ring of pipeline stages: a full and an empty mbarrier for each, their addresses, and the walk around the ring. A
// stage is full when its bytes have arrived, empty when every consumer of its tile, in every CTA of the cluster, has
// read it.
#pragma once

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_layout.h"

namespace coda {

/// Where a walker of the ring stands.
struct Sm90Turn {
  Val stage;   ///< I32
  Val parity;  ///< I32
};

class Sm90Ring {
 public:
  Sm90Ring(NvptxBuilder& builder, const Sm90Schedule& schedule) : b_(builder), s_(schedule) {}

  int barrier_offset() const { return s_.stage_bytes() * s_.stages; }
  int scratch_offset() const { return (barrier_offset() + 16 * s_.stages + 63) / 64 * 64; }

  /// By one thread, before the CTA's (cluster's) first barrier.
  void init();
  Sm90Turn producer_start() { return {b_.i32(0), b_.i32(1)}; }
  Sm90Turn consumer_start() { return {b_.i32(0), b_.i32(0)}; }
  Sm90Turn next(const Sm90Turn& turn);
  /// `count` stages further on.
  Sm90Turn after(const Sm90Turn& turn, Val count);

  Val full(Val stage);
  Val empty(Val stage);
  Val base(Val stage);  ///< Shared
  /// Waits for a stage to be filled (consumer) or freed (producer).
  void wait_full(const Sm90Turn& turn);
  void wait_empty(const Sm90Turn& turn);
  /// One consumer's report that it has read `stage`, to every CTA of the cluster.
  void release(Val stage, Val thread_of_warpgroup);

 private:
  NvptxBuilder& b_;
  const Sm90Schedule& s_;
};

}  // namespace coda
