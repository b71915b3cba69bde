#include "compiler/codegen/sm90_arguments.h"

#include <algorithm>

namespace coda {
namespace {

bool same(const WordSpec& a, const WordSpec& b) {
  return a.kind == b.kind && a.param == b.param && a.axis == b.axis && a.dim == b.dim;
}

bool same(const ConditionSpec& a, const ConditionSpec& b) {
  return a.param == b.param && a.unit_axis == b.unit_axis && a.alignment == b.alignment && a.extents == b.extents &&
         a.extent_multiple == b.extent_multiple;
}

template <class T>
int find_or_add(std::vector<T>& list, const T& item) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (same(list[i], item)) return static_cast<int>(i);
  }
  list.push_back(item);
  return static_cast<int>(list.size()) - 1;
}

}  // namespace

Val Sm90Arguments::word_of(const WordSpec& spec) { return b_.word(find_or_add(image_.words, spec)); }

Val Sm90Arguments::word(const WordSpec& spec) {
  const bool same_for_all =
      std::all_of(twins_.begin(), twins_.end(), [&](const Twin& twin) { return same(spec, twin.likeness->own(spec)); });
  if (same_for_all) return word_of(spec);
  const auto [chosen, is_new] = chosen_.try_emplace(find_or_add(image_.words, spec));
  if (is_new) {
    b_.at(*served_from_, [&] {
      chosen->second = word_of(spec);
      for (const Twin& twin : twins_)
        chosen->second = b_.select(twin.here, word_of(twin.likeness->own(spec)), chosen->second);
    });
  }
  return chosen->second;
}

void Sm90Arguments::serve(std::vector<Twin> twins) {
  if (served_from_) b_.unmark(*served_from_);
  served_from_.reset();
  chosen_.clear();
  twins_ = std::move(twins);
  if (!twins_.empty()) served_from_ = b_.mark();
}

Val Sm90Arguments::bit(WordSpec spec, Val mask) {
  return b_.test(IntTest::Ne, b_.op(IntOp::And, word_of(spec), mask), 0);
}

Val Sm90Arguments::pointer(int param) { return word({WordSpec::Kind::Pointer, param, -1, {}}); }
Val Sm90Arguments::stride(int param, int axis) { return word({WordSpec::Kind::Stride, param, axis, {}}); }
Val Sm90Arguments::extent(const Dim& value) {
  if (auto constant = value.constant()) return b_.i64(*constant);
  return word({WordSpec::Kind::Extent, -1, -1, value});
}
Val Sm90Arguments::extent32(const Dim& value) { return b_.convert(extent(value), Ty::I32); }
Val Sm90Arguments::scalar(int param) { return word({WordSpec::Kind::Scalar, param, -1, {}}); }
Val Sm90Arguments::workspace(int index) { return word({WordSpec::Kind::Workspace, index, -1, {}}); }
Val Sm90Arguments::tensor_map_ok(int map) {
  return bit({WordSpec::Kind::TensorMaps, -1, -1, {}}, b_.i64(int64_t{1} << map));
}
uint64_t Sm90Arguments::condition_bit(const ConditionSpec& condition) {
  return uint64_t{1} << find_or_add(image_.conditions, condition);
}
Val Sm90Arguments::conditions_hold(uint64_t bits) {
  if (bits == 0) return b_.i1(true);
  const Val wanted = mask(bits);
  return b_.test(IntTest::Eq, b_.op(IntOp::And, word_of({WordSpec::Kind::Conditions, -1, -1, {}}), wanted), wanted);
}
Val Sm90Arguments::condition(const ConditionSpec& condition) {
  return bit({WordSpec::Kind::Conditions, -1, -1, {}}, mask(condition_bit(condition)));
}

Val Sm90Arguments::mask(uint64_t bits) {
  Val mask = b_.i64(static_cast<int64_t>(bits));
  for (const Twin& twin : twins_) {
    uint64_t own = 0;
    for (size_t i = 0; i < image_.conditions.size() && i < 64; ++i) {
      if (bits >> i & 1) own |= condition_bit(twin.likeness->own(ConditionSpec(image_.conditions[i])));
    }
    if (own != bits) mask = b_.select(twin.here, b_.i64(static_cast<int64_t>(own)), mask);
  }
  return mask;
}

Val sm90_mx128x4_offset(NvptxBuilder& b, Val row, Val column, Val pitch) {
  const auto field = [&](Val from, int64_t first, int64_t mask, int64_t to) {
    return b.op(IntOp::Shl, b.op(IntOp::And, b.op(IntOp::Lshr, from, first), mask), to);
  };
  Val blocks = b.mul(b.op(IntOp::Shl, b.op(IntOp::Lshr, row, 7), 7), pitch);
  Val inside = b.add(b.add(field(row, 0, 31, 4), field(row, 5, 3, 2)), b.op(IntOp::And, column, 3));
  return b.add(b.add(blocks, b.op(IntOp::Shl, b.op(IntOp::Lshr, column, 2), 9)), inside);
}

}  // namespace coda
