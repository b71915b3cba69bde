#include "compiler/codegen/sm90.h"

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_kernel.h"
#include "compiler/codegen/sm90_plan.h"
#include "compiler/codegen/sm90_ring.h"
#include "compiler/codegen/sm90_stat_layout.h"
#include "dsl/diagnostics.h"

namespace coda {
namespace {

constexpr const char* kCpu = "sm_90a";
constexpr const char* kFeatures = "+ptx80";  // the lowest PTX version that has sm_90a

/// The `schedule` clause's pins over `base`; false and a report where one is unknown.
bool apply_pins(const Program& program, Sm90Schedule& schedule, Diagnostics& diagnostics) {
  struct Pin {
    std::string_view name;
    int Sm90Schedule::*field;
  };
  static constexpr Pin kPins[] = {{"tile_m", &Sm90Schedule::tile_m},   {"tile_n", &Sm90Schedule::tile_n},
                                  {"stages", &Sm90Schedule::stages},   {"cluster", &Sm90Schedule::cluster},
                                  {"group_m", &Sm90Schedule::group_m}, {"consumers", &Sm90Schedule::consumers}};
  for (const auto& [name, value] : program.schedule) {
    bool known = false;
    for (const Pin& pin : kPins) {
      if (pin.name != name) continue;
      schedule.*pin.field = static_cast<int>(value);
      known = true;
    }
    if (!known) {
      diagnostics.report(DiagId::E0401, program.span, {name, "tile_m, tile_n, stages, cluster, consumers or group_m"});
      return false;
    }
  }
  return true;
}

const Sm90Schedule* base_schedule(const EpilogueProgram& epilogue, const Sm90Options& options,
                                  Diagnostics& diagnostics) {
  if (!options.schedule.empty()) {
    const Sm90Schedule* named = find_sm90_schedule(options.schedule);
    if (!named) {
      std::string names;
      for (const Sm90Schedule& s : sm90_schedules()) names += (names.empty() ? "" : ", ") + std::string(s.name);
      diagnostics.report(DiagId::E0402, epilogue.program.span, {options.schedule, names});
    }
    return named;
  }
  const std::vector<std::string> names = sm90_schedules_for(epilogue, options);
  return names.empty() ? &sm90_schedules()[0] : find_sm90_schedule(names[0]);
}

void describe(const EpilogueProgram& epilogue, const Sm90Plan& plan, KernelImage& image) {
  image.target = kCpu;
  image.bound = epilogue.program.bound;
  for (const Param& p : epilogue.program.params) {
    ParamSpec spec;
    spec.name = p.name;
    spec.role = static_cast<ParamSpec::Role>(p.role);
    spec.dtype = p.dtype;
    for (const NamedDim& dim : p.dims) spec.extents.push_back(dim.extent);
    spec.default_value = p.default_value;
    image.params.push_back(std::move(spec));
  }
  for (const DimFact& fact : epilogue.program.facts) {
    image.facts.push_back({fact.left, fact.right, fact.modulus, fact.relation});
  }
  image.rows = sm90_rows(epilogue);
  image.depth = epilogue.depth;
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    image.region_columns.push_back(epilogue.regions[r].extent);
    image.region_segments.push_back(plan.regions[r].segments);
  }
  image.tile_rows = plan.schedule.tile_m;
  image.tile_columns = plan.schedule.tile_n;
  image.cluster = plan.schedule.cluster;
  image.threads = plan.schedule.threads();
  image.schedule = std::string(plan.schedule.name);
}

}  // namespace

std::vector<std::string> sm90_schedules_for(const EpilogueProgram& epilogue, const Sm90Options& options) {
  Sm90Problem problem;
  problem.epilogue_cycles = sm90_epilogue_cycles(epilogue);
  if (options.rows && options.columns && options.depth) {
    problem.rows = *options.rows;
    problem.columns = *options.columns;
    problem.depth = *options.depth;
  }
  std::vector<std::string> names;
  for (const Sm90Schedule& schedule : rank_sm90_schedules(problem, epilogue)) names.emplace_back(schedule.name);
  return names;
}

std::optional<Sm90Result> compile_sm90(const EpilogueProgram& epilogue, const Sm90Options& options,
                                       Diagnostics& diagnostics) {
  const Span where = epilogue.program.span;
  if (epilogue.operand_dtype != DType::BF16 && epilogue.operand_dtype != DType::F16) {
    const auto name = [&](const GemmOperand& operand) {
      return "`" + epilogue.program.params[static_cast<size_t>(operand.param)].name + "`";
    };
    diagnostics.report(DiagId::E0502, where,
                       {kCpu, "its product takes bf16 or f16, and " + name(epilogue.a) + " and " + name(epilogue.b) +
                                  " are " + std::string(info(epilogue.operand_dtype).name) +
                                  "; declare them bf16 or f16, or compile for the host"});
    return std::nullopt;
  }
  const Sm90Schedule* base = base_schedule(epilogue, options, diagnostics);
  if (!base) return std::nullopt;
  Sm90Schedule pinned = *base;
  if (!apply_pins(epilogue.program, pinned, diagnostics)) return std::nullopt;
  // M-major A comes in blocks of rows.
  const bool m_major = epilogue.a.depth_axis < epilogue.a.outer_axes.back();
  if (m_major) pinned.tile_m = std::max(pinned.tile_m, kSm90InstructionRows);
  const int scratch = pinned.consumers * sm90_scratch_bytes(epilogue, pinned.tile_n);
  // A stage fewer where statistics need the room, unless the program says how many.
  const bool may_drop = pinned.stages == base->stages;
  while (may_drop && pinned.stages > 2 && pinned.shared_bytes(scratch) > kSm90SharedLimit) {
    --pinned.stages;
  }
  if (const auto illegal = check_sm90_schedule(pinned, scratch)) {
    diagnostics.report(DiagId::E0403, where, {illegal->what, illegal->way_out});
    return std::nullopt;
  }
  const auto schedule = fit_sm90_schedule(pinned, epilogue);
  if (!schedule) {
    const Sm90TileDemand demand = sm90_tile_demand(epilogue);
    diagnostics.report(DiagId::E0404, where, {std::to_string(pinned.tile_n), std::to_string(demand.multiple)});
    return std::nullopt;
  }

  Sm90Result result;
  KernelImage& image = result.image;
  image.name = epilogue.program.name;
  image.entry = epilogue.program.name;
  Sm90Plan plan;
  std::string failure = make_sm90_plan(epilogue, *schedule, plan, image);
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
  std::string error;
  if (options.keep_llvm) result.llvm = builder.llvm_text();
  auto ptx = builder.to_ptx(kCpu, kFeatures, &error);
  if (!ptx) {
    diagnostics.report(DiagId::E0502, where, {kCpu, "LLVM refused it, a defect of the compiler: " + error});
    return std::nullopt;
  }
  result.ptx = std::move(*ptx);
  image.code_kind = CodeKind::Ptx;
  image.code.assign(result.ptx.begin(), result.ptx.end());
  return result;
}

}  // namespace coda
