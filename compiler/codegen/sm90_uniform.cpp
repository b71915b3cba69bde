#include "compiler/codegen/sm90_uniform.h"

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/sm90_hooks.h"

namespace coda {
namespace {

class UniformHooks final : public EvalHooks {
 public:
  UniformHooks(Sm90Context& context, NvptxNumbers& numbers) : c_(context), numbers_(numbers) {}

  Val variable(VarId) override { return refuse(); }
  Val extent(const Dim& value) override { return c_.arguments.extent(value); }
  Val scalar(int param) override { return sm90_scalar(c_, numbers_, param); }
  Val load(int, std::span<const Coord>, Val) override { return refuse(); }
  Val accumulator(const Coord&, const Coord&, Val) override { return refuse(); }
  Val reduce_in_tile(const TileReduction&) override { return refuse(); }
  Val statistic(const Statistic&, const Env&, Val) override { return refuse(); }

  bool refused = false;

 private:
  Val refuse() {
    refused = true;
    return numbers_.emitter().real(0);
  }

  Sm90Context& c_;
  NvptxNumbers& numbers_;
};

}  // namespace

Val sm90_uniform_value(Sm90Context& context, NvptxNumbers& numbers, NodeId node, std::string& failure) {
  CoordSpace space;
  UniformHooks hooks(context, numbers);
  EpilogueEvaluator evaluator(context.epilogue, space, numbers.emitter(), hooks);
  const Val value = evaluator.evaluate_real(node, {});
  if (hooks.refused) failure = "a factor of a product that is more than scalars";
  if (!evaluator.failure().empty()) failure = evaluator.failure();
  return value;
}

}  // namespace coda
