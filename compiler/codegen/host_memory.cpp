#include "compiler/codegen/host_memory.h"

#include <algorithm>

namespace coda {

using llvm::Value;

namespace {

unsigned lanes_of(Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}

/// Enough for the widest vector of the widest element.
constexpr unsigned kZeroBytes = 16 * 8;

}  // namespace

HostMemory::HostMemory(HostEmitter& emitter, EpilogueEvaluator& evaluator, llvm::Module& module)
    : emitter_(emitter), evaluator_(evaluator), module_(module) {}

void HostMemory::add_lanes(VarId lane, VarId first, unsigned count) { lanes_[lane] = {first, count}; }

bool HostMemory::take_unit_use() { return std::exchange(unit_used_, false); }

HostMemory::Place HostMemory::locate(const std::vector<ArrayAxis>& axes) {
  Place place;
  int64_t unit_step = 0;
  Val step;
  std::vector<Val> parts;
  for (const ArrayAxis& axis : axes) {
    Coord scalar = axis.coordinate;
    bool lane_axis = false;
    for (const auto& [variable, factor] : axis.coordinate.terms()) {
      const auto lane = lanes_.find(variable);
      if (lane == lanes_.end()) {
        // A computed index that differs from lane to lane.
        const unsigned lanes = lanes_of(value_of(evaluator_.value_of(Coord::variable(variable))));
        if (lanes > 1) place.irregular = true, place.lanes = lanes;
        continue;
      }
      place.lanes = lane->second.count;
      lane_axis = true;
      if (factor.denominator != 1) place.irregular = true;
      if (place.irregular) continue;
      scalar = scalar - Coord::variable(variable) * factor.numerator +
               Coord::variable(lane->second.first) * factor.numerator;
      if (!axis.stride || axis.unit_in_vectors) {
        unit_step += factor.numerator;
        unit_used_ = unit_used_ || axis.stride;
      } else {
        const Val own = emitter_.int_mul(val_of(axis.stride), emitter_.integer(factor.numerator));
        step = step ? emitter_.int_add(step, own) : own;
      }
    }
    if (place.irregular) break;
    const bool unit = !axis.stride || (axis.unit_in_vectors && lane_axis);
    // Term by term, so that each part is computed as far out as its variable allows.
    const auto scaled = [&](const Coord& part) {
      const Val value = evaluator_.value_of(part);
      return unit ? value : emitter_.int_mul(value, val_of(axis.stride));
    };
    const auto [variables, rest] = scalar.split();
    for (const Coord& term : variables) parts.push_back(scaled(term));
    if (rest.as_constant() != 0) parts.push_back(scaled(rest));
  }
  if (place.irregular) {
    Val sum = emitter_.integer(0);
    for (const ArrayAxis& axis : axes) {
      const Val value = evaluator_.value_of(axis.coordinate);
      sum = emitter_.int_add(sum, axis.stride ? emitter_.int_mul(value, val_of(axis.stride)) : value);
    }
    place.offset = value_of(sum);
    place.step = Place::Step::Any;
    return place;
  }
  std::stable_sort(parts.begin(), parts.end(), [&](Val a, Val b) {
    return emitter_.scope_of(value_of(a))->depth < emitter_.scope_of(value_of(b))->depth;
  });
  Val offset = emitter_.integer(0);
  for (const Val part : parts) offset = emitter_.int_add(offset, part);
  place.offset = value_of(offset);
  if (step) {
    place.step = Place::Step::Any;
    place.stride = value_of(emitter_.int_add(step, emitter_.integer(unit_step)));
  } else if (unit_step == 1) {
    place.step = Place::Step::Unit;
  } else if (unit_step != 0) {
    place.step = Place::Step::Any;
    place.stride = value_of(emitter_.integer(unit_step));
  } else {
    place.lanes = 1;
  }
  return place;
}

/// One pointer, or one for each lane.
Value* HostMemory::pointers(Value* base, llvm::Type* type, const Place& place) {
  Val offset = val_of(place.offset);
  if (place.step == Place::Step::Any && !place.irregular) {
    std::vector<llvm::Constant*> lanes;
    for (unsigned i = 0; i < place.lanes; ++i) lanes.push_back(emitter_.builder().getInt64(i));
    const Val steps = emitter_.int_mul(val_of(llvm::ConstantVector::get(lanes)), val_of(place.stride));
    offset = emitter_.int_add(offset, steps);
  }
  Value* index = value_of(offset);
  return emitter_.at(emitter_.scope_of({base, index})).CreateGEP(type, base, index);
}

Value* HostMemory::any_lane(Value* predicate) {
  if (lanes_of(predicate) == 1) return predicate;
  return emitter_.at(emitter_.scope_of(predicate)).CreateOrReduce(predicate);
}

Value* HostMemory::guarded(Value* pointer, Value* predicate) {
  if (!predicate) return pointer;
  if (!zeros_) {
    llvm::Type* type = llvm::ArrayType::get(emitter_.builder().getInt8Ty(), kZeroBytes);
    zeros_ = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                      llvm::Constant::getNullValue(type), "coda.zeros");
    zeros_->setAlignment(llvm::Align(64));
  }
  return emitter_.at(emitter_.scope_of({pointer, predicate})).CreateSelect(predicate, pointer, zeros_);
}

