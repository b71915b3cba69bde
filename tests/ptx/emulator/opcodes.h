// The table of opcodes. Each family of instructions has a file opcodes_*.cpp that gives its rows.
#pragma once

#include <span>
#include <string_view>

#include "tests/ptx/emulator/code.h"
#include "tests/ptx/emulator/decoder.h"
#include "tests/ptx/emulator/syntax.h"

namespace coda::ptx {

/// An opcode in full. `operands` has a letter for each: h, w, d of 16, 32, 64 bits, p a predicate.
struct Opcode {
  std::string_view name, operands;
  Handler run;
};

/// Opcodes that begin alike and read their modifiers and operands themselves.
struct OpcodeFamily {
  std::string_view prefix;
  void (*decode)(Decoder&, const Statement&, Instruction&);
};

struct OpcodeTable {
  std::span<const Opcode> opcodes;
  std::span<const OpcodeFamily> families;
};

OpcodeTable arithmetic_opcodes();
OpcodeTable logic_opcodes();
OpcodeTable compare_opcodes();
OpcodeTable special_function_opcodes();
OpcodeTable convert_opcodes();
OpcodeTable move_opcodes();
OpcodeTable memory_opcodes();
OpcodeTable atomic_opcodes();
OpcodeTable control_opcodes();
OpcodeTable barrier_opcodes();
OpcodeTable matrix_opcodes();
OpcodeTable copy_opcodes();

/// Decodes the statement's opcode and operands into `in`. Throws Fault for what no row has.
void decode_opcode(Decoder& decoder, const Statement& statement, Instruction& in);

}  // namespace coda::ptx
