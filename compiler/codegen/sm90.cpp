#include "compiler/codegen/sm90.h"

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/signature.h"
#include "compiler/codegen/sm90_choice.h"
#include "compiler/codegen/sm90_kernel.h"
#include "compiler/codegen/sm90_plan.h"
#include "compiler/codegen/sm90_ptx.h"
#include "compiler/codegen/sm90_ring.h"
#include "compiler/codegen/sm90_rowwise.h"
#include "compiler/codegen/sm90_stat_layout.h"
#include "dsl/diagnostics.h"

namespace coda {
namespace {

/// What the codes of regions read ahead lives at once, and so do the addresses of regions that share a code.
constexpr size_t kManyRegions = 3;

void describe(const EpilogueProgram& epilogue, const Sm90Plan& plan, KernelImage& image) {
  describe_signature(epilogue.program, kSm90Cpu, image);
  image.rows = sm90_rows(epilogue);
  image.depth = epilogue.total_depth();
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    image.region_columns.push_back(epilogue.regions[r].extent);
    image.region_segments.push_back(plan.regions[r].segments);
  }
  image.tile_rows = plan.schedule.tile_m;
  image.tile_columns = plan.schedule.tile_n;
  image.cluster = plan.schedule.cluster;
  image.threads = plan.schedule.threads();
  image.split = plan.schedule.split;
  image.dependent = plan.schedule.dependent > 0;
  image.schedule = std::string(plan.schedule.name);
}

/// Without copies by maps the loads' loops are much of the code; sums of products of 8 bits are kept twice.
NvptxCode code_of(const Sm90Plan& plan, const KernelImage& image) {
  if (image.tensor_maps.empty()) return NvptxCode::Loops;
  return plan.element_bytes() == 1 ? NvptxCode::Crowded : NvptxCode::StraightLine;
}

}  // namespace

std::optional<Sm90Result> compile_sm90(const EpilogueProgram& epilogue, const Sm90Options& options,
                                       Diagnostics& diagnostics) {
  if (epilogue.is_rowwise()) return compile_sm90_rowwise(epilogue, options, diagnostics);
  const Span where = epilogue.program.span;
  if (epilogue.operand_dtype(epilogue.a) == DType::F32) {
    const auto name = [&](const GemmOperand& operand) {
      return "`" + epilogue.program.params[static_cast<size_t>(operand.param)].name + "`";
    };
    diagnostics.report(
        DiagId::E0502, where,
        {kSm90Cpu, "its product takes operands of 16 or 8 bits, and " + name(epilogue.a) + " and " + name(epilogue.b) +
                       " are f32; declare them bf16 or f16, or compile for the host"});
    return std::nullopt;
  }
  const auto schedule = settle_sm90_schedule(epilogue, options, diagnostics);
  if (!schedule) return std::nullopt;
  const int scratch = schedule->consumers * sm90_scratch_bytes(epilogue, *schedule);

  Sm90Result result;
  KernelImage& image = result.image;
  image.name = epilogue.program.name;
  image.entry = epilogue.program.name;
  Sm90Plan plan;
  plan.landed = options.landed;
  plan.approximate = options.approximate;
  plan.constant = options.constant;
  std::string failure = make_sm90_plan(epilogue, *schedule, plan, image);
  plan.sparing = options.sparing || epilogue.regions.size() >= kManyRegions;
  NvptxBuilder builder;
  if (failure.empty()) {
    describe(epilogue, plan, image);
    failure = emit_sm90_kernel(builder, epilogue, plan, image);
  }
  if (!failure.empty()) {
    diagnostics.report(DiagId::E0405, where, {failure});
    return std::nullopt;
  }
  image.shared_bytes =
      std::max(Sm90Ring(builder, plan.schedule).scratch_offset() + scratch, plan.schedule.read_bytes());
  if (!finish_sm90(builder, options, code_of(plan, image), where, result, diagnostics)) return std::nullopt;
  return result;
}

}  // namespace coda
