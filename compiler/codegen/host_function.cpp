#include "compiler/codegen/host_function.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace coda {

using llvm::Value;

int HostModule::word(const WordSpec& wanted) {
  const auto same = [&](const WordSpec& known) {
    return known.kind == wanted.kind && known.param == wanted.param && known.axis == wanted.axis &&
           known.dim == wanted.dim;
  };
  const auto found = std::find_if(image.words.begin(), image.words.end(), same);
  if (found != image.words.end()) return static_cast<int>(found - image.words.begin());
  image.words.push_back(wanted);
  return static_cast<int>(image.words.size()) - 1;
}

int HostModule::condition_bit(int param) {
  for (size_t i = 0; i < image.conditions.size(); ++i) {
    if (image.conditions[i].param == param) return static_cast<int>(i);
  }
  const int last = static_cast<int>(epilogue.program.params[param].dims.size()) - 1;
  image.conditions.push_back({.param = param, .unit_axis = last});
  return static_cast<int>(image.conditions.size()) - 1;
}

Val tile_count(Emitter& emitter, Val extent, int64_t tile) {
  return emitter.int_floordiv(emitter.int_add(extent, emitter.integer(tile - 1)), emitter.integer(tile));
}

HostFunction::HostFunction(HostModule& module, const std::string& name, const std::vector<bool>& pointers)
    : module_(module), builder_(module.module.getContext()) {
  std::vector<llvm::Type*> types{builder_.getPtrTy()};
  for (const bool is_pointer : pointers) {
    types.push_back(is_pointer ? static_cast<llvm::Type*>(builder_.getPtrTy()) : builder_.getInt64Ty());
  }
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module.module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  // Vectors as wide as asked for, also where the processor's tuning would rather halve them.
  const std::string bits = std::to_string(module.lanes * 32);
  function_->addFnAttr("prefer-vector-width", bits);
  function_->addFnAttr("min-legal-vector-width", bits);
  emitter_ = std::make_unique<HostEmitter>(builder_, function_);
  evaluator_ = std::make_unique<EpilogueEvaluator>(module.epilogue, space_, *emitter_, *this);
  memory_ = std::make_unique<HostMemory>(*emitter_, *evaluator_, module.module);
  Value* unknown = llvm::PoisonValue::get(builder_.getInt64Ty());
  vector_mask_ = llvm::cast<llvm::Instruction>(emitter_->at(emitter_->root()).CreateFreeze(unknown));
}

std::string HostFunction::finish() {
  Value* mask = number(-static_cast<int64_t>(module_.lanes));
  int64_t bits = 0;
  for (const int param : unit_params_) bits |= int64_t{1} << module_.condition_bit(param);
  if (module_.image.conditions.size() > 64) evaluator().fail("more than 64 tensors");
  if (bits != 0) {
    const int index = module_.word({.kind = WordSpec::Kind::Conditions});
    builder_.SetInsertPoint(vector_mask_);
    Value* address = builder_.CreateGEP(builder_.getInt64Ty(), function_->getArg(0), number(index));
    Value* held = builder_.CreateAnd(builder_.CreateLoad(builder_.getInt64Ty(), address), number(bits));
    mask = builder_.CreateSelect(builder_.CreateICmpEQ(held, number(bits)), mask, number(0));
  }
  vector_mask_->replaceAllUsesWith(mask);
  vector_mask_->eraseFromParent();
  if (!evaluator().failure().empty()) return evaluator().failure();
  std::string reason;
  llvm::raw_string_ostream stream(reason);
  if (llvm::verifyFunction(*function_, &stream)) return "invalid code was generated: " + reason;
  return "";
}

// ---- arguments and variables ----------------------------------------------------------------------------------------

Value* HostFunction::word(const WordSpec& wanted) {
  const int index = module_.word(wanted);
  Value*& value = words_[index];
  if (!value) {
    llvm::IRBuilder<>& builder = emitter_->at(emitter_->root());
    Value* address = builder.CreateGEP(builder.getInt64Ty(), function_->getArg(0), number(index));
    value = builder.CreateLoad(builder.getInt64Ty(), address);
  }
  return value;
}

Value* HostFunction::pointer(int param) {
  Value*& value = pointers_[param];
  if (!value) {
    Value* address = word({.kind = WordSpec::Kind::Pointer, .param = param});
    value = emitter_->at(emitter_->root()).CreateIntToPtr(address, builder_.getPtrTy());
  }
  return value;
}

