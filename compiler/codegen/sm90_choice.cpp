#include "compiler/codegen/sm90_choice.h"

#include <algorithm>

#include "compiler/codegen/sm90_stat_layout.h"
#include "compiler/ir/schedule_settings.h"
#include "dsl/diagnostics.h"
#include "dsl/suggest.h"

namespace coda {
namespace {

struct Pin {
  std::string_view name;
  int Sm90Schedule::*field;
};
constexpr Pin kPins[] = {{"tile_m", &Sm90Schedule::tile_m},   {"tile_n", &Sm90Schedule::tile_n},
                         {"stages", &Sm90Schedule::stages},   {"cluster", &Sm90Schedule::cluster},
                         {"group_m", &Sm90Schedule::group_m}, {"consumers", &Sm90Schedule::consumers},
                         {"promote", &Sm90Schedule::promote}, {"split", &Sm90Schedule::split},
                         {"tail", &Sm90Schedule::tail},       {"dependent", &Sm90Schedule::dependent}};

const Pin* find_pin(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kPins), std::end(kPins), [&](const Pin& pin) { return pin.name == name; });
  return found == std::end(kPins) ? nullptr : found;
}

/// `schedule` with the pins of the program's `schedule` clause.
Sm90Schedule pinned(Sm90Schedule schedule, const Program& program) {
  for (const auto& [name, value] : program.schedule) schedule.*find_pin(name)->field = static_cast<int>(value);
  return schedule;
}

/// In how many pins `schedule` is not what the program asks for.
int difference(const Sm90Schedule& schedule, const Program& program) {
  int count = 0;
  for (const auto& [name, value] : program.schedule) count += schedule.*find_pin(name)->field != value;
  return count;
}

/// What a base becomes for a program, and what is illegal about it.
struct Settled {
  Sm90Schedule schedule;
  std::optional<Sm90Illegal> illegal;
};

/// CTAs share the depth of one product, not of several or of a batch.
bool can_split(const EpilogueProgram& epilogue) { return epilogue.earlier.empty() && epilogue.batch == 0; }

Settled settle(const Sm90Schedule& base, const EpilogueProgram& epilogue) {
  Settled settled{pinned(base, epilogue.program), std::nullopt};
  Sm90Schedule& s = settled.schedule;
  // M-major A comes in blocks of rows.
  settle_depth(s, epilogue);
  const std::vector<GemmTerm> terms = epilogue.terms();
  const bool m_major = std::any_of(terms.begin(), terms.end(),
                                   [&](const GemmTerm& term) { return !sm90_depth_major(epilogue, term.a); });
  if (m_major) s.tile_m = std::max(s.tile_m, kSm90InstructionRows);
  const int scratch = s.consumers * sm90_scratch_bytes(epilogue, s);
  // A stage fewer where statistics need the room, unless the program says how many.
  const auto& pins = epilogue.program.schedule;
  const bool may_drop = std::none_of(pins.begin(), pins.end(), [](const auto& pin) { return pin.first == "stages"; });
  while (may_drop && s.stages > 2 && s.shared_bytes(scratch) > kSm90SharedLimit) --s.stages;
  settled.illegal = check_sm90_schedule(s, scratch);
  return settled;
}

Sm90Problem problem_for(const EpilogueProgram& epilogue, const Sm90Options& options) {
  Sm90Problem problem;
  problem.epilogue_cycles = sm90_epilogue_cycles(epilogue);
  problem.element_bytes = sm90_element_bytes(epilogue);
  if (options.rows && options.columns && options.depth) {
    problem.rows = *options.rows;
    problem.columns = *options.columns;
    problem.depth = *options.depth;
  }
  return problem;
}

