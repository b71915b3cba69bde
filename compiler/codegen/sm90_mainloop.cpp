#include "compiler/codegen/sm90_mainloop.h"

#include <algorithm>

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_uniform.h"

namespace coda {
namespace {

constexpr int kInstructionBytes = 32;  // of depth, in one wgmma
constexpr int64_t kSwizzle128 = int64_t{1} << 62;
/// Distances in the descriptor are in units of 16 bytes.
constexpr int64_t kStrideOffset = int64_t{1024 >> 4} << 32;  // the next 8 rows (of depth, if it isn't contiguous)
constexpr int64_t kLeadingDepthMajor = int64_t{1} << 16;     // ignored by the hardware
constexpr int64_t kLeadingOther = int64_t{8192 >> 4} << 16;  // the next 64 rows of the operand
constexpr int kNextDepthMajor = kInstructionBytes >> 4;      // along a swizzled row
constexpr int kNextOther = 128 * 16 >> 4;                    // 16 rows of 128 bytes, of 2-byte elements
constexpr int kNextRow = 128 >> 4;     // a row of an operand, in blocks of 8 or 64 in either layout
constexpr int kAddressMask = 0x3FFFF;  // above lies the CTA's rank in its cluster, which would fall into other fields

std::string register_list(int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i ? ", $" : "$") + std::to_string(first + i);
  return list + "}";
}

std::string outputs(int count) {
  std::string constraints;
  for (int i = 0; i < count; ++i) constraints += i ? ",=f" : "=f";
  return constraints;
}

/// Outputs, then as many inputs tied to them.
std::string tied(int count) {
  std::string constraints = outputs(count);
  for (int i = 0; i < count; ++i) constraints += "," + std::to_string(i);
  return constraints;
}

/// Is the value at some places the bare accumulator?
bool can_be_bare(const EpilogueProgram& epilogue, NodeId id) {
  if (id == epilogue.accumulator) return true;
  const Node& node = epilogue.program.graph[id];
  const bool only_moves = node.kind == NodeKind::View || node.kind == NodeKind::Put || node.kind == NodeKind::Sum;
  return only_moves &&
         std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) { return can_be_bare(epilogue, arg); });
}

bool rounds_bare_sums_to_half(const EpilogueProgram& epilogue) {
  const Graph& graph = epilogue.program.graph;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind == NodeKind::Cast && node.dtype == DType::F16 && can_be_bare(epilogue, node.args[0])) return true;
  }
  return false;
}

}  // namespace

Sm90Mainloop::Sm90Mainloop(Sm90Context& context)
    : c_(context), b_(context.b), veils_sums_(rounds_bare_sums_to_half(context.epilogue)) {}

Val Sm90Mainloop::descriptor(Val address, bool depth_major) {
  Val low = b_.convert(b_.op(IntOp::Lshr, b_.op(IntOp::And, address, kAddressMask), 4), Ty::I64);
  return b_.op(IntOp::Or, low, kSwizzle128 | kStrideOffset | (depth_major ? kLeadingDepthMajor : kLeadingOther));
}

void Sm90Mainloop::prepare(NvptxNumbers& numbers) {
  const Sm90Schedule& s = c_.plan.schedule;
  Val base = b_.shared_int(b_.shared_base());
  Val rows = b_.mul(c_.share, s.rows_per_consumer() * kSm90RowBytes);
  a_address_ = b_.add(base, rows);
  b_address_ = b_.add(base, s.a_bytes());
  const std::vector<GemmTerm> terms = c_.epilogue.terms();
  for (size_t t = 0; t < terms.size(); ++t) {
    const Sm90TermPlan plan = c_.plan.term(t);
    Term term{descriptor(a_address_, plan.a_depth_major),
              descriptor(b_address_, plan.b_depth_major),
              c_.term_blocks[t],
              plan.a_depth_major,
              plan.b_depth_major,
              std::nullopt};
    if (terms[t].scale != kNoNode) term.scale = sm90_uniform_value(c_, numbers, terms[t].scale, failure_);
    terms_.push_back(term);
  }
}

/// Descriptors of several terms would stay in registers through the epilogue: they are made anew where each begins.
Sm90Mainloop::Term Sm90Mainloop::begun(Term term) {
  if (terms_.size() == 1) return term;
  term.a_descriptor = descriptor(gpu::veiled(b_, a_address_), term.a_depth_major);
  term.b_descriptor = descriptor(gpu::veiled(b_, b_address_), term.b_depth_major);
  return term;
}

