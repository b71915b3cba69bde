#include "runtime/jit/generate.h"

#include <algorithm>
#include <climits>

#include "compiler/codegen/host.h"
#include "compiler/codegen/sm90.h"
#include "compiler/codegen/sm90_schedule.h"
#include "runtime/assemble.h"
#include "runtime/jit/disassemble.h"

namespace coda {
namespace {

bool wants(const CompileRequest& request, Dump dump) { return request.dumps.count(dump) > 0; }

void generate_host(const CompileRequest& request, Compilation& result, const KernelPlace&) {
  std::string reason;
  HostRequest host;
  host.want_llvm = wants(request, Dump::Llvm);
  auto output = timed(result.times, "host code", [&] { return compile_host(*result.epilogue, host, reason); });
  if (!output) {
    result.diagnostics->report(DiagId::E0502, result.program->span, {"the CPU", reason});
    return;
  }
  if (host.want_llvm) result.dumps[Dump::Llvm] = std::move(output->llvm_text);
  result.image = std::move(output->image);
}

/// PTX becomes a cubin if there is an assembler; without one the driver assembles when the kernel is loaded.
void assemble_image(const CompileRequest& request, Compilation& result, const std::string& ptx) {
  if (!find_assembler()) {
    result.assembler_log = "no ptxas was found: the driver assembles the kernel when it is loaded";
    return;
  }
  auto assembly = timed(result.times, "assemble", [&] { return assemble(ptx, request.target); });
  if (!assembly) {
    result.diagnostics->report(DiagId::E0502, result.program->span, {request.target, assembly.status().message()});
    result.image.reset();
    return;
  }
  result.image->code_kind = CodeKind::Cubin;
  result.image->registers = assembly->registers;
  result.image->spill_bytes = assembly->spill_bytes;
  result.image->code = std::move(assembly->cubin);
  if (wants(request, Dump::Cubin)) {
    result.dumps[Dump::Cubin].assign(result.image->code.begin(), result.image->code.end());
  }
  if (!wants(request, Dump::Sass)) return;
  auto sass = disassemble(result.image->code);
  if (sass) result.dumps[Dump::Sass] = std::move(*sass);
  if (!sass) result.assembler_log = sass.status().message();
}

/// PTX of more bytes is assembled only where no smaller tile is left: it takes the assembler many seconds, and the work
/// is the epilogue's, which no large tile makes faster.
constexpr size_t kLargePtx = size_t{1} << 20;

/// False if nothing was assembled, because the code is too large and `may_refuse`.
bool generate_with(const CompileRequest& request, const Sm90Options& options, Compilation& result, bool may_refuse) {
  auto output =
      timed(result.times, "gpu code", [&] { return compile_sm90(*result.epilogue, options, *result.diagnostics); });
  result.image.reset();
  if (!output) return true;
  if (wants(request, Dump::Llvm)) result.dumps[Dump::Llvm] = std::move(output->llvm);
  if (wants(request, Dump::Ptx)) result.dumps[Dump::Ptx] = output->ptx;
  result.image = std::move(output->image);
  if (may_refuse && output->ptx.size() > kLargePtx) return false;
  if (request.stage == Stage::Assemble) assemble_image(request, result, output->ptx);
  return true;
}

int accumulators(const std::string& schedule) {
  const Sm90Schedule* found = find_sm90_schedule(schedule);
  return found ? found->rows_per_consumer() * found->tile_n : 0;
}

void generate_sm90(const CompileRequest& request, Compilation& result, const KernelPlace& place) {
  Sm90Options options = sm90_options_for(request, *result.epilogue);
  options.approximate = place.approximate;
  options.dependent = place.dependent;
  options.constant = place.constant;
  const bool pinned = result.epilogue->is_rowwise() || !options.schedule.empty() || !result.program->schedule.empty();
  bool assembled = generate_with(request, options, result, !pinned);
  const auto good = [&] { return !result.image || (assembled && result.image->spill_bytes <= kSm90FewSpilledBytes); };
  if (pinned || good()) return;
  // A tile that fills the registers may spill around a heavy epilogue: then without loads ahead of their use, or with
  // another tile.
  const std::string first = result.image->schedule;
  int most = assembled ? INT_MAX : accumulators(first) / 2;
  std::vector<std::string> names = sm90_schedules_for(*result.epilogue, options);
  names.insert(names.begin(), first);
  for (size_t i = 0; i < names.size(); ++i) {
    if ((i > 0 && names[i] == first) || accumulators(names[i]) > most) continue;
    options.schedule = names[i];
    for (const bool sparing : {false, true}) {
      if (i == 0 && !sparing) continue;
      options.sparing = sparing;
      assembled = generate_with(request, options, result, true);
      if (good()) return;
      if (assembled) continue;
      most = accumulators(names[i]) / 2;
      break;
    }
  }
  if (!assembled) generate_with(request, options, result, false);
}

struct Target {
  std::string_view name;
  void (*generate)(const CompileRequest&, Compilation&, const KernelPlace&);
};
constexpr Target kTargets[] = {{"host", generate_host}, {"sm_90a", generate_sm90}};

}  // namespace

Sm90Options sm90_options_for(const CompileRequest& request, const EpilogueProgram& epilogue) {
  Sm90Options options;
  options.keep_llvm = wants(request, Dump::Llvm);
  options.schedule = request.schedule_name;
  if (epilogue.is_rowwise()) {  // the widest walk decides how many threads share a row
    std::optional<int64_t> widest = 0;
    for (const Region& region : epilogue.regions) {
      const auto columns = region.extent.evaluate(request.bindings);
      widest = widest && columns ? std::optional(std::max(*widest, *columns)) : std::nullopt;
      if (columns) options.region_columns.push_back(*columns);
    }
    options.columns = widest;
    if (!widest) options.region_columns.clear();
    return options;
  }
  Dim rows = 1, columns;
  for (const NamedDim& row : epilogue.rows) rows = rows * row.extent;
  for (const Region& region : epilogue.regions) {
    columns = columns + region.extent * Dim(static_cast<int64_t>(region.segments.size()));
  }
  options.rows = rows.evaluate(request.bindings);
  options.columns = columns.evaluate(request.bindings);
  options.depth = epilogue.total_depth().evaluate(request.bindings);
  return options;
}

void generate(const CompileRequest& request, Compilation& result, const KernelPlace& place) {
  std::string names;
  for (const Target& target : kTargets) {
    if (target.name == request.target) return target.generate(request, result, place);
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  }
  result.diagnostics->report(DiagId::E0502, result.program->span,
                             {"`" + request.target + "`", "there is no such target; there are " + names});
}

}  // namespace coda
