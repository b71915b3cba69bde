#include "compiler/codegen/sm90_exchange.h"

#include "compiler/codegen/nvptx_ops.h"

namespace coda {

void exchange_sm90_quads(NvptxBuilder& b, const Sm90Plan& plan, Val quad, std::vector<Val>& accumulators) {
  constexpr int kQuad = 4, kOfBlock = 4;  // threads; accumulators of a block of eight columns: two rows, two columns
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

}  // namespace coda
