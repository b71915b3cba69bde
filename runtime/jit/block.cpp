#include "runtime/jit/block.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "compiler/codegen/signature.h"
#include "compiler/epilogue/rowwise.h"
#include "compiler/rewrite/law.h"
#include "dsl/suggest.h"
#include "runtime/jit/generate.h"

namespace coda {
namespace {

/// A tensor that a kernel reads and writes, or writes twice with one value, is one parameter of it.
void join_parameters(PlanKernel& kernel) {
  Program& program = kernel.program;
  for (size_t out = 0; out < program.params.size(); ++out) {
    if (program.params[out].role != Param::Role::Out) continue;
    const auto first = std::find(kernel.arguments.begin(), kernel.arguments.end(), kernel.arguments[out]);
    const auto in = static_cast<size_t>(first - kernel.arguments.begin());
    if (in == out) continue;
    const bool twice = program.params[in].role == Param::Role::Out;
    if (!twice) program.params[in].role = Param::Role::InOut;
    program.params.erase(program.params.begin() + static_cast<std::ptrdiff_t>(out));
    kernel.arguments.erase(kernel.arguments.begin() + static_cast<std::ptrdiff_t>(out));
    if (twice)
      std::erase_if(program.outputs, [&](const auto& output) { return output.param == static_cast<int>(out); });
    for (auto& output : program.outputs) {
      if (output.param == static_cast<int>(out)) output.param = static_cast<int>(in);
      if (output.param > static_cast<int>(out)) --output.param;
    }
    --out;
  }
}

/// The first kernel that reads an inout parameter's old value after another has written it; -1 if none does.
int reads_too_late(const Program& block, const Plan& plan, std::string& name) {
  for (size_t p = 0; p < block.params.size(); ++p) {
    if (block.params[p].role != Param::Role::InOut) continue;
    bool written = false;
    for (size_t k = 0; k < plan.kernels.size(); ++k) {
      const PlanKernel& kernel = plan.kernels[k];
      bool writes = false;
      for (size_t i = 0; i < kernel.arguments.size(); ++i) {
        if (kernel.arguments[i] != static_cast<int>(p)) continue;
        name = block.params[p].name;
        if (written) return static_cast<int>(k);
        writes = kernel.program.params[i].role != Param::Role::In;
      }
      written = written || writes;
    }
  }
  return -1;
}

/// The first kernel that reads what none before it has written; -1 if none does.
int reads_too_early(const Program& block, const Plan& plan, std::string& name) {
  std::vector<bool> written(plan.tensors.size());
  for (size_t p = 0; p < block.params.size(); ++p) written[p] = block.params[p].role != Param::Role::Out;
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const PlanKernel& kernel = plan.kernels[k];
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const auto tensor = static_cast<size_t>(kernel.arguments[i]);
      name = plan.tensors[tensor].name;
      if (kernel.program.params[i].role != Param::Role::Out && !written[tensor]) return static_cast<int>(k);
    }
    for (const auto& output : kernel.program.outputs) {
      written[static_cast<size_t>(kernel.arguments[static_cast<size_t>(output.param)])] = true;
    }
  }
  return -1;
}

/// Symbols that the parts of a regrouped dimension have: heads, and their size. Only those can make a plan another one.
std::set<std::string> structural_symbols(const Program& block) {
  std::set<std::string> symbols;
  for (NodeId id = 0; id < block.graph.size(); ++id) {
    const Node& node = block.graph[id];
    if (node.kind != NodeKind::View || node.map.terms.size() < 2) continue;
    for (const auto& term : node.map.terms) symbols.merge(term.dim.extent.symbols());
  }
  return symbols;
}

Compilation lowered_with(const Program& program, const SourceMap& sources) {
  Compilation made;
  made.diagnostics = std::make_unique<Diagnostics>(sources);
  made.program = std::make_unique<Program>(program);
  made.program->schedule = {};
  auto epilogue = std::make_unique<EpilogueProgram>();
  if (lower_to_epilogue(*made.program, *epilogue, *made.diagnostics)) made.epilogue = std::move(epilogue);
  return made;
}

