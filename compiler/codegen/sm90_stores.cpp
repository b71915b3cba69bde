#include "compiler/codegen/sm90_stores.h"

#include <algorithm>
#include <bit>

namespace coda {
namespace {

bool neighbours(const Sm90Element& a, const Sm90Element& b) {
  if (a.predicate || b.predicate) return false;
  for (size_t axis = 0; axis + 1 < a.index.size(); ++axis) {
    if (!(a.index[axis] == b.index[axis])) return false;
  }
  return a.index.back() + Coord(1) == b.index.back();
}

class Writer {
 public:
  Writer(Sm90Region& region, int param, int row_slot, EpilogueEvaluator& evaluator)
      : r_(region),
        b_(region.context.b),
        param_(param),
        dtype_(region.context.epilogue.program.params[static_cast<size_t>(param)].dtype),
        bytes_(info(dtype_).bits / 8),
        row_slot_(row_slot),
        evaluator_(evaluator) {}

  /// Elements that are neighbours in memory.
  void run(std::span<const Sm90Element> elements) {
    while (!elements.empty()) {
      int per_slot = 1;
      const int at_once = sm90_unit_elements(r_, elements[0].index.back(), bytes_, &per_slot);
      const auto aligned = [&](int count) {
        return at_once % count == 0 && elements[0].index.back().constant() % count == 0;
      };
      int count = static_cast<int>(std::bit_floor(std::min<size_t>(elements.size(), static_cast<size_t>(at_once))));
      while (!aligned(count)) count /= 2;
      unit(elements.first(static_cast<size_t>(count)));
      elements = elements.subspan(static_cast<size_t>(count));
    }
  }

 private:
  void unit(std::span<const Sm90Element> elements) {
    const int count = static_cast<int>(elements.size());
    Val at =
        sm90_address(r_.context, param_, elements[0].index, [&](const Coord& x) { return evaluator_.value_of(x); });
    const auto condition = count > 1 && count * bytes_ >= 4
                               ? sm90_wide_condition(r_, param_, elements[0].index.back(), count)
                               : std::nullopt;
    if (condition) {
      gpu::Unit unit{at, bytes_, {}, r_.wide(*condition), r_.remaining, r_.guard_row(row_slot_, {})};
      for (const Sm90Element& element : elements) unit.slots.push_back(element.slot);
      gpu::store_unit(b_, unit, words(elements));
      return;
    }
    for (int i = 0; i < count; ++i) {
      const Sm90Element& element = elements[static_cast<size_t>(i)];
      Val inside = r_.guard_row(row_slot_, r_.guard(element.slot, element.predicate));
      gpu::store_element(b_, b_.add(at, i * bytes_), r_.numbers.encode(element.value, dtype_), bytes_, inside);
    }
  }

  std::vector<Val> words(std::span<const Sm90Element> elements) {
    std::vector<Val> words;
    if (dtype_ == DType::BF16 || dtype_ == DType::F16) {
      for (size_t i = 0; i < elements.size(); i += 2) {
        words.push_back(r_.numbers.encode_pair(elements[i].value, elements[i + 1].value, dtype_));
      }
      return words;
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      Val stored = r_.numbers.encode(elements[i].value, dtype_);
      if (bytes_ == 8) {
        words.push_back(b_.convert(stored, Ty::I32));
        words.push_back(b_.convert(b_.op(IntOp::Lshr, stored, 32), Ty::I32));
        continue;
      }
      const int64_t shift = static_cast<int64_t>(i) * bytes_ % 4 * 8;
      if (shift == 0) {
        words.push_back(stored);
      } else {
        words.back() = b_.op(IntOp::Or, words.back(), b_.op(IntOp::Shl, stored, shift));
      }
    }
    return words;
  }

  Sm90Region& r_;
  NvptxBuilder& b_;
  int param_;
  DType dtype_;
  int bytes_;
  int row_slot_;
  EpilogueEvaluator& evaluator_;
};

}  // namespace

void store_sm90_elements(Sm90Region& region, int param, int row_slot, std::span<const Sm90Element> elements,
                         EpilogueEvaluator& evaluator) {
  const Param& p = region.context.epilogue.program.params[static_cast<size_t>(param)];
  if (info(p.dtype).bits < 8) {
    region.fail("storing elements of type " + std::string(info(p.dtype).name));
    return;
  }
  Writer writer(region, param, row_slot, evaluator);
  for (size_t begin = 0; begin < elements.size();) {
    size_t end = begin + 1;
    while (p.layout == ParamLayout::RowMajor && end < elements.size() && neighbours(elements[end - 1], elements[end]))
      ++end;
    writer.run(elements.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace coda
