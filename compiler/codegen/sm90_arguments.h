// The kernel's argument block: 64-bit words and launch-time conditions, given out on demand and loaded where they are
// used (they lie in the constant bank). Owns the order of KernelImage::words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_twins.h"
#include "runtime/format/kernel_image.h"

namespace coda {

class Sm90Arguments {
 public:
  Sm90Arguments(NvptxBuilder& builder, KernelImage& image) : b_(builder), image_(image) {}

  Val pointer(int param);                         ///< I64
  Val stride(int param, int axis);                ///< I64, in elements
  Val extent(const Dim& value);                   ///< I64
  Val extent32(const Dim& value);                 ///< I32
  Val scalar(int param);                          ///< I64: f32 bits or an integer
  Val workspace(int index);                       ///< I64
  Val tensor_map_ok(int map);                     ///< I1
  Val condition(const ConditionSpec& condition);  ///< I1
  /// The condition's bit, and whether all of several bits are set (I1).
  uint64_t condition_bit(const ConditionSpec& condition);
  Val conditions_hold(uint64_t bits);

  /// A region that uses the code which is emitted now, where `here` (I1) holds: it gets its own of what is asked for.
  struct Twin {
    Val here;
    const Sm90Likeness* likeness;
  };
  /// From now on, from where the builder stands; `twins` may be none.
  void serve(std::vector<Twin> twins);

 private:
  Val word(const WordSpec& spec);
  Val word_of(const WordSpec& spec);  ///< whatever region it is
  Val mask(uint64_t bits);            ///< of conditions, I64
  Val bit(WordSpec spec, Val mask);

  NvptxBuilder& b_;
  KernelImage& image_;
  std::vector<Twin> twins_;
  std::optional<NvptxBuilder::Place> served_from_;
  std::map<int64_t, Val> chosen_;  // words that twins have their own of
};

/// Bytes to an element of a matrix in the layout mx128x4; all are I64, `pitch` the stride of its first axis.
Val sm90_mx128x4_offset(NvptxBuilder& b, Val row, Val column, Val pitch);

}  // namespace coda