/// One way to plan the block: for some sizes, with some symbols bound.
struct Candidate {
  std::optional<Program> program;
  Plan plan;
  std::vector<Compilation> kernels;
  int failed = 0, passes = 0;
};

class BlockLowering {
 public:
  BlockLowering(const CompileRequest& request, const ElaborateBlock& elaborate, Compilation& result)
      : request_(request), elaborate_(elaborate), result_(result), sizes_(request.bindings) {}

  /// The best first. Those after it are made where it does not lower, or leaves passes without a GEMM that another
  /// binding may avoid.
  std::vector<Candidate> run() {
    std::vector<Candidate> all;
    if (!add({}, sizes_, *result_.diagnostics, all)) return all;
    if (all[0].failed == 0 && all[0].passes == 0) return all;
    Diagnostics scratch(*result_.sources);
    for (const auto& symbol : request_.bindings) {
      if (structural_.contains(symbol.first)) add({symbol}, sizes_, scratch, all);
    }
    if (all[0].failed > 0) {  // what is cheapest for small sizes may be no plan at all
      Bindings large = sizes_;
      for (auto& [name, value] : large) value = value == 0 ? 0 : std::max<int64_t>(value, kLarge);
      add({}, large, scratch, all);
    }
    if (std::all_of(all.begin(), all.end(), [](const Candidate& made) { return made.failed > 0; })) {
      for (const std::string& law : laws_to_leave_out(all[0].plan)) add({}, sizes_, scratch, all, law);
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      return a.failed != b.failed ? a.failed < b.failed : a.plan.seconds < b.plan.seconds * (1 - 1e-6);
    });
    return all;
  }

 private:
  static constexpr int64_t kLarge = 4096;

  /// Laws of the plan that it can do without, each once.
  static std::vector<std::string> laws_to_leave_out(const Plan& plan) {
    std::vector<std::string> names;
    for (const LawUse& use : plan.laws) {
      const Law* law = find_law(use.law);
      if (law == nullptr || !law->inherent.empty()) continue;
      if (std::find(names.begin(), names.end(), use.law) == names.end()) names.push_back(use.law);
    }
    return names;
  }

  bool add(const Bindings& bound, const Bindings& sizes, Diagnostics& diagnostics, std::vector<Candidate>& all,
           const std::string& without_law = {}) {
    Candidate made;
    made.program = elaborate_(bound);
    if (made.program) structural_ = structural_symbols(*made.program);
    if (!made.program ||
        !plan_block(*made.program, {.sizes = sizes, .drop_law = without_law}, made.plan, diagnostics)) {
      return false;
    }
    std::string name;
    made.failed = reads_too_early(*made.program, made.plan, name) >= 0;
    for (PlanKernel& kernel : made.plan.kernels) {
      join_parameters(kernel);
      made.kernels.push_back(lowered(kernel.program));
      made.failed += !made.kernels.back().ok();
      made.passes += kernel.kind != KernelKind::Gemm;
    }
    all.push_back(std::move(made));
    return true;
  }

  /// With the kernel's own bindings, or one more symbol: that which cuts the columns into the fewest regions. Passes
  /// over rows that would divide by symbols in each element have those compiled in.
  Compilation lowered(const Program& program) {
    Compilation best = lowered_with(program, *result_.sources);
    if (best.ok()) {
      Program other = program;
      for (const std::string& name : column_divisors(*best.epilogue)) {
        const auto given = request_.bindings.find(name);
        if (given != request_.bindings.end() && structural_.contains(name)) other.bound.insert(*given);
      }
      if (other.bound.size() == program.bound.size()) return best;
      Compilation made = lowered_with(other, *result_.sources);
      return made.ok() ? std::move(made) : std::move(best);
    }
    for (const auto& [name, value] : request_.bindings) {
      if (program.bound.contains(name) || !structural_.contains(name)) continue;
      Program other = program;
      other.bound[name] = value;
      Compilation made = lowered_with(other, *result_.sources);
      if (!made.ok() || (best.ok() && best.epilogue->regions.size() <= made.epilogue->regions.size())) continue;
      best = std::move(made);
    }
    return best;
  }

  const CompileRequest& request_;
  const ElaborateBlock& elaborate_;
  Compilation& result_;
  Bindings sizes_;
  std::set<std::string> structural_;
};