Value* HostFunction::workspace(int buffer) {
  Value*& value = pointers_[-1 - buffer];
  if (!value) {
    Value* address = word({.kind = WordSpec::Kind::Workspace, .param = buffer});
    value = emitter_->at(emitter_->root()).CreateIntToPtr(address, builder_.getPtrTy());
  }
  return value;
}

Coord HostFunction::add_variable(Value* value, VarFacts facts) {
  const VarId variable = space_.add(std::move(facts));
  values_.resize(variable + 1);
  values_[variable] = value;
  return Coord::variable(variable);
}

Val HostFunction::variable(VarId variable) { return val_of(values_[variable]); }

Val HostFunction::extent(const Dim& value) {
  if (const auto constant = value.constant()) return emitter_->integer(*constant);
  return val_of(word({.kind = WordSpec::Kind::Extent, .dim = value}));
}

Val HostFunction::scalar(int param) {
  Value* value = word({.kind = WordSpec::Kind::Scalar, .param = param});
  llvm::IRBuilder<>& builder = emitter_->at(emitter_->root());
  switch (info(module_.epilogue.program.params[param].dtype).num_class) {
    case NumClass::Real:
      return val_of(builder.CreateBitCast(builder.CreateTrunc(value, builder.getInt32Ty()), builder.getFloatTy()));
    case NumClass::Int:
      return val_of(value);
    case NumClass::Bool:
      return val_of(builder.CreateICmpNE(value, number(0)));
  }
  return {};
}

// ---- loops ----------------------------------------------------------------------------------------------------------

void HostFunction::for_each(Scope* in, Value* begin, Value* end, VarFacts facts,
                            const std::function<void(const Coord&, Scope*)>& body) {
  const HostEmitter::Loop loop = emitter_->open_loop(in, begin, end, 1);
  body(add_variable(loop.counter, std::move(facts)), loop.scope);
  emitter_->close_loop(loop);
}

void HostFunction::for_lanes(Scope* in, Value* begin, Value* end, const VarFacts& facts, const LaneBody& body) {
  const unsigned lanes = module_.lanes;
  Value* rest_begin = begin;
  const Val count = emitter_->int_sub(val_of(end), val_of(begin));
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value_of(count));
  if (!constant || constant->getSExtValue() >= lanes) {
    const Val whole = emitter_->logical_and(count, val_of(vector_mask_));
    rest_begin = value_of(emitter_->int_add(val_of(begin), whole));
    const HostEmitter::Loop loop = emitter_->open_loop(in, begin, rest_begin, lanes);
    const Coord first = add_variable(loop.counter, facts);
    std::vector<llvm::Constant*> steps;
    for (unsigned i = 0; i < lanes; ++i) steps.push_back(builder_.getInt64(i));
    const Val all = emitter_->int_add(val_of(loop.counter), val_of(llvm::ConstantVector::get(steps)));
    const Coord lane = add_variable(value_of(all), facts);
    memory_->add_lanes(lane.terms()[0].variable, first.terms()[0].variable, lanes);
    body(lane, loop.scope, lanes);
    emitter_->close_loop(loop);
  }
  const HostEmitter::Loop rest = emitter_->open_loop(in, rest_begin, end, 1);
  body(add_variable(rest.counter, facts), rest.scope, 1);
  emitter_->close_loop(rest);
}

// ---- parameters -----------------------------------------------------------------------------------------------------

void HostFunction::note_unit_use(int param) {
  if (memory_->take_unit_use()) unit_params_.insert(param);
}

std::vector<ArrayAxis> HostFunction::axes_of(int param, std::span<const Coord> index) {
  std::vector<ArrayAxis> axes;
  if (module_.epilogue.program.params[param].layout == ParamLayout::Mx128x4) {
    const auto [block, row] = evaluator().divide(index[0], Dim(128));
    const auto [high, low] = evaluator().divide(row, Dim(32));
    const auto [group, column] = evaluator().divide(index[1], Dim(4));
    Value* pitch = word({.kind = WordSpec::Kind::Stride, .param = param, .axis = 0});
    return {{group * 512 + low * 16 + high * 4 + column}, {block * 128, pitch}};
  }
  for (size_t i = 0; i < index.size(); ++i) {
    Value* stride = word({.kind = WordSpec::Kind::Stride, .param = param, .axis = static_cast<int>(i)});
    axes.push_back({index[i], stride, i + 1 == index.size()});
  }
  return axes;
}

