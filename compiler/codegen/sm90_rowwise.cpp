#include "compiler/codegen/sm90_rowwise.h"

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/signature.h"
#include "compiler/codegen/sm90_ptx.h"
#include "compiler/codegen/sm90_rowwise_kernel.h"
#include "dsl/diagnostics.h"

namespace coda {
namespace {

void describe(const EpilogueProgram& epilogue, const Sm90RowPlan& plan, KernelImage& image) {
  describe_signature(epilogue.program, kSm90Cpu, image);
  image.entry = image.name;
  image.rows = Dim(1);
  for (const NamedDim& row : epilogue.rows) image.rows = image.rows * row.extent;
  image.tile_rows = plan.rows();
  if (plan.shares_rows) {
    for (const Region& region : epilogue.regions) {
      image.region_columns.push_back(region.extent);
      image.region_segments.push_back(1);
    }
    image.tile_columns = plan.tile_columns();
  }
  image.threads = plan.threads;
  image.ctas_per_sm = plan.ctas_per_sm;
  image.dependent = plan.dependent > 0;
  image.schedule =
      std::to_string(plan.row_threads) + " threads a row, " + std::to_string(plan.vector) + " columns each";
}

}  // namespace

std::optional<Sm90Result> compile_sm90_rowwise(const EpilogueProgram& epilogue, const Sm90Options& options,
                                               Diagnostics& diagnostics) {
  const Span where = epilogue.program.span;
  if (!epilogue.program.schedule.empty()) {
    diagnostics.report(DiagId::E0401, where,
                       {epilogue.program.schedule[0].first, "leave the schedule out: there is no product here"});
    return std::nullopt;
  }
  Sm90RowPlan plan = plan_sm90_rows(epilogue, options.columns, options.region_columns);
  plan.dependent = options.dependent;
  Sm90Result result;
  KernelImage& image = result.image;
  describe(epilogue, plan, image);
  NvptxBuilder builder;
  const std::string failure = emit_sm90_rowwise(builder, epilogue, plan, image);
  if (!failure.empty()) {
    diagnostics.report(DiagId::E0407, where, {failure});
    return std::nullopt;
  }
  if (!finish_sm90(builder, options, NvptxCode::Loops, where, result, diagnostics)) return std::nullopt;
  return result;
}

}  // namespace coda