/// What a kernel of the plan writes: "`y` and `s2`".
std::string made_by(const PlanKernel& kernel) {
  std::vector<std::string> names;
  for (const auto& output : kernel.program.outputs) {
    names.push_back(kernel.program.params[static_cast<size_t>(output.param)].name);
  }
  return listed(names);
}

Diagnostic& report_kernel(Compilation& result, int k, Span span, const std::string& reason,
                          const std::string& way_out) {
  const std::string makes = made_by(result.plan->kernels[static_cast<size_t>(k)]);
  return result.diagnostics->report(DiagId::E0361, span,
                                    {result.program->name, std::to_string(k), reason, makes, way_out});
}

/// The size that is wanted where kernel `k` could be lowered with it: a part of a regrouped dimension, of which nothing
/// says how large it is.
std::string wanted_size(const CompileRequest& request, const Compilation& result, int k) {
  constexpr int64_t kSome = 16;
  const Program& kernel = *result.kernels[static_cast<size_t>(k)].program;
  for (const std::string& symbol : structural_symbols(*result.program)) {
    if (request.bindings.contains(symbol) || kernel.bound.contains(symbol)) continue;
    Program tried = kernel;
    tried.bound[symbol] = kSome;
    if (lowered_with(tried, *result.sources).ok()) return symbol;
  }
  return "";
}

/// Says why one kernel of the plan has no code: its own first error, at the block where it has no place.
void report_own(const CompileRequest& request, Compilation& result, int k) {
  const auto& said = result.kernels[static_cast<size_t>(k)].diagnostics->all();
  const auto first =
      std::find_if(said.begin(), said.end(), [](const Diagnostic& d) { return d.severity == Severity::Error; });
  if (first == said.end()) return;
  if (const std::string symbol = wanted_size(request, result, k); !symbol.empty()) {
    report_kernel(result, k, result.program->span, "its rows have `" + symbol + "` parts, and how many is not said",
                  "give it as `where " + symbol + " = 32` or with `--dim " + symbol + "=32`");
    return;
  }
  // A kernel's way out may be a block, which this is.
  const bool splits = first->way_out.empty() || first->way_out.find("block") != std::string::npos ||
                      first->way_out.find("kernel") != std::string::npos;
  const std::string way_out =
      splits ? "make this part a `kernel` or `block` of its own; `codac explain` shows the plan" : first->way_out;
  report_kernel(result, k, first->span.valid() ? first->span : result.program->span, first->message, way_out).notes =
      first->notes;
}

/// Says what keeps the kernels of `result` from being a plan that runs; true if nothing does.
bool report(const CompileRequest& request, Compilation& result) {
  const Program& program = *result.program;
  const std::string way_out = "compute it in a block of its own; `codac explain` shows the plan";
  std::string name;
  if (const int early = reads_too_early(program, *result.plan, name); early >= 0) {
    report_kernel(result, early, program.span, "it reads `" + name + "`, which no earlier kernel writes", way_out);
  }
  if (const int late = reads_too_late(program, *result.plan, name); late >= 0) {
    report_kernel(result, late, program.span, "it reads `" + name + "`, which an earlier kernel has overwritten",
                  way_out);
  }
  for (size_t k = 0; k < result.kernels.size(); ++k) {
    if (!result.kernels[k].ok()) report_own(request, result, static_cast<int>(k));
  }
  return result.ok();
}

PlanImage assembled(const CompileRequest& request, const Compilation& result) {
  const Plan& plan = *result.plan;
  PlanImage image;
  describe_signature(*result.program, request.target, image);
  for (const DimFact& fact : plan.facts) {
    image.facts.push_back({fact.left, fact.right, fact.modulus, fact.relation});
  }
  for (const PlanTensor& tensor : plan.tensors) {
    if (tensor.param >= 0) continue;
    PlanTensorSpec spec{.name = tensor.name, .dtype = tensor.dtype};
    for (const NamedDim& dim : tensor.dims) spec.extents.push_back(dim.extent);
    image.tensors.push_back(std::move(spec));
  }
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const PlanKernel& kernel = plan.kernels[k];
    for (const auto& [symbol, value] : result.kernels[k].image->bound) image.bound.emplace(symbol, value);
    image.steps.push_back({*result.kernels[k].image, kernel.arguments, kernel.kind == KernelKind::Once});
  }
  return image;
}

