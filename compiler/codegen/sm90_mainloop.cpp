#include "compiler/codegen/sm90_mainloop.h"

#include "compiler/codegen/nvptx_ops.h"

namespace coda {
namespace {

constexpr int kInstructionK = 16;  // depth of one wgmma of 16-bit operands
constexpr int64_t kSwizzle128 = int64_t{1} << 62;
/// Distances in the descriptor are in units of 16 bytes.
constexpr int64_t kStrideOffset = int64_t{1024 >> 4} << 32;  // the next 8 rows (of depth, if it isn't contiguous)
constexpr int64_t kLeadingDepthMajor = int64_t{1} << 16;     // ignored by the hardware
constexpr int64_t kLeadingOther = int64_t{8192 >> 4} << 16;  // the next 64 rows of the operand
constexpr int kNextDepthMajor = 2 * kInstructionK >> 4;      // 16 elements along a swizzled row
constexpr int kNextOther = 128 * kInstructionK >> 4;         // 16 rows of 128 bytes
constexpr int kNextRowBlock = 64 * 128 >> 4;                 // 64 rows of A, in either layout
constexpr int kAddressMask = 0x3FFFF;  // above lies the CTA's rank in its cluster, which would fall into other fields

std::string register_list(int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i ? ", $" : "$") + std::to_string(first + i);
  return list + "}";
}

/// Outputs, then as many inputs tied to them.
std::string tied(int count) {
  std::string constraints;
  for (int i = 0; i < count; ++i) constraints += i ? ",=f" : "=f";
  for (int i = 0; i < count; ++i) constraints += "," + std::to_string(i);
  return constraints;
}

}  // namespace

Sm90Mainloop::Sm90Mainloop(Sm90Context& context) : c_(context), b_(context.b) {}

Val Sm90Mainloop::descriptor(Val address, bool depth_major) {
  Val low = b_.convert(b_.op(IntOp::Lshr, b_.op(IntOp::And, address, kAddressMask), 4), Ty::I64);
  return b_.op(IntOp::Or, low, kSwizzle128 | kStrideOffset | (depth_major ? kLeadingDepthMajor : kLeadingOther));
}

void Sm90Mainloop::prepare() {
  const Sm90Schedule& s = c_.plan.schedule;
  Val base = b_.shared_int(b_.shared_base());
  Val rows = b_.mul(c_.share, s.rows_per_consumer() * 2 * kSm90TileK);
  a_descriptor_ = descriptor(b_.add(base, rows), c_.plan.a_depth_major);
  b_descriptor_ = descriptor(b_.add(base, s.a_bytes()), c_.plan.b_depth_major);
}

std::vector<Val> Sm90Mainloop::multiply(std::span<const Val> accumulators, Val stage, bool first) {
  const Sm90Plan& plan = c_.plan;
  const Sm90Schedule& s = plan.schedule;
  const int count = plan.accumulators(), each = s.tile_n / 2;
  Val offset = b_.convert(b_.mul(stage, s.stage_bytes() >> 4), Ty::I64);
  const std::string a = "$" + std::to_string(2 * count), bb = "$" + std::to_string(2 * count + 1);
  const std::string type = plan.half ? ".f16" : ".bf16";
  const std::string instruction =
      "wgmma.mma_async.sync.aligned.m64n" + std::to_string(s.tile_n) + "k16.f32" + type + type + " ";
  const std::string transposes = std::string(plan.a_depth_major ? ", 0" : ", 1") + (plan.b_depth_major ? ", 0" : ", 1");
  std::string text =
      "{\n .reg .pred p, pz; .reg .b64 a, b; setp.ne.b32 p, 1, 0; setp.ne.b32 pz, 0, 0;\n"
      " wgmma.fence.sync.aligned;\n";
  for (int k = 0; k < kSm90TileK / kInstructionK; ++k) {
    const int at_b = k * (plan.b_depth_major ? kNextDepthMajor : kNextOther);
    for (int m = 0; m < plan.row_blocks(); ++m) {
      const int at_a = k * (plan.a_depth_major ? kNextDepthMajor : kNextOther) + m * kNextRowBlock;
      text += " add.s64 a, " + a + ", " + std::to_string(at_a) + "; add.s64 b, " + bb + ", " + std::to_string(at_b) +
              ";\n " + instruction + register_list(m * each, each) + ", a, b, " + (first && k == 0 ? "pz" : "p") +
              ", 1, 1" + transposes + ";\n";
    }
  }
  text += " wgmma.commit_group.sync.aligned;\n}";
  std::vector<Val> args(accumulators.begin(), accumulators.end());
  args.push_back(b_.add(a_descriptor_, offset));
  args.push_back(b_.add(b_descriptor_, offset));
  const std::vector<Ty> results(static_cast<size_t>(count), Ty::F32);
  return b_.inline_asm(text, tied(count) + ",l,l,~{memory}", args, results, {true, true});
}

Sm90Mainloop::Flight Sm90Mainloop::run(Sm90Turn turn) {
  const std::vector<Val> zeros(static_cast<size_t>(c_.plan.accumulators()), b_.f32(0));
  c_.ring.wait_full(turn);
  std::vector<Val> started = multiply(zeros, turn.stage, true);
  const Sm90Turn second = c_.ring.next(turn);
  std::vector<Val> initial = {b_.i32(1), second.stage, second.parity, turn.stage};
  const size_t fixed = initial.size();
  initial.insert(initial.end(), started.begin(), started.end());
  std::vector<Val> after = b_.loop(
      "multiply", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], c_.depth_blocks); },
      [&](std::span<const Val> v) {
        const Sm90Turn now{v[1], v[2]};
        c_.ring.wait_full(now);
        std::vector<Val> sums = multiply(v.subspan(fixed), now.stage, false);
        b_.intrinsic("nvvm.wgmma.wait_group.sync.aligned", {b_.i64(1)});
        c_.ring.release(v[3], c_.thread_in_wg);
        const Sm90Turn next = c_.ring.next(now);
        std::vector<Val> values = {b_.add(v[0], 1), next.stage, next.parity, now.stage};
        values.insert(values.end(), sums.begin(), sums.end());
        return values;
      });
  return {std::vector<Val>(after.begin() + static_cast<std::ptrdiff_t>(fixed), after.end()),
          after[3],
          {after[1], after[2]}};
}

std::vector<Val> Sm90Mainloop::land(const Flight& flight) {
  const int count = c_.plan.accumulators();
  const std::vector<Ty> results(static_cast<size_t>(count), Ty::F32);
  std::vector<Val> done = b_.inline_asm("wgmma.wait_group.sync.aligned 0;", tied(count) + ",~{memory}",
                                        flight.accumulators, results, {true, true});
  c_.ring.release(flight.last_stage, c_.thread_in_wg);
  return done;
}

}  // namespace coda
