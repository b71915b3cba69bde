// GPU instructions by name, over NvptxBuilder: special registers, shuffles, mbarriers, bulk tensor copies, named
// barriers, predicated vector loads and stores. Barrier scopes are CTA throughout, also for remote arrivals: cluster
// scope makes every wait flush the caches, and correctness doesn't need it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/nvptx_builder.h"

namespace coda::gpu {

Val special_register(NvptxBuilder& b, std::string_view name);  ///< e.g. "tid.x"
/// The value of lane 0 in every lane, known to be uniform over the warp.
Val broadcast_lane0(NvptxBuilder& b, Val value);
/// The same I32, of which the compiler knows nothing: what follows from it is computed where it is needed.
Val veiled(NvptxBuilder& b, Val value);
Val shuffle_xor(NvptxBuilder& b, Val value, int mask);   ///< an F32
Val shuffle_from(NvptxBuilder& b, Val value, Val lane);  ///< an F32, of the lane of this number

void cluster_barrier(NvptxBuilder& b);
void cta_barrier(NvptxBuilder& b);
void named_barrier(NvptxBuilder& b, Val id, int threads);
void named_barrier_arrive(NvptxBuilder& b, Val id, int threads);  ///< does not wait
/// Programmatic dependent launch: waits until the kernels in front of this one have ended, and what they wrote can be
/// seen; and allows the kernel behind this one to begin, once every CTA has said so or ended.
void await_earlier_kernels(NvptxBuilder& b);
void allow_next_kernel(NvptxBuilder& b);
void set_registers(NvptxBuilder& b, int count, bool increase);

void mbarrier_init(NvptxBuilder& b, Val barrier, int arrivals);
void mbarrier_fence_init(NvptxBuilder& b);
void mbarrier_expect(NvptxBuilder& b, Val barrier, Val bytes);
void mbarrier_arrive(NvptxBuilder& b, Val barrier);
void mbarrier_arrive_remote(NvptxBuilder& b, Val barrier, Val rank);
void mbarrier_wait(NvptxBuilder& b, Val barrier, Val parity);

void prefetch_tensor_map(NvptxBuilder& b, Val map);
/// Copies a box to shared memory, completing on `barrier`. With a `mask`, to the same place in every CTA of it.
void tensor_load(NvptxBuilder& b, Val destination, Val barrier, Val map, std::span<const Val> coordinates,
                 std::optional<int> mask);
/// Orders plain stores to shared memory before later reads by the asynchronous proxy (wgmma).
void fence_async_shared(NvptxBuilder& b);
void fence_gpu(NvptxBuilder& b);  ///< __threadfence()
/// *pointer += 1, a release at GPU scope; the old value. A fence after it makes it an acquire too.
Val atomic_increment_release(NvptxBuilder& b, Val pointer);

/// A run of elements that lie side by side in memory, at most 16 bytes. Where `wide` (uniform over the grid) holds it
/// is moved in one access; otherwise element by element, of which element i only where `remaining` > slots[i].
struct Unit {
  Val address;            ///< I64, of the first element
  int element_bytes = 2;  ///< 1, 2, 4 or 8
  std::vector<int> slots;
  Val wide;       ///< I1; null: it holds, and all elements are in range
  Val remaining;  ///< I32, signed
  Val predicate;  ///< I1 or null
  int elements() const { return static_cast<int>(slots.size()); }
  int words() const { return (element_bytes * elements() + 3) / 4; }
};
/// The unit as 32-bit words, elements packed from the low end; what is out of range is unspecified.
std::vector<Val> load_unit(NvptxBuilder& b, const Unit& unit);
void store_unit(NvptxBuilder& b, const Unit& unit, std::span<const Val> words);

/// One element of `bytes` bytes where `predicate` (null: always) holds: an I32, zero-extended, or for 8 bytes an I64.
Val load_element(NvptxBuilder& b, Val address, int bytes, Val predicate);
void store_element(NvptxBuilder& b, Val address, Val value, int bytes, Val predicate);
/// Plain accesses to shared memory at a 32-bit address.
void store_shared(NvptxBuilder& b, Val address, Val value, int bytes);
Val load_shared(NvptxBuilder& b, Val address, int bytes);
void store_shared_where(NvptxBuilder& b, Val address, Val word, Val predicate);
/// A 32-bit word that another CTA wrote before it released something this thread has acquired; `otherwise` where the
/// predicate does not hold.
Val load_released(NvptxBuilder& b, Val address, Val otherwise, Val predicate);

/// sums[i] + the word at address + 16 * stride * (i / 4) + 4 * (i % 4), written and released as load_released() asks;
/// nothing is added where the predicate (null: always) does not hold. A multiple of 4 sums.
std::vector<Val> add_released(NvptxBuilder& b, Val address, int stride, std::span<const Val> sums, Val predicate);

}  // namespace coda::gpu
