// Which of the host's memory is the device's: allocations, and which of their bytes have been written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace coda::ptx {

class GlobalMemory {
 public:
  void add(uint64_t address, size_t bytes);
  bool remove(uint64_t address);
  void written(uint64_t address, size_t bytes);

  /// Each gives what is wrong, or an empty text. A kernel may write values that are undefined, and read them again as
  /// long as nothing comes of it.
  std::string check_read(uint64_t address, size_t bytes, bool& defined);
  std::string check_write(uint64_t address, size_t bytes, bool defined);  ///< and marks it written
  bool all_defined(uint64_t address, size_t bytes);  ///< no undefined value was written; perhaps none at all

 private:
  struct Allocation {
    uint64_t begin = 0, end = 0;
    std::vector<uint8_t> written;  ///< of each byte: not, with a value, with an undefined one
  };
  Allocation* find(uint64_t address, size_t bytes);
  std::string outside(uint64_t address, size_t bytes) const;

  std::map<uint64_t, Allocation> allocations_;
  Allocation* last_ = nullptr;
};

}  // namespace coda::ptx
