#include "compiler/codegen/sm90_probe.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/sm90_fragment.h"
#include "compiler/epilogue/reads.h"

namespace coda {
namespace {

/// Every value is a fresh handle to nothing.
class BlankEmitter final : public Emitter {
 public:
  Val fresh() { return Val{reinterpret_cast<void*>(++count_ << 4)}; }

  Val real(double) override { return fresh(); }
  Val integer(int64_t) override { return fresh(); }
  Val boolean(bool) override { return fresh(); }
  Val add(Val, Val) override { return fresh(); }
  Val sub(Val, Val) override { return fresh(); }
  Val mul(Val, Val) override { return fresh(); }
  Val div(Val, Val) override { return fresh(); }
  Val fma(Val, Val, Val) override { return fresh(); }
  Val neg(Val) override { return fresh(); }
  Val abs(Val) override { return fresh(); }
  Val min(Val, Val) override { return fresh(); }
  Val max(Val, Val) override { return fresh(); }
  Val copysign(Val, Val) override { return fresh(); }
  Val floor(Val) override { return fresh(); }
  Val sqrt(Val) override { return fresh(); }
  Val rsqrt(Val) override { return fresh(); }
  Val rcp(Val) override { return fresh(); }
  Val exp2(Val) override { return fresh(); }
  Val log2(Val) override { return fresh(); }
  Val sin(Val) override { return fresh(); }
  Val cos(Val) override { return fresh(); }
  Val tanh_fast(Val) override { return fresh(); }
  Val compare(Compare, Val, Val, NumClass) override { return fresh(); }
  Val select(Val, Val, Val) override { return fresh(); }
  Val logical_and(Val, Val) override { return fresh(); }
  Val logical_or(Val, Val) override { return fresh(); }
  Val logical_not(Val) override { return fresh(); }
  Val int_add(Val, Val) override { return fresh(); }
  Val int_sub(Val, Val) override { return fresh(); }
  Val int_mul(Val, Val) override { return fresh(); }
  Val int_floordiv(Val, Val) override { return fresh(); }
  Val int_mod(Val, Val) override { return fresh(); }
  Val int_xor(Val, Val) override { return fresh(); }
  Val int_to_real(Val) override { return fresh(); }
  Val real_to_int(Val) override { return fresh(); }
  Val bool_to_real(Val) override { return fresh(); }
  Val bool_to_int(Val) override { return fresh(); }
  Val round_to(Val, DType) override { return fresh(); }

 private:
  uintptr_t count_ = 0;
};

class ProbeHooks final : public EvalHooks {
 public:
  ProbeHooks(const EpilogueProgram& epilogue, Sm90Fragment& fragment, BlankEmitter& emitter)
      : steps_(epilogue), fragment_(fragment), emitter_(emitter) {}

  Val variable(VarId) override { return emitter_.fresh(); }
  Val extent(const Dim&) override { return emitter_.fresh(); }
  Val scalar(int) override { return emitter_.fresh(); }
  Val load(int, std::span<const Coord>, Val) override { return emitter_.fresh(); }
  Val accumulator(const Coord& row, const Coord& column, Val) override {
    if (!fragment_.row_slot(row)) fail("an element of another row");
    if (!fragment_.find(column)) fail("a column of the product that another thread holds");
    return emitter_.fresh();
  }
  Val reduce_in_tile(const TileReduction& request) override {
    Env env = *request.env;
    reduce(request, env, 0);
    return emitter_.fresh();
  }
  bool is_whole(const Statistic&) override { return false; }
  Val statistic(const Statistic&, const Env&, Val) override {
    fail("a finished statistic in a tile");
    return emitter_.fresh();
  }
  const std::string& failure() const { return failure_; }