std::string Sm90Mainloop::instructions(const Term& term, std::span<const Piece> pieces, int descriptors,
                                       bool first) const {
  const Sm90Plan& plan = c_.plan;
  const std::string a = "$" + std::to_string(descriptors), bb = "$" + std::to_string(descriptors + 1);
  const auto type = [](DType dtype) { return "." + std::string(info(dtype).name); };
  const std::string depth = std::to_string(kInstructionBytes / plan.element_bytes());
  const std::string types = "k" + depth + ".f32" + type(plan.a_type) + type(plan.b_type) + " ";
  // 8-bit operands have one layout only.
  std::string flags = ", 1, 1";
  if (plan.element_bytes() > 1)
    flags += std::string(term.a_depth_major ? ", 0" : ", 1") + (term.b_depth_major ? ", 0" : ", 1");
  std::string text =
      "{\n .reg .pred p, pz; .reg .b64 a, b; setp.ne.b32 p, 1, 0; setp.ne.b32 pz, 0, 0;\n"
      " wgmma.fence.sync.aligned;\n";
  for (int k = 0; k < kSm90RowBytes / kInstructionBytes; ++k) {
    int registers = 0;
    for (const Piece& piece : pieces) {
      const int at_a = k * (term.a_depth_major ? kNextDepthMajor : kNextOther) + piece.row * kNextRow;
      const int at_b = k * (term.b_depth_major ? kNextDepthMajor : kNextOther) + piece.column * kNextRow;
      text += " add.s64 a, " + a + ", " + std::to_string(at_a) + "; add.s64 b, " + bb + ", " + std::to_string(at_b) +
              ";\n wgmma.mma_async.sync.aligned.m64n" + std::to_string(piece.columns) + types +
              register_list(registers, piece.registers()) + ", a, b, " + (first && k == 0 ? "pz" : "p") + flags + ";\n";
      registers += piece.registers();
    }
  }
  return text + " wgmma.commit_group.sync.aligned;\n}";
}

std::vector<Val> Sm90Mainloop::multiply(const Term& term, std::span<const Val> accumulators, Val stage, bool first) {
  const Sm90Schedule& s = c_.plan.schedule;
  const int count = c_.plan.accumulators();
  std::vector<Piece> pieces;
  for (int m = 0; m < c_.plan.row_blocks(); ++m) pieces.push_back({m * kSm90InstructionRows, 0, s.tile_n});
  Val offset = b_.convert(b_.mul(stage, s.stage_bytes() >> 4), Ty::I64);
  std::vector<Val> args(accumulators.begin(), accumulators.end());
  args.push_back(b_.add(term.a_descriptor, offset));
  args.push_back(b_.add(term.b_descriptor, offset));
  const std::vector<Ty> results(static_cast<size_t>(count), Ty::F32);
  return b_.inline_asm(instructions(term, pieces, 2 * count, first), tied(count) + ",l,l,~{memory}", args, results,
                       {true, true});
}

std::vector<Val> Sm90Mainloop::add_piece(const Term& term, const Piece& piece, Val stage, std::span<const Val> sums) {
  Val offset = b_.convert(b_.mul(stage, c_.plan.schedule.stage_bytes() >> 4), Ty::I64);
  const Val args[] = {b_.add(term.a_descriptor, offset), b_.add(term.b_descriptor, offset)};
  const int count = piece.registers();
  const std::vector<Ty> results(static_cast<size_t>(count), Ty::F32);
  const std::vector<Val> started = b_.inline_asm(instructions(term, std::span(&piece, 1), count, true),
                                                 outputs(count) + ",l,l,~{memory}", args, results, {true, true});
  // One block with the wait, so that the additions of one piece come before the next one's multiplications: together
  // their registers would not fit.
  std::string text = "wgmma.wait_group.sync.aligned 0;", constraints = tied(count);
  std::vector<Val> inputs(sums.begin(), sums.end());
  for (int i = 0; i < count; ++i) {
    const std::string sum = "$" + std::to_string(i);
    text += "\n add.rn.f32 " + sum + ", " + sum + ", $" + std::to_string(2 * count + i) + ";";
    constraints += ",f";
    inputs.push_back(started[static_cast<size_t>(i)]);
  }
  return b_.inline_asm(text, constraints + ",~{memory}", inputs, results, {true, true});
}

