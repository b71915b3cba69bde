// From statements to a Kernel: names to registers, labels to places in the code. What opcodes mean is in opcodes.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/ptx/emulator/code.h"
#include "tests/ptx/emulator/syntax.h"

namespace coda::ptx {

class Decoder {
 public:
  /// `shared` are the names of the module's shared memory of a size known at launch.
  Decoder(const EntryText& entry, std::vector<std::string> shared);
  Kernel decode();

  // For the rows of the opcode table.
  [[noreturn]] void fail(const std::string& what) const;
  /// A register, constant or symbol of that size; of 0 bytes a predicate.
  Operand value(const Argument& argument, int bytes);
  /// A register of any size, which it says; a constant of `bytes`.
  RegisterPlace any_value(const Argument& argument, int bytes);
  /// Base register and offset of [base+offset].
  void address(const Argument& argument, Instruction& in);
  /// Makes the instruction's list.
  void list(const std::vector<Argument>& arguments, int bytes, Instruction& in);
  /// The integer that an operand must be.
  int64_t integer(const Argument& argument) const;
  void branch(const Argument& label);
  Kernel& kernel() { return kernel_; }

 private:
  struct Scope {
    std::map<std::string, RegisterPlace> registers;
    std::map<std::string, uint32_t> labels;
    std::vector<std::pair<size_t, std::string>> branches;  ///< instruction, label
  };

  void directive(const Statement& statement);
  void instruction(const Statement& statement);
  void close_scope();
  RegisterPlace make_register(int bytes, const std::string& name);
  RegisterPlace constant(uint64_t value, int bytes);
  RegisterPlace special(const std::string& name, int bytes, uint64_t addend);
  const RegisterPlace* find(const std::string& name) const;

  const EntryText& entry_;
  std::vector<std::string> shared_;
  std::map<std::string, uint64_t> addresses_;  ///< of parameters and local memory
  std::map<std::string, uint64_t> static_shared_;
  Kernel kernel_;
  std::vector<Scope> scopes_;
  std::map<std::pair<int, uint64_t>, RegisterPlace> constants_;
  std::map<std::pair<std::string, std::pair<int, uint64_t>>, RegisterPlace> specials_;
  std::map<std::string, uint32_t> opcode_numbers_;
  const Statement* statement_ = nullptr;
};

/// Throws Fault.
Module decode_module(std::string_view text);

}  // namespace coda::ptx