/// What all kernels have printed, each under its name.
void join_dumps(const CompileRequest& request, Compilation& result) {
  for (Compilation& kernel : result.kernels) {
    if (request.dumps.contains(Dump::Epilogue)) kernel.dumps[Dump::Epilogue] = to_text(*kernel.epilogue);
    for (auto& [dump, text] : kernel.dumps) {
      if (dump == Dump::Cubin) continue;  // files of their own, not text
      std::string& all = result.dumps[dump];
      all += (all.empty() ? "" : "\n") + ("// kernel " + kernel.program->name) + "\n" + text;
    }
    if (result.assembler_log.empty()) result.assembler_log = kernel.assembler_log;
  }
}

/// How each kernel of the plan overlaps with those beside it. What runs once for each set of weights is waited for.
std::vector<KernelPlace> kernel_places(const Compilation& result, bool approximate) {
  const auto& kernels = result.plan->kernels;
  int dependent = 0;
  for (const auto& [name, value] : result.program->schedule) {
    if (name == "dependent") dependent = static_cast<int>(value);
  }
  std::vector<bool> written(result.plan->tensors.size());
  for (const PlanKernel& kernel : kernels) {
    if (kernel.kind == KernelKind::Once) continue;
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      if (kernel.program.params[i].role != Param::Role::In) written[static_cast<size_t>(kernel.arguments[i])] = true;
    }
  }
  std::vector<KernelPlace> places;
  for (const PlanKernel& kernel : kernels) {
    KernelPlace place{approximate, kernel.kind == KernelKind::Once ? 0 : dependent, {}};
    for (const int tensor : kernel.arguments) place.constant.push_back(!written[static_cast<size_t>(tensor)]);
    places.push_back(std::move(place));
  }
  return places;
}

/// Code for every kernel; a kernel's diagnostics stay with it.
void generate_kernels(const CompileRequest& request, Compilation& result) {
  const auto is_wide = [](const Param& p) {
    const bool is_output = p.role == Param::Role::Out || p.role == Param::Role::InOut;
    return is_output && (info(p.dtype).num_class != NumClass::Real || info(p.dtype).bits > 16);
  };
  const auto& params = result.program->params;
  const bool approximate = std::none_of(params.begin(), params.end(), is_wide);
  const std::vector<KernelPlace> places = kernel_places(result, approximate);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t k = next++; k < result.kernels.size(); k = next++) generate(request, result.kernels[k], places[k]);
  };
  const size_t threads = std::min<size_t>(result.kernels.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
}

/// The image, or why a kernel has no code.
void finish(const CompileRequest& request, Compilation& result) {
  for (size_t k = 0; k < result.kernels.size(); ++k) {
    report_own(request, result, static_cast<int>(k));
  }
  join_dumps(request, result);
  if (!result.ok()) return;
  PlanImage image = assembled(request, result);
  if (Status status = check_plan(image); !status.ok()) {
    result.diagnostics->report(DiagId::E0502, result.program->span, {request.target, status.message()});
    return;
  }
  result.plan_image = std::move(image);
}

}  // namespace

void compile_block(const CompileRequest& request, const ElaborateBlock& elaborate, Compilation& result) {
  auto candidates = timed(result.times, "plan", [&] { return BlockLowering(request, elaborate, result).run(); });
  for (size_t c = 0; c < candidates.size(); ++c) {
    result.program = std::make_unique<Program>(std::move(*candidates[c].program));
    result.plan = std::make_unique<Plan>(std::move(candidates[c].plan));
    result.kernels = std::move(candidates[c].kernels);
    if (!report(request, result)) return;
    if (request.stage == Stage::Lower) return join_dumps(request, result);
    timed(result.times, "kernels", [&] { return generate_kernels(request, result), true; });
    const bool all = std::all_of(result.kernels.begin(), result.kernels.end(), [](auto& k) { return k.image; });
    const bool last = c + 1 == candidates.size() || candidates[c + 1].failed > 0;
    if (all || last) return finish(request, result);
  }
}

}  // namespace coda