Val HostFunction::load(int param, std::span<const Coord> index, Val predicate) {
  const DType dtype = module_.epilogue.program.params[param].dtype;
  if (info(dtype).bits < 8) evaluator().fail("elements of less than a byte in an epilogue");
  Value* stored =
      memory_->load(pointer(param), emitter_->storage_type(dtype), axes_of(param, index), value_of(predicate));
  note_unit_use(param);
  return val_of(emitter_->decode(stored, dtype));
}

void HostFunction::store_element(Scope* scope, int param, const std::vector<AffineMap>& index, const Env& env,
                                 Val value, NumClass num_class) {
  const DType dtype = module_.epilogue.program.params[param].dtype;
  if (info(dtype).bits < 8) evaluator().fail("an output of elements of less than a byte");
  std::vector<Coord> place;
  for (const AffineMap& map : index) place.push_back(evaluator().apply(map, env));
  // Rounded by encode; to_dtype only brings whole numbers into range.
  const NumClass stored_class = info(dtype).num_class;
  const Val ready = stored_class == NumClass::Real ? evaluator().convert(value, num_class, stored_class)
                                                   : evaluator().to_dtype(value, num_class, dtype);
  memory_->store(scope, pointer(param), axes_of(param, place), emitter_->encode(value_of(ready), dtype));
  note_unit_use(param);
}

// ---- reductions inside a tile ---------------------------------------------------------------------------------------

unsigned HostFunction::lanes_in(const Env& env, Val predicate, Scope*& scope) {
  unsigned lanes = 1;
  std::vector<Value*> values{value_of(predicate)};
  for (const auto& [name, coordinate] : env.all()) {
    for (const auto& term : coordinate.terms()) {
      values.push_back(value_of(evaluator().value_of(Coord::variable(term.variable))));
    }
  }
  for (Value* value : values) {
    if (value && value->getType()->isVectorTy()) lanes = module_.lanes;
  }
  scope = emitter_->scope_of(values);
  return lanes;
}

Val HostFunction::reduce_in_tile(const TileReduction& request) {
  Scope* scope;
  const unsigned outer_lanes = lanes_in(*request.env, request.predicate, scope);
  // Lanes run along one reduced dimension, unless they run along an outer one already.
  const NamedDim* along = nullptr;
  Dim total(1);
  for (const NamedDim& dim : request.over) {
    total = total * dim.extent;
    const auto extent = dim.extent.constant();
    if (outer_lanes == 1 && (!extent || *extent >= module_.lanes)) along = &dim;
  }
  HostState state(*emitter_, *request.reduction, outer_lanes > 1 || along ? module_.lanes : 1);
  state.reset(scope);
  const std::function<void(size_t, const Env&, Scope*)> nest = [&](size_t depth, const Env& env, Scope* in) {
    while (depth < request.over.size() && &request.over[depth] == along) ++depth;
    const auto visit = [&](const std::string& name, const Coord& coordinate) {
      Env inner = env;
      inner.set(name, coordinate);
      return inner;
    };
    if (depth < request.over.size()) {
      const NamedDim& dim = request.over[depth];
      const VarFacts facts{.name = dim.name, .bound = dim.extent};
      for_each(in, number(0), value_of(extent(dim.extent)), facts,
               [&](const Coord& at, Scope* body) { nest(depth + 1, visit(dim.name, at), body); });
    } else if (along) {
      const VarFacts facts{.name = along->name, .bound = along->extent};
      for_lanes(in, number(0), value_of(extent(along->extent)), facts,
                [&](const Coord& at, Scope* body, unsigned lanes) {
                  state.lift(body, request.body(visit(along->name, at), request.predicate), lanes);
                });
    } else {
      state.lift(in, request.body(env, request.predicate), outer_lanes);
    }
  };
  nest(0, *request.env, scope);
  const StateWords done = outer_lanes > 1 ? state.read(scope, outer_lanes) : state.total(scope);
  const Val count = emitter_->int_to_real(evaluator().value_of(Coord::of(total)));
  return request.reduction->emit_finish(*emitter_, done.word, count);
}

Val HostFunction::accumulator(const Coord&, const Coord&, Val) {
  evaluator().fail("the accumulator is used after the last tile");
  return emitter_->real(0);
}

Val HostFunction::statistic(const Statistic&, const Env&, Val) {
  evaluator().fail("a statistic is used before it is whole");
  return emitter_->real(0);
}

}  // namespace coda
