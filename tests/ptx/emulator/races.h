// Which accesses of shared memory are ordered: each warp has a clock of what it knows of all warps of its cluster, and
// of the bulk copies; barriers and mbarriers hand it on. Each byte keeps who wrote and who last read it. Lanes of one
// warp count as one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coda::ptx {

/// A time of each warp of the cluster, and last of the bulk copies.
using Clock = std::vector<uint32_t>;

inline void join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) into[i] = into[i] < from[i] ? from[i] : into[i];
}

struct Timeline {
  Clock clock;
  uint32_t own = 0;

  bool knows(uint32_t who, uint32_t time) const { return clock[who] >= time; }
  void release(Clock& into) {
    join(into, clock);
    ++clock[own];
  }
  void acquire(const Clock& from) { join(clock, from); }
};

class AccessRecord {
 public:
  void resize(uint32_t bytes);

  /// Each says what races, or null, and records the access.
  const char* read(uint32_t offset, uint32_t bytes, const Timeline& by);
  const char* write(uint32_t offset, uint32_t bytes, const Timeline& by);
  /// The multiplication's reading of 16 bytes, which finish_matrix_read() records.
  const char* matrix_read(uint32_t offset, const Timeline& by) const;
  void finish_matrix_read(uint32_t begin, uint32_t end, const Timeline& by);
  /// A bulk copy that the warp starts: what comes before must be known to it.
  const char* copy_starts(uint32_t offset, uint32_t bytes, const Timeline& by) const;
  void copy_lands(uint32_t offset, uint32_t bytes, uint32_t copies, uint32_t time);

 private:
  /// Who, and when; 0 is nobody.
  struct Mark {
    uint32_t who : 8;
    uint32_t time : 24;
  };
  static bool unknown(Mark mark, const Timeline& by) {
    return mark.time != 0 && mark.who != by.own && !by.knows(mark.who, mark.time);
  }
  const char* unordered_matrix_read(uint32_t offset, uint32_t bytes, const Timeline& by) const;

  /// What a warpgroup's multiplications read: it is over when one of its warps has waited.
  struct MatrixRead {
    uint32_t begin, end, first_warp;
    std::array<uint32_t, 4> times;
  };
  std::vector<Mark> wrote_, read_;
  std::vector<MatrixRead> matrix_reads_;
};

}  // namespace coda::ptx
