// How the library reports failure: a code for programs, a message for people. Nothing here throws.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace coda {

enum class Code : uint8_t {
  Ok,
  InvalidArgument,  ///< what the caller gave does not fit; the message says what was given and what was expected
  NotFound,         ///< a file, a device, a driver or a name that is not there
  Unsupported,      ///< legal, but this device or build can't do it
  Corrupt,          ///< stored bytes that are not what was written
  Io,               ///< the operating system refused
  Driver,           ///< the CUDA driver or the assembler refused
  OutOfMemory,
};

/// Success, or a code and a message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::Ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The same failure with `context` and ": " before its message; success stays success.
  Status with_context(const std::string& context) const {
    return ok() ? *this : Status(code_, context + ": " + message_);
  }

 private:
  Code code_ = Code::Ok;
  std::string message_;
};

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Expected(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) std::abort();                       // success must carry a value
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace coda
