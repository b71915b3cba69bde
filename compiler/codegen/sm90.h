// The Hopper back end: an epilogue program becomes one persistent kernel, as PTX inside a KernelImage. LLVM-free.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/sm90_schedule.h"
#include "compiler/epilogue/epilogue.h"
#include "runtime/format/kernel_image.h"

namespace coda {

struct Sm90Options {
  /// Name of a schedule of the table; empty: the program's `schedule` clause, else the best for `rows`, `columns`,
  /// `depth` where they are known, else the best for large problems.
  std::string schedule;
  std::optional<int64_t> rows, columns, depth;
  std::vector<int64_t> region_columns;  ///< without a product: of each region, if all are known; `columns` the widest
  bool sparing = false;                 ///< of registers: an epilogue with a product reads nothing ahead of its use
  bool approximate = false;             ///< results end in narrow types: functions may be the hardware's
  /// The sums are waited for before the ways of regions part: slower by little, where the assembler would move what a
  /// way begins with in front of its wait and so break the pipeline.
  bool landed = false;
  bool keep_llvm = false;  ///< also return the LLVM IR
  /// Of a plan whose kernels overlap: as Sm90Schedule says, and by parameter, which of them no kernel of it writes.
  int dependent = 0;
  std::vector<bool> constant;
};

/// Bytes that a thread may store and load because its registers didn't suffice: once a tile, which costs less than a
/// slower tile does. K5 of llama_grad with 120 bytes: 1.2 times as fast as without, shared by both consumers.
inline constexpr int kSm90FewSpilledBytes = 160;

struct Sm90Result {
  KernelImage image;
  std::string ptx;
  std::string llvm;
};

inline constexpr const char* kSm90Cpu = "sm_90a";
inline constexpr const char* kSm90Features = "+ptx80";  ///< the lowest PTX version that has sm_90a

/// Names of the schedules that fit the program, the best by estimate first.
std::vector<std::string> sm90_schedules_for(const EpilogueProgram& epilogue, const Sm90Options& options);
/// What a tuner would measure: those schedules with all of the depth in one part, and with as many as the estimate
/// likes unless the program says how many; best estimate first.
struct Sm90Candidate {
  std::string schedule;
  int split = 1, tail = 0;
};
std::vector<Sm90Candidate> sm90_candidates(const EpilogueProgram& epilogue, const Sm90Options& options);
/// Reports E04xx diagnostics and returns nothing where it can't be done.
std::optional<Sm90Result> compile_sm90(const EpilogueProgram& epilogue, const Sm90Options& options,
                                       Diagnostics& diagnostics);

}  // namespace coda
