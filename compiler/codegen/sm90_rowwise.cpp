#include "compiler/codegen/sm90_rowwise.h"

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_rowwise_kernel.h"
#include "dsl/diagnostics.h"

namespace coda {
namespace {

void describe(const EpilogueProgram& epilogue, const Sm90RowPlan& plan, KernelImage& image) {
  const Program& program = epilogue.program;
  image.name = image.entry = program.name;
  image.target = kSm90Cpu;
  image.bound = program.bound;
  for (const Param& p : program.params) {
    ParamSpec spec{.name = p.name, .role = static_cast<ParamSpec::Role>(p.role), .dtype = p.dtype};
    for (const NamedDim& dim : p.dims) spec.extents.push_back(dim.extent);
    spec.default_value = p.default_value;
    image.params.push_back(std::move(spec));
  }
  for (const DimFact& fact : program.facts) image.facts.push_back({fact.left, fact.right, fact.modulus, fact.relation});
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
  image.schedule =
      std::to_string(plan.row_threads) + " threads a row, " + std::to_string(plan.vector) + " columns each";
}

}  // namespace

std::optional<Sm90Result> compile_sm90_rowwise(const EpilogueProgram& epilogue, const Sm90Options& options,
                                               Diagnostics& diagnostics) {
  const Span where = epilogue.program.span;
  if (!epilogue.program.schedule.empty()) {
    diagnostics.report(DiagId::E0401, where, {epilogue.program.schedule[0].first, "nothing: there is no product here"});
    return std::nullopt;
  }
  const Sm90RowPlan plan = plan_sm90_rows(epilogue, options.columns);
  Sm90Result result;
  KernelImage& image = result.image;
  describe(epilogue, plan, image);
  NvptxBuilder builder;
  const std::string failure = emit_sm90_rowwise(builder, epilogue, plan, image);
  if (!failure.empty()) {
    diagnostics.report(DiagId::E0407, where, {failure});
    return std::nullopt;
  }
  if (options.keep_llvm) result.llvm = builder.llvm_text();
  std::string error;
  auto ptx = builder.to_ptx(kSm90Cpu, kSm90Features, &error);
  if (!ptx) {
    diagnostics.report(DiagId::E0502, where, {kSm90Cpu, "LLVM refused it, a defect of the compiler: " + error});
    return std::nullopt;
  }
  result.ptx = std::move(*ptx);
  image.code_kind = CodeKind::Ptx;
  image.code.assign(result.ptx.begin(), result.ptx.end());
  return result;
}

}  // namespace coda
