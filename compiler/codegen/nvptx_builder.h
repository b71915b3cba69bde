// Builds the LLVM IR of one GPU kernel without showing LLVM: values are opaque handles, blocks and phis are small
// structs. Everything GPU-specific (barriers, bulk copies, wgmma) is said through intrinsics and inline assembly in
// nvptx_ops.h; this file knows only types, arithmetic, control flow and calls.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/codegen/nvptx_target.h"
#include "compiler/ops/emitter.h"

namespace coda {

/// Types of SSA values. Ptr is a generic or global address, Shared one in the CTA's shared memory, Remote one in the
/// cluster's shared memory.
enum class Ty : uint8_t { Void, I1, I8, I16, I32, I64, F32, BF16, F16, Ptr, Shared, Remote };

enum class IntOp : uint8_t { Add, Sub, Mul, And, Or, Xor, Shl, Lshr, Udiv, Urem, Umin, Umax };
enum class IntTest : uint8_t { Eq, Ne, Ult, Ule, Ugt, Uge, Slt, Sge };

struct Block {
  void* handle = nullptr;
};
struct Phi {
  Val value;
};

/// What the kernel's symbol needs: its parameters are the tensor maps, then one struct of 64-bit words.
struct KernelSignature {
  std::string name;
  int tensor_maps = 0;
  int threads = 0;
  int cluster = 1;
  int ctas_per_sm = 1;  ///< that the registers must suffice for
};

class NvptxBuilder {
 public:
  NvptxBuilder();
  ~NvptxBuilder();
  NvptxBuilder(const NvptxBuilder&) = delete;
  NvptxBuilder& operator=(const NvptxBuilder&) = delete;

  void begin_kernel(const KernelSignature& signature);
  /// `words`: how many the argument block turned out to have.
  void end_kernel(int words);
  Val tensor_map(int index);
  Val word(int index);  ///< word `index` of the argument block, an I64
  Val shared_base();    ///< dynamic shared memory, 1024-byte aligned

  // Constants.
  Val i1(bool value);
  Val i16(int64_t value);
  Val i32(int64_t value);
  Val i64(int64_t value);
  Val f32(double value);
  Val undef(Ty type);

  // Integers. The operands have one type; a constant operand may be given as a number.
  Val op(IntOp op, Val a, Val b);
  Val op(IntOp op, Val a, int64_t b);
  Val add(Val a, Val b) { return op(IntOp::Add, a, b); }
  Val add(Val a, int64_t b) { return b == 0 ? a : op(IntOp::Add, a, b); }
  Val sub(Val a, Val b) { return op(IntOp::Sub, a, b); }
  Val mul(Val a, Val b) { return op(IntOp::Mul, a, b); }
  Val mul(Val a, int64_t b) { return b == 1 ? a : op(IntOp::Mul, a, b); }
  Val test(IntTest test, Val a, Val b);
  Val test(IntTest test, Val a, int64_t b);
  Val both(Val a, Val b) { return op(IntOp::And, a, b); }
  Val select(Val condition, Val a, Val b);
  /// Integer to integer, zero-extended or truncated; float to float; F32 to I32 and back keep the bits.
  Val convert(Val a, Ty to);
  Val bits(Val a, Ty to);
  /// ceil(a / b) for unsigned a, constant b > 0.
  Val ceil_div(Val a, int64_t b);

  /// `pointer` moved by `bytes` (an I32 or I64).
  Val offset(Val pointer, Val bytes);
  Val offset(Val pointer, int64_t bytes);
  Val to_remote(Val shared);   ///< the same place as a cluster address
  Val shared_int(Val shared);  ///< its 32-bit address
  Val address(Val pointer);    ///< its 64-bit address
  Val pointer(Val address);    ///< I64 to Ptr
  Val load(Ty type, Val pointer, int alignment);
  void store(Val value, Val pointer, int alignment);

  // Real arithmetic, contraction into fma allowed.
  Val fadd(Val a, Val b);
  Val fmul(Val a, Val b);

  // Control flow.
  Block block(std::string_view name);
  Block here() const;
  void enter(Block block);
  void jump(Block to);
  void branch(Val condition, Block yes, Block no);
  void switch_on(Val value, Block otherwise, std::span<const Block> cases);
  void ret();
  Phi phi(Ty type);  ///< at the current insertion point, which must be a block's start
  void incoming(const Phi& phi, Val value, Block from);
  /// Runs `body` in a block of its own, entered where `condition` holds.
  void when(Val condition, std::string_view name, const std::function<void()>& body);
  /// A loop with `carried` values: while `more(values)` holds, `body(values)` gives their next ones. Returns the values
  /// after the loop.
  std::vector<Val> loop(std::string_view name, std::span<const Val> initial,
                        const std::function<Val(std::span<const Val>)>& more,
                        const std::function<std::vector<Val>(std::span<const Val>)>& body);
  /// Another value carried through the innermost loop, asked for within its body: `initial`, emitted before the loop,
  /// in the first round, then what carry_on() gives, emitted where every round passes.
  Val carry(Val initial);
  void carry_on(Val carried, Val next);

  // Calls.
  Val intrinsic(std::string_view name, std::initializer_list<Val> args, std::initializer_list<Ty> overloads = {});
  Val intrinsic(std::string_view name, std::span<const Val> args, std::span<const Ty> overloads = {});
  struct AsmFlags {
    bool side_effect = true;
    bool convergent = false;
  };
  std::vector<Val> inline_asm(const std::string& text, const std::string& constraints, std::span<const Val> args,
                              std::span<const Ty> results, AsmFlags flags);
  std::vector<Val> inline_asm(const std::string& text, const std::string& constraints, std::span<const Val> args,
                              std::span<const Ty> results) {
    return inline_asm(text, constraints, args, results, AsmFlags{});
  }

  /// A place between two instructions. Code can be emitted there later, so loads can be issued before values that were
  /// evaluated earlier need them.
  struct Place {
    void* handle = nullptr;
  };
  Place mark();
  void at(Place place, const std::function<void()>& body);
  void unmark(Place place);  ///< removes the marker

  /// The llvm::IRBuilder<>, for code that derives from LlvmEmitter.
  void* ir_builder();
  /// Verifies; nothing if the module is well-formed, else LLVM's message.
  std::optional<std::string> verify();
  std::string llvm_text();
  /// PTX for `cpu` (e.g. "sm_90a"); on failure returns nothing and sets `error`.
  std::optional<std::string> to_ptx(const std::string& cpu, const std::string& features, NvptxCode code,
                                    std::string* error);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coda
