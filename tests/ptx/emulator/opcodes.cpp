#include "tests/ptx/emulator/opcodes.h"

#include <unordered_map>

namespace coda::ptx {
namespace {

struct Tables {
  std::unordered_map<std::string_view, const Opcode*> opcodes;
  std::vector<OpcodeFamily> families;

  Tables() {
    for (const auto& table : {arithmetic_opcodes(), logic_opcodes(), compare_opcodes(), special_function_opcodes(),
                              convert_opcodes(), move_opcodes(), memory_opcodes(), atomic_opcodes(), control_opcodes(),
                              barrier_opcodes(), matrix_opcodes(), copy_opcodes()}) {
      for (const Opcode& opcode : table.opcodes) opcodes.emplace(opcode.name, &opcode);
      families.insert(families.end(), table.families.begin(), table.families.end());
    }
  }
};

int bytes_of_letter(char letter) {
  switch (letter) {
    case 'h':
      return 2;
    case 'w':
      return 4;
    case 'd':
      return 8;
    default:
      return 0;
  }
}

}  // namespace

void decode_opcode(Decoder& decoder, const Statement& statement, Instruction& in) {
  static const Tables tables;
  if (const auto it = tables.opcodes.find(statement.name); it != tables.opcodes.end()) {
    const Opcode& opcode = *it->second;
    if (statement.arguments.size() != opcode.operands.size()) decoder.fail("it has another number of operands");
    for (size_t i = 0; i < opcode.operands.size(); ++i) {
      in.at[i] = decoder.value(statement.arguments[i], bytes_of_letter(opcode.operands[i]));
    }
    in.run = opcode.run;
    return;
  }
  for (const OpcodeFamily& family : tables.families) {
    if (statement.name.starts_with(family.prefix)) return family.decode(decoder, statement, in);
  }
  decoder.fail("the emulator does not know this instruction");
}

}  // namespace coda::ptx
