// Little-endian byte streams for stored structures. A structure is described once, by a function that visits its
// fields; a Writer and a Reader run the same description, so the two can't disagree.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/format/dim_text.h"

namespace coda {

static_assert(std::endian::native == std::endian::little, "stored files are little-endian");

class Writer {
 public:
  static constexpr bool kReading = false;

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void field(const T& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
  }
  template <class T>
  void enumeration(const T& value, T) {
    field(value);
  }
  void field(const std::string& text) {
    field(static_cast<uint64_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void field(const Dim& dim) { field(dim.text()); }
  template <class T, class F>
  void list(const std::vector<T>& items, F each) {
    field(static_cast<uint64_t>(items.size()));
    for (const T& item : items) each(*this, item);
  }
  void bytes(const std::vector<uint8_t>& data) {
    field(static_cast<uint64_t>(data.size()));
    bytes_.insert(bytes_.end(), data.begin(), data.end());
  }
  template <class T>
  void optional(const std::optional<T>& value) {
    field(value.has_value());
    if (value) field(*value);
  }
  void field(const Bindings& bindings) {
    field(static_cast<uint64_t>(bindings.size()));
    for (const auto& [name, value] : bindings) {
      field(name);
      field(value);
    }
  }

  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

/// After a malformed field, ok() is false and every further field is left as it was.
class Reader {
 public:
  static constexpr bool kReading = true;

  explicit Reader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  template <class T>
  requires std::is_arithmetic_v<T>
  void field(T& value) {
    if (!need(sizeof(T))) return;
    if constexpr (std::is_same_v<T, bool>) {
      ok_ = rest_[0] <= 1;
      value = rest_[0] == 1;
    } else {
      std::memcpy(&value, rest_.data(), sizeof(T));
    }
    rest_ = rest_.subspan(sizeof(T));
  }
  /// An enum whose largest value is `last`.
  template <class T>
  void enumeration(T& value, T last) {
    std::underlying_type_t<T> raw = 0;
    field(raw);
    ok_ = ok_ && raw <= static_cast<std::underlying_type_t<T>>(last);
    if (ok_) value = static_cast<T>(raw);
  }
  void field(std::string& text) {
    const uint64_t size = count(1);
    if (!ok_) return;
    text.assign(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
  }
  void field(Dim& dim) {
    std::string text;
    field(text);
    if (!ok_) return;
    auto parsed = parse_dim(text);
    ok_ = parsed.ok();
    if (ok_) dim = std::move(*parsed);
  }
  template <class T, class F>
  void list(std::vector<T>& items, F each) {
    const uint64_t size = count(1);  // every item takes a byte at least, so a false count can't make us allocate
    items.clear();
    for (uint64_t i = 0; i < size && ok_; ++i) each(*this, items.emplace_back());
  }
  void bytes(std::vector<uint8_t>& data) {
    const uint64_t size = count(1);
    if (!ok_) return;
    data.assign(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(size));
    rest_ = rest_.subspan(size);
  }
  template <class T>
  void optional(std::optional<T>& value) {
    bool present = false;
    field(present);
    value.reset();
    if (ok_ && present) field(value.emplace());
  }
  void field(Bindings& bindings) {
    const uint64_t size = count(1);
    for (uint64_t i = 0; i < size && ok_; ++i) {
      std::string name;
      int64_t value = 0;
      field(name);
      field(value);
      if (ok_) ok_ = bindings.emplace(std::move(name), value).second;
    }
  }

 private:
  bool need(uint64_t size) {
    ok_ = ok_ && size <= rest_.size();
    return ok_;
  }
  uint64_t count(uint64_t least_bytes_each) {
    uint64_t size = 0;
    field(size);
    return ok_ && need(size * least_bytes_each) ? size : 0;
  }

  std::span<const uint8_t> rest_;
  bool ok_ = true;
};

}  // namespace coda
