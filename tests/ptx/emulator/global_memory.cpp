#include "tests/ptx/emulator/global_memory.h"

#include <algorithm>
#include <cstring>

namespace coda::ptx {
namespace {

constexpr uint8_t kNothing = 0, kValue = 1, kUndefined = 2;

}  // namespace

void GlobalMemory::add(uint64_t address, size_t bytes) {
  allocations_[address] = {address, address + bytes, std::vector<uint8_t>(bytes)};
  last_ = nullptr;
}

bool GlobalMemory::remove(uint64_t address) {
  last_ = nullptr;
  return allocations_.erase(address) == 1;
}

GlobalMemory::Allocation* GlobalMemory::find(uint64_t address, size_t bytes) {
  const auto has = [&](const Allocation& a) { return address >= a.begin && address + bytes <= a.end; };
  if (last_ && has(*last_)) return last_;
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  --it;
  if (!has(it->second)) return nullptr;
  return last_ = &it->second;
}

std::string GlobalMemory::outside(uint64_t address, size_t bytes) const {
  std::string text = std::to_string(bytes) + " bytes that are in no allocation";
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return text;
  --it;
  return text + ": " + std::to_string(address - it->first) + " bytes after the start of one of " +
         std::to_string(it->second.end - it->second.begin);
}

void GlobalMemory::written(uint64_t address, size_t bytes) {
  if (Allocation* a = find(address, bytes); a && bytes > 0) std::memset(&a->written[address - a->begin], kValue, bytes);
}

std::string GlobalMemory::check_read(uint64_t address, size_t bytes, bool& defined) {
  const Allocation* a = find(address, bytes);
  if (!a) return "reads " + outside(address, bytes);
  defined = true;
  for (const uint8_t *state = &a->written[address - a->begin], *end = state + bytes; state != end; ++state) {
    if (*state == kNothing) return "reads memory that was never written";
    defined = defined && *state == kValue;
  }
  return "";
}

std::string GlobalMemory::check_write(uint64_t address, size_t bytes, bool defined) {
  Allocation* a = find(address, bytes);
  if (!a) return "writes " + outside(address, bytes);
  std::memset(&a->written[address - a->begin], defined ? kValue : kUndefined, bytes);
  return "";
}

bool GlobalMemory::all_defined(uint64_t address, size_t bytes) {
  const Allocation* a = find(address, bytes);
  if (!a || bytes == 0) return true;
  const auto begin = a->written.begin() + static_cast<std::ptrdiff_t>(address - a->begin);
  return std::find(begin, begin + static_cast<std::ptrdiff_t>(bytes), kUndefined) ==
         begin + static_cast<std::ptrdiff_t>(bytes);
}

}  // namespace coda::ptx
