#include "runtime/jit/sm90_trials.h"

#include <algorithm>
#include <climits>
#include <thread>

#include "compiler/codegen/sm90_schedule.h"
#include "runtime/assemble.h"
#include "runtime/jit/disassemble.h"

namespace coda {
namespace {

/// PTX of more bytes is assembled only where no smaller tile is left: it takes the assembler many seconds, and the work
/// is the epilogue's, which no large tile makes faster.
constexpr size_t kLargePtx = size_t{1} << 20;
/// So many further tiles are compiled at once. They are wasted if an earlier one is good.
constexpr size_t kMostAtOnce = 4;

int accumulators(const std::string& schedule) {
  const Sm90Schedule* found = find_sm90_schedule(schedule);
  return found ? found->rows_per_consumer() * found->tile_n : 0;
}

/// One way to compile a kernel, and what came of it.
class Trial {
 public:
  Trial(const CompileRequest& request, const Compilation& compilation, Sm90Options options)
      : options(std::move(options)),
        diagnostics(*compilation.sources),
        request_(&request),
        epilogue_(compilation.epilogue.get()) {}

  void run(bool may_refuse) {
    make(may_refuse);
    if (!broken_ || options.landed) return;
    options.landed = true;
    diagnostics = diagnostics.emptied();
    make(may_refuse);
  }

  bool good() const { return !image || (!refused && image->spill_bytes <= kSm90FewSpilledBytes); }

  /// Into `result`, apart from the times.
  void keep(Compilation& result) {
    result.image = std::move(image);
    for (auto& [dump, text] : dumps) result.dumps[dump] = std::move(text);
    result.assembler_log = std::move(log);
    result.diagnostics->append(diagnostics);
  }

  Sm90Options options;
  Diagnostics diagnostics;
  std::optional<KernelImage> image;
  bool refused = false;  ///< the code is too large to be assembled while there are smaller tiles
  std::vector<StepTime> times;

 private:
  bool wants(Dump dump) const { return request_->dumps.contains(dump); }

  void make(bool may_refuse) {
    broken_ = false;
    auto output = timed(times, "gpu code", [&] { return compile_sm90(*epilogue_, options, diagnostics); });
    if (!output) return;
    image = std::move(output->image);
    if (wants(Dump::Llvm)) dumps[Dump::Llvm] = std::move(output->llvm);
    if (wants(Dump::Ptx)) dumps[Dump::Ptx] = output->ptx;
    refused = may_refuse && output->ptx.size() > kLargePtx;
    if (!refused && request_->stage == Stage::Assemble) assemble_image(output->ptx);
  }

  /// PTX becomes a cubin if there is an assembler; without one the driver assembles when the kernel is loaded.
  void assemble_image(const std::string& ptx) {
    if (!find_assembler()) {
      log = "no ptxas was found: the driver assembles the kernel when it is loaded";
      return;
    }
    auto assembly = timed(times, "assemble", [&] { return assemble(ptx, request_->target); });
    if (!assembly) {
      diagnostics.report(DiagId::E0502, epilogue_->program.span, {request_->target, assembly.status().message()});
      image.reset();
      broken_ = true;
      return;
    }
    image->code_kind = CodeKind::Cubin;
    image->registers = assembly->registers;
    image->spill_bytes = assembly->spill_bytes;
    image->code = std::move(assembly->cubin);
    if (wants(Dump::Cubin)) dumps[Dump::Cubin].assign(image->code.begin(), image->code.end());
    if (!wants(Dump::Sass)) return;
    auto sass = disassemble(image->code);
    if (sass) dumps[Dump::Sass] = std::move(*sass);
    if (!sass) log = sass.status().message();
  }

  const CompileRequest* request_;
  const EpilogueProgram* epilogue_;
  std::map<Dump, std::string> dumps;
  std::string log;
  bool broken_ = false;  ///< the assembler refused the code, or broke its pipeline
};

/// Runs all, each on a thread of its own.
void run_at_once(std::vector<Trial>& trials) {
  std::vector<std::thread> others;
  for (size_t i = 1; i < trials.size(); ++i) others.emplace_back([&trial = trials[i]] { trial.run(true); });
  trials[0].run(true);
  for (std::thread& thread : others) thread.join();
}

/// The tiles after the first, in order, each also without loads ahead of their use. Once a tile's code was too large,
/// only those are left that have at most half of its accumulators.
class Alternatives {
 public:
  Alternatives(const Trial& first, std::vector<std::string> names) : most_(first.refused ? 0 : INT_MAX) {
    const std::string& name = first.image->schedule;
    if (first.refused) most_ = accumulators(name) / 2;
    list_.push_back({name, true});
    std::erase(names, name);
    for (const std::string& other : names) {
      for (const bool sparing : {false, true}) list_.push_back({other, sparing});
    }
  }

  struct Way {
    std::string schedule;
    bool sparing = false;
  };
  bool allowed(const Way& way) const { return accumulators(way.schedule) <= most_; }
  void refuse(const std::string& schedule) { most_ = std::min(most_, accumulators(schedule) / 2); }

  /// The next up to `count` that are allowed.
  std::vector<Way> take(size_t count) {
    std::vector<Way> next;
    for (; at_ < list_.size() && next.size() < count; ++at_) {
      if (allowed(list_[at_])) next.push_back(list_[at_]);
    }
    return next;
  }

 private:
  std::vector<Way> list_;
  size_t at_ = 0;
  int most_;
};

}  // namespace

void compile_best_sm90(const CompileRequest& request, Compilation& result, const KernelPlace& place) {
  Sm90Options options = sm90_options_for(request, *result.epilogue);
  options.approximate = place.approximate;
  options.dependent = place.dependent;
  options.constant = place.constant;
  const bool pinned = result.epilogue->is_rowwise() || !options.schedule.empty() || !result.program->schedule.empty();
  Trial last(request, result, options);
  last.run(!pinned);
  result.times.insert(result.times.end(), last.times.begin(), last.times.end());
  if (pinned || last.good()) return last.keep(result);

  // A tile that fills the registers may spill around a heavy epilogue: then without loads ahead of their use, or with
  // another tile. What is chosen does not depend on how many are compiled at once.
  Alternatives alternatives(last, sm90_schedules_for(*result.epilogue, options));
  const size_t at_once = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostAtOnce);
  for (auto ways = alternatives.take(at_once); !ways.empty() && !last.good(); ways = alternatives.take(at_once)) {
    std::vector<Trial> trials;
    for (const auto& way : ways) {
      options.schedule = way.schedule;
      options.sparing = way.sparing;
      trials.emplace_back(request, result, options);
    }
    timed(result.times, "other tiles", [&] { return run_at_once(trials), 0; });
    for (size_t i = 0; i < trials.size() && !last.good(); ++i) {
      if (!alternatives.allowed(ways[i])) continue;
      if (trials[i].refused) alternatives.refuse(ways[i].schedule);
      last = std::move(trials[i]);
    }
  }
  if (last.refused) {
    Trial anyway(request, result, last.options);
    anyway.run(false);
    return anyway.keep(result);
  }
  last.keep(result);
}

}  // namespace coda