std::vector<Val> Sm90Mainloop::wait(std::span<const Val> accumulators) {
  const std::vector<Ty> results(accumulators.size(), Ty::F32);
  return b_.inline_asm("wgmma.wait_group.sync.aligned 0;", tied(static_cast<int>(accumulators.size())) + ",~{memory}",
                       accumulators, results, {true, true});
}

Sm90Mainloop::Flight Sm90Mainloop::run(Sm90Turn turn, Val blocks) {
  const bool promotes = c_.plan.schedule.promote == 1;
  Flight flight{std::vector<Val>(static_cast<size_t>(c_.plan.accumulators()), b_.f32(0)), {}, turn, promotes};
  bool in_flight = false;
  for (size_t t = 0; t < terms_.size(); ++t) {
    Term term = begun(terms_[t]);
    if (terms_.size() == 1) term.blocks = blocks;  // perhaps a part of the depth
    if (promotes) {
      flight = promoted(term, flight);
    } else {
      if (!in_flight) {  // nothing to free yet
        c_.ring.wait_full(flight.turn);
        std::vector<Val> sums = multiply(term, flight.accumulators, flight.turn.stage, t == 0);
        flight = {std::move(sums), flight.turn.stage, c_.ring.next(flight.turn)};
      }
      flight = direct(term, flight, in_flight ? 0 : 1);
    }
    in_flight = !term.scale;
    if (!term.scale) continue;
    flight.accumulators = land(flight);
    for (Val& sum : flight.accumulators) sum = b_.fmul(sum, *term.scale);
  }
  return flight;
}

Sm90Mainloop::Flight Sm90Mainloop::promoted(const Term& term, const Flight& flight) {
  const Sm90Schedule& s = c_.plan.schedule;
  // N-major B comes in blocks of 64 columns.
  const int width = s.piece_columns(term.b_depth_major ? 8 : kSm90InstructionRows);
  std::vector<Piece> pieces;
  for (int m = 0; m < c_.plan.row_blocks(); ++m) {
    for (int n = 0; n < s.tile_n; n += width) {
      pieces.push_back({m * kSm90InstructionRows, n, std::min(width, s.tile_n - n)});
    }
  }
  std::vector<Val> initial = {b_.i32(0), flight.turn.stage, flight.turn.parity};
  const size_t fixed = initial.size();
  initial.insert(initial.end(), flight.accumulators.begin(), flight.accumulators.end());
  std::vector<Val> after = b_.loop(
      "promote", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], term.blocks); },
      [&](std::span<const Val> v) {
        const Sm90Turn now{v[1], v[2]};
        c_.ring.wait_full(now);
        std::vector<Val> values = {b_.add(v[0], 1), {}, {}};
        for (const Piece& piece : pieces) {
          const std::vector<Val> sums =
              add_piece(term, piece, now.stage, v.subspan(values.size(), static_cast<size_t>(piece.registers())));
          values.insert(values.end(), sums.begin(), sums.end());
        }
        c_.ring.release(now.stage, c_.thread_in_wg);
        const Sm90Turn next = c_.ring.next(now);
        values[1] = next.stage;
        values[2] = next.parity;
        return values;
      });
  return {std::vector<Val>(after.begin() + static_cast<std::ptrdiff_t>(fixed), after.end()),
          {},
          {after[1], after[2]},
          true};
}

Sm90Mainloop::Flight Sm90Mainloop::direct(const Term& term, const Flight& flight, int begin) {
  std::vector<Val> initial = {b_.i32(begin), flight.turn.stage, flight.turn.parity, flight.last_stage};
  const size_t fixed = initial.size();
  initial.insert(initial.end(), flight.accumulators.begin(), flight.accumulators.end());
  std::vector<Val> after = b_.loop(
      "multiply", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], term.blocks); },
      [&](std::span<const Val> v) {
        const Sm90Turn now{v[1], v[2]};
        c_.ring.wait_full(now);
        std::vector<Val> sums = multiply(term, v.subspan(fixed), now.stage, false);
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
  if (flight.landed) return flight.accumulators;
  std::vector<Val> done = wait(flight.accumulators);
  c_.ring.release(flight.last_stage, c_.thread_in_wg);
  if (!veils_sums_) return done;
  // ptxas would move a rounding to f16 and back in front of the wait, and run the multiplications one by one.
  const Ty results[] = {Ty::F32};
  for (Val& sum : done) {
    const Val args[] = {sum};
    sum = b_.inline_asm("add.rn.f32 $0, $1, 0f80000000;", "=f,f", args, results, {})[0];
  }
  return done;
}

}  // namespace coda
