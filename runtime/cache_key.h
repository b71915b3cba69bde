// The identity of something compiled: named fields, each with its length, so that no two lists of fields look alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/format/hash.h"

namespace coda {

class CacheKey {
 public:
  CacheKey& field(std::string_view name, std::string_view value) {
    append(name);
    append(value);
    return *this;
  }
  CacheKey& field(std::string_view name, std::span<const uint8_t> value) {
    return field(name, std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
  }

  const std::string& bytes() const { return bytes_; }
  /// A file name; the entry holds the whole key, so equal names of different keys do no harm.
  std::string name() const {
    return hash_bytes({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}).hex();
  }

 private:
  void append(std::string_view text) {
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(uint64_t{text.size()} >> shift & 0xff);
    bytes_ += text;
  }
  std::string bytes_;
};

}  // namespace coda
