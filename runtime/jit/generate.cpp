#include "runtime/jit/generate.h"

#include <algorithm>

#include "compiler/codegen/host.h"
#include "runtime/jit/sm90_trials.h"

namespace coda {
namespace {

void generate_host(const CompileRequest& request, Compilation& result, const KernelPlace&) {
  std::string reason;
  HostRequest host;
  host.want_llvm = request.dumps.contains(Dump::Llvm);
  auto output = timed(result.times, "host code", [&] { return compile_host(*result.epilogue, host, reason); });
  if (!output) {
    result.diagnostics->report(DiagId::E0502, result.program->span, {"the CPU", reason});
    return;
  }
  if (host.want_llvm) result.dumps[Dump::Llvm] = std::move(output->llvm_text);
  result.image = std::move(output->image);
}

struct Target {
  std::string_view name;
  void (*generate)(const CompileRequest&, Compilation&, const KernelPlace&);
};
constexpr Target kTargets[] = {{"host", generate_host}, {"sm_90a", compile_best_sm90}};

}  // namespace

Sm90Options sm90_options_for(const CompileRequest& request, const EpilogueProgram& epilogue) {
  Sm90Options options;
  options.keep_llvm = request.dumps.contains(Dump::Llvm);
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