/// The schedules to start from, best first; nothing after a report.
std::vector<Sm90Schedule> bases(const EpilogueProgram& epilogue, const Sm90Options& options, Diagnostics& diagnostics) {
  if (!options.schedule.empty()) {
    if (const Sm90Schedule* named = find_sm90_schedule(options.schedule)) return {*named};
    std::vector<std::string> names;
    for (const Sm90Schedule& s : sm90_schedules()) names.emplace_back(s.name);
    const std::string nearest = nearest_name(options.schedule, names);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "use one of " : ", ") + name;
    diagnostics.report(DiagId::E0402, epilogue.program.span,
                       {options.schedule, nearest.empty() ? all : "did you mean `" + nearest + "`?"});
    return {};
  }
  std::vector<Sm90Schedule> list;
  for (const std::string& name : sm90_schedules_for(epilogue, options)) list.push_back(*find_sm90_schedule(name));
  if (list.empty()) list.push_back(sm90_schedules()[0]);
  std::stable_sort(list.begin(), list.end(), [&](const Sm90Schedule& a, const Sm90Schedule& b) {
    return difference(a, epilogue.program) < difference(b, epilogue.program);
  });
  return list;
}

}  // namespace

std::vector<std::string> sm90_schedules_for(const EpilogueProgram& epilogue, const Sm90Options& options) {
  std::vector<std::string> names;
  for (const Sm90Schedule& schedule : rank_sm90_schedules(problem_for(epilogue, options), epilogue)) {
    names.emplace_back(schedule.name);
  }
  return names;
}

std::vector<Sm90Candidate> sm90_candidates(const EpilogueProgram& epilogue, const Sm90Options& options) {
  const Sm90Problem problem = problem_for(epilogue, options);
  const auto& pins = epilogue.program.schedule;
  const bool pinned = std::any_of(pins.begin(), pins.end(),
                                  [](const auto& pin) { return pin.first == "split" || pin.first == "tail"; });
  std::vector<std::pair<double, Sm90Candidate>> estimated;
  for (Sm90Schedule s : rank_sm90_schedules(problem, epilogue)) {
    estimated.push_back({estimate_sm90_cycles(s, problem), {std::string(s.name), s.split, s.tail}});
    if (pinned || !can_split(epilogue) || s.alternate) continue;
    Sm90Schedule with_tail = s;
    with_tail.tail = 1;
    if (estimate_sm90_cycles(with_tail, problem) < estimate_sm90_cycles(s, problem)) {
      estimated.push_back({estimate_sm90_cycles(with_tail, problem), {std::string(s.name), 1, 1}});
    }
    if (best_sm90_split(s, problem) == 1) continue;
    s.split = best_sm90_split(s, problem);
    estimated.push_back({estimate_sm90_cycles(s, problem), {std::string(s.name), s.split}});
  }
  std::stable_sort(estimated.begin(), estimated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Sm90Candidate> candidates;
  for (auto& [cycles, candidate] : estimated) candidates.push_back(std::move(candidate));
  return candidates;
}

std::optional<Sm90Schedule> settle_sm90_schedule(const EpilogueProgram& epilogue, const Sm90Options& options,
                                                 Diagnostics& diagnostics) {
  const Span where = epilogue.program.span;
  for (const auto& entry : epilogue.program.schedule) {
    if (find_pin(entry.first)) continue;
    diagnostics.report(DiagId::E0401, where, {entry.first, way_out_of_setting(entry.first)});
    return std::nullopt;
  }
  const std::vector<Sm90Schedule> candidates = bases(epilogue, options, diagnostics);
  if (candidates.empty()) return std::nullopt;
  for (const Sm90Schedule& base : candidates) {
    const Settled settled = settle(base, epilogue);
    if (settled.illegal) continue;
    auto fitted = fit_sm90_schedule(settled.schedule, epilogue);
    if (!fitted || check_sm90_schedule(*fitted, fitted->consumers * sm90_scratch_bytes(epilogue, *fitted))) continue;
    fitted->dependent = std::max(fitted->dependent, options.dependent);
    if (fitted->split == 0 && !can_split(epilogue)) fitted->split = 1;
    if (fitted->split == 0) fitted->split = best_sm90_split(*fitted, problem_for(epilogue, options));
    return fitted;
  }
  const Settled first = settle(candidates[0], epilogue);
  if (first.illegal) {
    diagnostics.report(DiagId::E0403, where, {first.illegal->what, first.illegal->way_out});
  } else {
    const Sm90TileDemand demand = sm90_tile_demand(epilogue);
    diagnostics.report(DiagId::E0404, where, {std::to_string(first.schedule.tile_n), std::to_string(demand.multiple)});
  }
  return std::nullopt;
}

}  // namespace coda
