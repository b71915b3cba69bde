#include "runtime/jit/block.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/jit/generate.h"

namespace coda {
namespace {

/// A parameter that a kernel reads and writes is one parameter.
void join_inouts(PlanKernel& kernel) {
  Program& program = kernel.program;
  for (size_t out = 0; out < program.params.size(); ++out) {
    if (program.params[out].role != Param::Role::Out) continue;
    const auto first = std::find(kernel.arguments.begin(), kernel.arguments.end(), kernel.arguments[out]);
    const auto in = static_cast<size_t>(first - kernel.arguments.begin());
    if (in == out) continue;
    program.params[in].role = Param::Role::InOut;
    program.params.erase(program.params.begin() + static_cast<std::ptrdiff_t>(out));
    kernel.arguments.erase(kernel.arguments.begin() + static_cast<std::ptrdiff_t>(out));
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

std::string reason_of(const PlanKernel& kernel) {
  if (kernel.kind == KernelKind::Gemm) return "see above";
  std::string reason = "it is a pass over rows of its own";
  for (const std::string& wait : kernel.waits) {
    reason += (&wait == &kernel.waits.front() ? ", which waits for `" : " and `") + wait + "`";
  }
  return reason + ", and touches no GEMM";
}

/// One way to bind symbols: the plan, and how far its kernels lower.
struct Candidate {
  std::optional<Program> program;
  Plan plan;
  std::vector<Compilation> kernels;
  int failed = 0, passes = 0;
  bool better_than(const Candidate& other) const {
    return failed != other.failed ? failed < other.failed : plan.seconds < other.plan.seconds * (1 - 1e-6);
  }
};

class BlockLowering {
 public:
  BlockLowering(const CompileRequest& request, const ElaborateBlock& elaborate, Compilation& result)
      : request_(request), elaborate_(elaborate), result_(result) {
    for (const auto& [name, value] : request.bindings) sizes_[name] = std::max<int64_t>(value, 1);
  }

  bool run() {
    std::optional<Candidate> best = candidate({}, *result_.diagnostics);
    if (!best) return false;
    if (best->failed > 0 || best->passes > 0) {
      for (const auto& symbol : request_.bindings) {
        Diagnostics scratch(*result_.sources);
        auto other = candidate({symbol}, scratch);
        if (other && other->better_than(*best)) best = std::move(other);
      }
    }
    result_.program = std::make_unique<Program>(std::move(*best->program));
    result_.plan = std::make_unique<Plan>(std::move(best->plan));
    result_.kernels = std::move(best->kernels);
    return report();
  }

 private:
  std::optional<Candidate> candidate(const Bindings& bound, Diagnostics& diagnostics) {
    Candidate made;
    made.program = elaborate_(bound);
    if (!made.program) return {};
    if (!plan_block(*made.program, {.sizes = sizes_}, made.plan, diagnostics)) return {};
    for (PlanKernel& kernel : made.plan.kernels) {
      join_inouts(kernel);
      made.kernels.push_back(lowered(kernel.program));
      made.failed += !made.kernels.back().ok();
      made.passes += kernel.kind != KernelKind::Gemm;
    }
    return made;
  }

  /// With the kernel's own bindings, or one more symbol: that which cuts the columns into the fewest regions.
  Compilation lowered(const Program& program) {
    Compilation best = lowered_with(program);
    if (best.ok()) return best;
    for (const auto& [name, value] : request_.bindings) {
      if (program.bound.contains(name)) continue;
      Program other = program;
      other.bound[name] = value;
      Compilation made = lowered_with(other);
      if (!made.ok() || (best.ok() && best.epilogue->regions.size() <= made.epilogue->regions.size())) continue;
      best = std::move(made);
    }
    return best;
  }

  Compilation lowered_with(const Program& program) {
    Compilation made;
    made.diagnostics = std::make_unique<Diagnostics>(*result_.sources);
    made.program = std::make_unique<Program>(program);
    made.program->schedule = {};
    auto epilogue = std::make_unique<EpilogueProgram>();
    if (lower_to_epilogue(*made.program, *epilogue, *made.diagnostics)) made.epilogue = std::move(epilogue);
    return made;
  }

  bool report() {
    std::string name;
    if (const int late = reads_too_late(*result_.program, *result_.plan, name); late >= 0) {
      result_.diagnostics->report(DiagId::E0361, result_.program->span,
                                  {result_.program->name, std::to_string(late),
                                   "it reads `" + name + "`, which an earlier kernel has overwritten"});
    }
    for (size_t k = 0; k < result_.kernels.size(); ++k) {
      if (result_.kernels[k].ok()) continue;
      const PlanKernel& kernel = result_.plan->kernels[k];
      if (kernel.kind == KernelKind::Gemm) result_.diagnostics->append(*result_.kernels[k].diagnostics);
      result_.diagnostics->report(DiagId::E0361, result_.program->span,
                                  {result_.program->name, std::to_string(k), reason_of(kernel)});
    }
    return result_.ok();
  }

  const CompileRequest& request_;
  const ElaborateBlock& elaborate_;
  Compilation& result_;
  Bindings sizes_;  ///< what is empty costs nothing, and so can't be weighed
};

ParamSpec spec_of(const Param& param) {
  ParamSpec spec{.name = param.name,
                 .role = static_cast<ParamSpec::Role>(param.role),
                 .dtype = param.dtype,
                 .default_value = param.default_value};
  for (const NamedDim& dim : param.dims) spec.extents.push_back(dim.extent);
  return spec;
}

PlanImage assembled(const CompileRequest& request, const Compilation& result) {
  const Program& program = *result.program;
  const Plan& plan = *result.plan;
  PlanImage image;
  image.name = program.name;
  image.target = request.target;
  image.bound = program.bound;
  for (const Param& param : program.params) image.params.push_back(spec_of(param));
  for (const DimFact& fact : program.facts) image.facts.push_back({fact.left, fact.right, fact.modulus, fact.relation});
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
void join_dumps(Compilation& result) {
  for (Compilation& kernel : result.kernels) {
    for (auto& [dump, text] : kernel.dumps) {
      if (dump == Dump::Cubin) continue;  // files of their own, not text
      std::string& all = result.dumps[dump];
      all += (all.empty() ? "" : "\n") + ("// kernel " + kernel.program->name) + "\n" + text;
    }
    if (result.assembler_log.empty()) result.assembler_log = kernel.assembler_log;
  }
}

}  // namespace

bool plan_and_lower(const CompileRequest& request, const ElaborateBlock& elaborate, Compilation& result) {
  return BlockLowering(request, elaborate, result).run();
}

void generate_block(const CompileRequest& request, Compilation& result) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t k = next++; k < result.kernels.size(); k = next++) generate(request, result.kernels[k]);
  };
  const size_t threads = std::min<size_t>(result.kernels.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();

  for (const Compilation& kernel : result.kernels) result.diagnostics->append(*kernel.diagnostics);
  join_dumps(result);
  const bool all = std::all_of(result.kernels.begin(), result.kernels.end(), [](auto& k) { return k.image; });
  if (!result.ok() || !all) return;
  PlanImage image = assembled(request, result);
  if (Status status = check_plan(image); !status.ok()) {
    result.diagnostics->report(DiagId::E0502, result.program->span, {request.target, status.message()});
    return;
  }
  result.plan_image = std::move(image);
}

}  // namespace coda
