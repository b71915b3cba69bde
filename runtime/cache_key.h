// The identity of something compiled: named fields, each with its length, so that no two lists of fields look alike.
#pragma once

#include <algorithm>
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
  std::string name() const { return name_of(bytes_); }
  static std::string name_of(const std::string& bytes) {
    return hash_bytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}).hex();
  }
  /// The value of a field of `bytes`, those of some key; empty if there is none.
  static std::string_view find(std::string_view bytes, std::string_view field) {
    const auto take = [&bytes] {
      uint64_t size = 0;
      for (size_t i = 0; i < 8 && i < bytes.size(); ++i) size |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
      bytes.remove_prefix(std::min<size_t>(8, bytes.size()));
      const std::string_view text = bytes.substr(0, size);
      bytes.remove_prefix(text.size());
      return text;
    };
    while (!bytes.empty()) {
      const std::string_view name = take(), value = take();
      if (name == field) return value;
    }
    return {};
  }

 private:
  void append(std::string_view text) {
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(uint64_t{text.size()} >> shift & 0xff);
    bytes_ += text;
  }
  std::string bytes_;
};

}  // namespace coda
