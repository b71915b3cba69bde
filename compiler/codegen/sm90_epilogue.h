// The epilogue of one tile: for the tile's region, waits for the accumulators and evaluates every store and statistic
// on them in registers, slice by slice (a group of columns of one row), so that few values live at a time. There are
// two versions of the code: one for tiles that lie inside the tensors whole, in memory aligned as one would wish, and
// one that looks at every element's place.
#pragma once

#include <string>

#include "compiler/codegen/sm90_finish.h"
#include "compiler/codegen/sm90_mainloop.h"
#include "compiler/codegen/sm90_region.h"

namespace coda {

class Sm90Epilogue {
 public:
  /// `scratch`: I32, shared address of this consumer's scratch.
  Sm90Epilogue(Sm90Context& context, NvptxNumbers& numbers, Sm90Mainloop& mainloop, const Sm90StatLayout& layout,
               Val scratch)
      : c_(context),
        numbers_(numbers),
        mainloop_(mainloop),
        layout_(layout),
        scratch_(scratch),
        finish_(context, numbers, layout, scratch) {}

  void emit(const Sm90Tile& tile, const Sm90Mainloop::Flight& flight);
  /// After all tiles: the finish stage where there was none.
  void finish_nothing() { finish_.emit_nothing(); }
  /// What could not be generated; empty if all was.
  const std::string& failure() const { return failure_.empty() ? finish_.failure() : failure_; }

 private:
  void emit_region(int index, const Sm90Tile& tile, const Sm90Mainloop::Flight& flight);
  /// Returns the conditions that a whole tile assumes.
  uint64_t emit_version(int index, const Sm90Tile& tile, const Sm90Mainloop::Flight& flight, bool whole);
  /// I1, uniform: this consumer's part of the tile lies inside the tensors.
  Val is_whole(int index, const Sm90Tile& tile);

  Sm90Context& c_;
  NvptxNumbers& numbers_;
  Sm90Mainloop& mainloop_;
  const Sm90StatLayout& layout_;
  Val scratch_;
  Sm90Finish finish_;
  std::string failure_;
};

}  // namespace coda
