// Loads a relocatable x86-64 ELF object that needs nothing from outside: what the compiler emits for the host. No
// linker and no LLVM, so that an ahead-of-time artefact runs with the runtime alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "coda/status.h"

namespace coda {

class HostObject {
 public:
  static Expected<std::shared_ptr<const HostObject>> load(std::span<const uint8_t> bytes);
  ~HostObject();
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;

  /// The address of a global symbol, or null.
  void* find(const std::string& name) const;

 private:
  HostObject() = default;
  void* memory_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, void*> symbols_;

  friend class ObjectReader;
};

}  // namespace coda