Value* HostMemory::load(Value* base, llvm::Type* type, const std::vector<ArrayAxis>& axes, Value* predicate) {
  const Place place = locate(axes);
  const llvm::Align align(std::max<unsigned>(type->getPrimitiveSizeInBits() / 8, 1));
  Value* pointer = pointers(base, type, place);
  if (place.step == Place::Step::None) {
    pointer = guarded(pointer, predicate ? any_lane(predicate) : nullptr);
    return emitter_.at(emitter_.scope_of(pointer)).CreateAlignedLoad(type, pointer, align);
  }
  auto* vector = llvm::FixedVectorType::get(type, place.lanes);
  const bool masked = predicate && lanes_of(predicate) > 1;
  if (place.step == Place::Step::Unit) {
    if (!masked) {
      pointer = guarded(pointer, predicate);
      return emitter_.at(emitter_.scope_of(pointer)).CreateAlignedLoad(vector, pointer, align);
    }
    llvm::IRBuilder<>& builder = emitter_.at(emitter_.scope_of({pointer, predicate}));
    return builder.CreateMaskedLoad(vector, pointer, align, predicate, llvm::Constant::getNullValue(vector));
  }
  llvm::IRBuilder<>& builder = emitter_.at(emitter_.scope_of({pointer, predicate}));
  Value* mask = !predicate ? nullptr : masked ? predicate : builder.CreateVectorSplat(place.lanes, predicate);
  return builder.CreateMaskedGather(vector, pointer, align, mask, llvm::Constant::getNullValue(vector));
}

Value* HostMemory::load_at(HostEmitter::Scope* scope, Value* base, llvm::Type* type,
                           const std::vector<ArrayAxis>& axes) {
  const Place place = locate(axes);
  const llvm::Align align(std::max<unsigned>(type->getPrimitiveSizeInBits() / 8, 1));
  Value* pointer = pointers(base, type, place);
  llvm::IRBuilder<>& builder = emitter_.at(scope);
  if (place.step == Place::Step::None) return builder.CreateAlignedLoad(type, pointer, align);
  auto* vector = llvm::FixedVectorType::get(type, place.lanes);
  if (place.step == Place::Step::Unit) return builder.CreateAlignedLoad(vector, pointer, align);
  return builder.CreateMaskedGather(vector, pointer, align);
}

void HostMemory::store(HostEmitter::Scope* scope, Value* base, const std::vector<ArrayAxis>& axes, Value* value) {
  const Place place = locate(axes);
  llvm::Type* type = value->getType()->getScalarType();
  const llvm::Align align(std::max<unsigned>(type->getPrimitiveSizeInBits() / 8, 1));
  Value* pointer = pointers(base, type, place);
  llvm::IRBuilder<>& builder = emitter_.at(scope);
  if (lanes_of(value) < place.lanes) value = builder.CreateVectorSplat(place.lanes, value);
  if (place.step == Place::Step::Any) {
    builder.CreateMaskedScatter(value, pointer, align);
  } else {
    if (place.step == Place::Step::None && lanes_of(value) > 1)
      value = builder.CreateExtractElement(value, uint64_t{0});
    builder.CreateAlignedStore(value, pointer, align);
  }
}

}  // namespace coda
