// Tiles whose depth is cut, all of them or those of the last round: each part's sums go to a workspace, and whoever
// counts in last adds all of a tile's parts in the order of the depth and does the epilogue. So every run gives the
// same bits, whoever comes last.
#pragma once

#include <functional>

#include "compiler/codegen/sm90_mainloop.h"

namespace coda {

/// Workspaces; -1 where nothing is cut. Sums: of each number that Sm90Tiles gives, consumer that shares the tile, four
/// accumulators and thread, those four side by side. Counters: of each number and consumer.
struct Sm90SplitLayout {
  int sums = -1, counters = -1;
};
/// Adds the workspaces to the image.
Sm90SplitLayout make_sm90_split_layout(const EpilogueProgram& epilogue, const Sm90Plan& plan, const Dim& rows,
                                       KernelImage& image);

class Sm90Split {
 public:
  /// `scratch`: I32, shared address of this consumer's scratch.
  Sm90Split(Sm90Context& context, Sm90Mainloop& mainloop, const Sm90SplitLayout& layout, Val scratch)
      : c_(context), b_(context.b), mainloop_(mainloop), layout_(layout), scratch_(scratch) {}

  /// Emits `body` with the tile's whole sums, where they are: of a tile that is not cut, the flight itself.
  void join(const Sm90Tile& tile, const Sm90Mainloop::Flight& flight,
            const std::function<void(const Sm90Mainloop::Flight&)>& body);

 private:
  void meet(const Sm90Tile& tile, const Sm90Mainloop::Flight& flight,
            const std::function<void(const Sm90Mainloop::Flight&)>& body);
  /// I64, of this thread's first four accumulators among the sums of that number.
  Val place(Val number);
  /// I1 or null: this thread's rows are rows of the tile, if a tile has fewer than an instruction.
  Val owns_rows();

  Sm90Context& c_;
  NvptxBuilder& b_;
  Sm90Mainloop& mainloop_;
  const Sm90SplitLayout& layout_;
  Val scratch_;
};

}  // namespace coda
