// The statements of a PTX text, without any meaning of opcodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coda::ptx {

struct Argument {
  enum class Kind { Name, Integer, Float32, Float64, Address, List };
  Kind kind = Kind::Name;
  std::string name;  ///< of a register, symbol or label; of an address' base
  uint64_t bits = 0;
  int64_t offset = 0;          ///< of an address or a symbol
  std::vector<Argument> list;  ///< of a list; coordinates within an address
};

struct Statement {
  enum class Kind { Open, Close, Label, Directive, Instruction };
  Kind kind = Kind::Instruction;
  std::string name;   ///< opcode, label, or a directive's whole text
  std::string guard;  ///< register, or empty
  bool negated = false;
  std::vector<Argument> arguments;
  int line = 0;
};

/// A `.visible .entry`: its parameters and attributes as text, and its statements.
struct EntryText {
  std::string name;
  std::vector<std::string> parameters;
  std::string attributes;
  std::vector<Statement> body;
  int line = 0;
};

struct ModuleText {
  std::vector<std::string> declarations;  ///< outside of functions: ".extern .shared .align 1024 .b8 shared_memory[]"
  std::vector<EntryText> entries;
};

/// Throws Fault.
ModuleText read_syntax(std::string_view text);

/// The words of a directive, split at blanks, commas and brackets: ".reg .b32 %r<8>, t" is .reg .b32 %r < 8 > t.
std::vector<std::string> words_of(std::string_view text);

}  // namespace coda::ptx
