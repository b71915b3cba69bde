#include "tests/ptx/emulator/races.h"

namespace coda::ptx {
namespace {

constexpr uint32_t kUnit = 16, kWarpgroup = 4;
constexpr const char* kReadAfterWrite = "reads what another warp, or a copy, wrote, with no barrier between them";
constexpr const char* kWriteAfterWrite = "writes what another warp, or a copy, wrote, with no barrier between them";
constexpr const char* kWriteAfterRead = "writes what another warp read, with no barrier between them";

}  // namespace

void AccessRecord::resize(uint32_t bytes) {
  wrote_.assign(bytes, {0, 0});
  read_.assign(bytes, {0, 0});
}

const char* AccessRecord::read(uint32_t offset, uint32_t bytes, const Timeline& by) {
  const char* wrong = nullptr;
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    if (unknown(wrote_[i], by)) wrong = kReadAfterWrite;
    read_[i] = {by.own, by.clock[by.own]};
  }
  return wrong;
}

const char* AccessRecord::write(uint32_t offset, uint32_t bytes, const Timeline& by) {
  const char* wrong = copy_starts(offset, bytes, by);
  for (uint32_t i = offset; i < offset + bytes; ++i) wrote_[i] = {by.own, by.clock[by.own]};
  return wrong;
}

const char* AccessRecord::copy_starts(uint32_t offset, uint32_t bytes, const Timeline& by) const {
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    if (unknown(wrote_[i], by)) return kWriteAfterWrite;
    if (unknown(read_[i], by)) return kWriteAfterRead;
  }
  return unordered_matrix_read(offset, bytes, by);
}

void AccessRecord::copy_lands(uint32_t offset, uint32_t bytes, uint32_t copies, uint32_t time) {
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    wrote_[i] = {copies, time};
    read_[i] = {0, 0};
  }
}

const char* AccessRecord::matrix_read(uint32_t offset, const Timeline& by) const {
  for (uint32_t i = offset; i < offset + kUnit; i += 4) {
    if (unknown(wrote_[i], by)) return kReadAfterWrite;
  }
  return nullptr;
}

void AccessRecord::finish_matrix_read(uint32_t begin, uint32_t end, const Timeline& by) {
  const uint32_t first = by.own / kWarpgroup * kWarpgroup;
  MatrixRead* read = nullptr;
  for (MatrixRead& known : matrix_reads_) {
    if (known.begin == begin && known.end == end && known.first_warp == first) read = &known;
  }
  if (!read) read = &matrix_reads_.emplace_back(MatrixRead{begin, end, first, {}});
  read->times[by.own % kWarpgroup] = by.clock[by.own];
}

const char* AccessRecord::unordered_matrix_read(uint32_t offset, uint32_t bytes, const Timeline& by) const {
  for (const MatrixRead& read : matrix_reads_) {
    if (read.end <= offset || offset + bytes <= read.begin) continue;
    bool known = by.own / kWarpgroup * kWarpgroup == read.first_warp;
    for (uint32_t i = 0; i < kWarpgroup; ++i) {
      known = known || (read.times[i] != 0 && by.knows(read.first_warp + i, read.times[i]));
    }
    if (!known) return "writes what a wgmma of another warpgroup read, with no barrier between them";
  }
  return nullptr;
}

}  // namespace coda::ptx
