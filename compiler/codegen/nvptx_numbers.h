// Numbers on a GPU: the Emitter with the hardware's special functions, and the stored forms of element types as words.
// LLVM-free; the implementation derives from LlvmEmitter.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/ops/emitter.h"
#include "runtime/format/dtype.h"

namespace coda {

class NvptxNumbers {
 public:
  /// `approximate`: see Emitter::is_approximate.
  NvptxNumbers(NvptxBuilder& builder, bool approximate);
  ~NvptxNumbers();

  /// From here on.
  void approximate(bool wanted);
  Emitter& emitter();
  /// A value of the dtype's number class, in its range, as stored bits: an I32, zero-extended; an I64 for 8 bytes.
  Val encode(Val value, DType dtype);
  /// Two 16-bit floats as one word, `low` in the low half.
  Val encode_pair(Val low, Val high, DType dtype);
  /// The way back from an I32 (I64 for 8 bytes) whose higher bits may be anything.
  Val decode(Val stored, DType dtype);
  /// Neighbours as 32-bit words, packed from the low end, and element `index` of such words.
  std::vector<Val> encode_words(std::span<const Val> values, DType dtype);
  Val decode_from(std::span<const Val> words, int index, DType dtype);

 private:
  class Impl;
  NvptxBuilder& b_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coda
