// PTX, decoded: every operand is a place in a warp's registers, every instruction knows the function that runs it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace coda::ptx {

class Warp;
struct Instruction;

constexpr int kLanes = 32;
constexpr uint32_t kAllLanes = ~0u;

/// A register: `offset` bytes into the warp's registers lie 32 values, one a lane (of a predicate: one mask).
/// Constants, symbols and special registers are registers too.
struct Operand {
  uint32_t offset = 0;
  uint32_t id = 0;  ///< index of its definedness mask
};
constexpr uint32_t kNoRegister = ~0u;  ///< id of the sink "_"

enum class Outcome { Next, Jumped };
/// Runs an instruction for the lanes in `mask`. Jumped: the warp's lanes have been given their places by it.
using Handler = Outcome (*)(Warp&, const Instruction&, uint32_t mask);

struct Instruction {
  Handler run = nullptr;
  Operand guard;
  bool guarded = false, negated = false;
  uint8_t bytes = 0;                 ///< of a value in memory
  uint8_t address_bytes = 0;         ///< 4 or 8: of the register of an address
  uint8_t space = 0;                 ///< Space, of memory instructions
  uint8_t variant = 0;               ///< what the opcode's family makes of its modifiers
  uint32_t target = 0;               ///< of a branch
  std::array<Operand, 5> at{};       ///< operands in the text's order; an address is its base register
  int64_t offset = 0;                ///< added to the address
  uint32_t list = 0, list_size = 0;  ///< operands in braces, in Kernel::lists
  uint32_t detail = 0;               ///< in Kernel's table of that family, e.g. matrix shapes
  int line = 0;
  uint32_t opcode = 0;  ///< its text, in Kernel::opcodes
};

enum class Space : uint8_t { Generic, Global, Shared, SharedCluster, Param, Local };

struct RegisterPlace {
  Operand operand;
  int bytes = 0;  ///< 0: a predicate
};

/// Registers whose value is given, by the text or by the place of the thread.
enum class Special : uint8_t {
  TidX,
  NtidX,
  CtaidX,
  NctaidX,
  LaneId,
  WarpId,
  Smid,
  Nsmid,
  ClusterCtaRank,
  ClusterNctaRank,
  ClusteridX,
  NclusteridX,
  Zero,  ///< y and z of an index
  One,   ///< y and z of an extent
  SharedAddress
};
struct SpecialPlace {
  Special what;
  RegisterPlace place;
  uint64_t addend = 0;
};
struct Constant {
  RegisterPlace place;
  uint64_t value = 0;
};

struct MatrixShape;

struct Parameter {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameter_bytes = 0;
  unsigned threads = 0;  ///< .maxntid, 0 if none is said
  unsigned cluster = 1;
  uint32_t static_shared = 0, local_bytes = 0;
  std::vector<Instruction> code;
  std::vector<Operand> lists;
  std::vector<MatrixShape> shapes;
  std::vector<std::string> opcodes;
  std::vector<Constant> constants;
  std::vector<SpecialPlace> specials;
  uint32_t register_bytes = 0, registers = 0;
  std::vector<std::string> register_names;  ///< by id
  std::vector<uint8_t> register_bytes_of;   ///< by id; 0: a predicate
};

struct Module {
  std::map<std::string, Kernel> kernels;
};

/// A multiplication of a warpgroup: 64 x columns x depth.
struct MatrixShape {
  enum class Element : uint8_t { BF16, F16, TF32, E4M3, E5M2, S8, U8 };
  int columns = 0, depth = 0;
  Element a = Element::BF16, b = Element::BF16;
  bool integer = false;
  int negate_a = 1, negate_b = 1;  ///< -1 negates
  bool a_other_major = false, b_other_major = false;
  uint32_t a_list = 0, a_registers = 0;  ///< A in registers, if there are any
  int element_bytes() const { return a == Element::TF32 ? 4 : a == Element::BF16 || a == Element::F16 ? 2 : 1; }
};

}  // namespace coda::ptx
