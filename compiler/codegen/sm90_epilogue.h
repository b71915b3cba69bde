// The epilogue of one tile: for the tile's region, waits for the accumulators and evaluates every store and statistic
// on them in registers, slice by slice (a group of columns of one row), so that few values live at a time.
#pragma once

#include <string>

#include "compiler/codegen/sm90_mainloop.h"
#include "compiler/codegen/sm90_region.h"

namespace coda {

class Sm90Epilogue {
 public:
  Sm90Epilogue(Sm90Context& context, NvptxNumbers& numbers, Sm90Mainloop& mainloop)
      : c_(context), numbers_(numbers), mainloop_(mainloop) {}

  void emit(const Sm90Tile& tile, const Sm90Mainloop::Flight& flight, Val consumer);
  /// What could not be generated; empty if all was.
  const std::string& failure() const { return failure_; }

 private:
  void emit_region(int index, const Sm90Tile& tile, const Sm90Mainloop::Flight& flight, Val consumer);

  Sm90Context& c_;
  NvptxNumbers& numbers_;
  Sm90Mainloop& mainloop_;
  std::string failure_;
};

}  // namespace coda