 private:
  void fail(const std::string& reason) {
    if (failure_.empty()) failure_ = reason;
  }
  void reduce(const TileReduction& request, Env& env, size_t axis) {
    if (axis == request.over.size()) {
      request.body(env, request.predicate);
      return;
    }
    const NamedDim& dim = request.over[axis];
    const auto extent = dim.extent.constant();
    if (!extent) return fail("a reduction over `" + dim.name + "`, which has no fixed extent");
    const bool last = axis + 1 == request.over.size();
    const auto share = last ? fragment_.share(*extent, steps_.of(request)) : std::nullopt;
    if (last && !share) return fail("a reduction over " + std::to_string(*extent) + " columns");
    for (int64_t i = 0; i < (last ? static_cast<int64_t>(share->own.size()) : *extent) && failure_.empty(); ++i) {
      env.set(dim.name, last ? share->own[static_cast<size_t>(i)] : Coord(i));
      reduce(request, env, axis + 1);
    }
  }

  Sm90Steps steps_;
  Sm90Fragment& fragment_;
  BlankEmitter& emitter_;
  std::string failure_;
};

std::string probe(const EpilogueProgram& epilogue, int region, const Dim& rows, int row_slots,
                  const Sm90RegionPlan& plan) {
  Sm90Fragment fragment(epilogue.regions[static_cast<size_t>(region)], plan, row_slots, rows);
  fragment.assume_digits(epilogue, region);
  BlankEmitter emitter;
  ProbeHooks hooks(epilogue, fragment, emitter);
  EpilogueEvaluator evaluator(epilogue, fragment.space(), emitter, hooks);
  Env base;
  evaluator.bind_rows(fragment.row(0), base);
  const auto visit = [&](const ColumnSpace& columns, NodeId node) {
    for (int i = 0; i < plan.slots() && hooks.failure().empty() && evaluator.failure().empty(); ++i) {
      Env env = base;
      Val predicate;
      if (evaluator.bind_columns(columns, fragment.column(column_slot(plan, i)), env, predicate) == Answer::No)
        continue;
      evaluator.evaluate(node, env, predicate);
    }
  };
  for (const Store& store : epilogue.stores) {
    if (store.region == region) visit(store.columns, store.value);
  }
  for (const Statistic& statistic : epilogue.statistics) {
    for (const Statistic::Part& part : statistic.parts) {
      if (part.region == region) visit(part.columns, part.body);
    }
  }
  return hooks.failure().empty() ? evaluator.failure() : hooks.failure();
}

}  // namespace

int64_t Sm90Steps::of(const EvalHooks::TileReduction& request) {
  const auto [known, fresh] = known_.try_emplace(request.node, 0);
  if (!fresh) return known->second;
  const Graph& graph = epilogue_.program.graph;
  const std::string& reduced = request.over.back().name;
  int64_t step = 0;
  for (const NodeId body : graph[request.node].args) {
    for (const Read& read : UseCollector(graph, epilogue_.accumulator).collect(body).accumulator) {
      for (const auto& term : read.at.at(epilogue_.column.name).terms) {
        if (term.dim.name == reduced) step = std::gcd(step, term.stride.constant().value_or(1));
      }
    }
  }
  return known->second = std::max<int64_t>(step, 1);
}

std::string choose_column_width(const EpilogueProgram& epilogue, int region, const Dim& rows, int row_slots, int widest,
                                int cluster, Sm90RegionPlan& plan) {
  std::string failure = "no order of columns";
  for (int width = widest; width >= 2; width /= 2) {
    plan.width = width;
    // A copy brings whole groups of rows.
    if (plan.step % plan.group() != 0 || (width > 2 && plan.piece(cluster) % plan.group() != 0)) continue;
    failure = probe(epilogue, region, rows, row_slots, plan);
    if (failure.empty()) return failure;
  }
  return failure;
}

bool choose_uneven_width(const EpilogueProgram& epilogue, int region, const Dim& rows, int row_slots, int cluster,
                         Sm90RegionPlan& plan) {
  const Sm90RegionPlan before = plan;
  for (plan.width = 2; plan.group() <= plan.step; plan.width += 2) {
    if (plan.step % plan.group() != 0 || (!plan.exchanged && plan.piece(cluster) % plan.group() != 0)) continue;
    if (probe(epilogue, region, rows, row_slots, plan).empty()) return true;
  }
  plan = before;
  return false;
}

}  // namespace coda
