#include "compiler/codegen/sm90_exchange.h"

#include <numeric>

#include "compiler/codegen/nvptx_ops.h"

namespace coda {
namespace {

constexpr int kQuad = 4, kOfBlock = 4;  // threads; accumulators of a block of eight columns: two rows, two columns
constexpr int kEight = 8;

void exchange_eights(NvptxBuilder& b, const Sm90Plan& plan, Val quad, std::vector<Val>& accumulators) {
  const int blocks = plan.row_blocks() * plan.schedule.tile_n / 8;
  // Four blocks are a matrix of what each thread holds of each; it is transposed in two steps, each between threads
  // that differ in one bit.
  for (const int mask : {1, 2}) {
    Val upper = b.test(IntTest::Ne, b.op(IntOp::And, quad, mask), 0);
    for (int first = 0; first < blocks; first += kQuad) {
      for (int block = 0; block < kQuad; ++block) {
        if (block & mask) continue;
        for (int i = 0; i < kOfBlock; ++i) {
          Val& low = accumulators[static_cast<size_t>((first + block) * kOfBlock + i)];
          Val& high = accumulators[static_cast<size_t>((first + (block | mask)) * kOfBlock + i)];
          Val received = gpu::shuffle_xor(b, b.select(upper, low, high), mask);
          low = b.select(upper, received, low);
          high = b.select(upper, high, received);
        }
      }
    }
  }
}

/// Of a group of `pairs` neighbouring pairs for each thread, thread q's pair i is number pairs * q + i of the group,
/// and comes in block number / 4 of thread number % 4. Threads that want something of the same one wait their turns.
class GroupExchange {
 public:
  GroupExchange(NvptxBuilder& b, int pairs, Val lane)
      : b_(b), pairs_(pairs), turns_(std::gcd(pairs, kQuad)), quad_(b.op(IntOp::And, lane, kQuad - 1)) {
    Val first = b.sub(lane, quad_);
    for (int i = 0; i < kQuad; ++i) {
      is_.push_back(b.test(IntTest::Eq, quad_, i));
      Val number = b.add(b.mul(quad_, pairs), i);
      source_.push_back(b.add(first, b.op(IntOp::And, number, kQuad - 1)));
    }
    for (int turn = 0; turn < turns_; ++turn) from_.push_back(b.test(IntTest::Uge, quad_, turn * kQuad / turns_));
  }

  /// `group`: the accumulators of the group's blocks.
  void run(std::span<Val> group) {
    const std::vector<Val> old(group.begin(), group.end());
    for (int i = 0; i < pairs_; ++i) {
      for (int part = 0; part < kOfBlock; ++part) {
        Val result;
        for (int turn = 0; turn < turns_; ++turn) {
          Val received = gpu::shuffle_from(b_, offered(old, i, part, turn), source_[static_cast<size_t>(i % kQuad)]);
          // Later turns are those of higher numbers.
          result = turn == 0 ? received : b_.select(from_[static_cast<size_t>(turn)], received, result);
        }
        group[static_cast<size_t>(i * kOfBlock + part)] = result;
      }
    }
  }

 private:
  int turn_of(int q) const { return q * turns_ / kQuad; }

  /// What this thread gives to the one that wants something of it in this turn.
  Val offered(const std::vector<Val>& old, int i, int part, int turn) const {
    Val value;
    for (int q = 0; q < kQuad; ++q) {
      if (turn_of(q) != turn) continue;
      const int number = pairs_ * q + i;
      Val own = old[static_cast<size_t>(number / kQuad * kOfBlock + part)];
      value = value ? b_.select(is_[static_cast<size_t>(number % kQuad)], own, value) : own;
    }
    return value;
  }

  NvptxBuilder& b_;
  int pairs_, turns_;
  Val quad_;
  std::vector<Val> is_, source_, from_;  // by number in the quad; by pair; by turn
};

}  // namespace

void exchange_sm90_quads(NvptxBuilder& b, const Sm90Plan& plan, const Sm90RegionPlan& region, Val lane,
                         std::vector<Val>& accumulators) {
  if (region.width == kEight) return exchange_eights(b, plan, b.op(IntOp::And, lane, kQuad - 1), accumulators);
  GroupExchange exchange(b, region.width / 2, lane);
  const size_t size = static_cast<size_t>(region.width / 2 * kOfBlock);
  for (size_t first = 0; first + size <= accumulators.size(); first += size) {
    exchange.run(std::span(accumulators).subspan(first, size));
  }
}

}  // namespace coda
