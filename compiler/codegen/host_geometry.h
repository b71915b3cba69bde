// The function that tells the runtime the numbers of a launch: operands, regions and their segments, from the argument
// words.
#pragma once

#include "compiler/codegen/host_function.h"
#include "runtime/host_abi.h"

namespace coda {

class HostGeometryWriter : public HostFunction {
 public:
  HostGeometryWriter(HostModule& module, const std::string& name);
  void emit();

 private:
  void put(size_t offset, llvm::Value* value);
  void put_operand(size_t offset, const GemmOperand& operand);
};

}  // namespace coda
