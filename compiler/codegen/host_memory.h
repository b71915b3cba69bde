// Reads and writes of arrays at coordinates: one element, a vector of neighbours, or lanes gathered from wherever they
// lie, as the coordinate's dependence on the current lane variable demands.
#pragma once

#include <vector>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/host_emitter.h"

namespace coda {

/// One axis of an array.
struct ArrayAxis {
  Coord coordinate;
  llvm::Value* stride = nullptr;  ///< i64, in elements; null: 1
  bool unit_in_vectors = false;   ///< lanes may take the stride for 1
};

class HostMemory {
 public:
  HostMemory(HostEmitter& emitter, EpilogueEvaluator& evaluator, llvm::Module& module);

  /// The variables of a vector loop: `lane` has the values first, first + 1, ... in its lanes.
  void add_lanes(VarId lane, VarId first, unsigned count);
  bool is_lane(VarId variable) const { return lanes_.count(variable) > 0; }

  /// Loads what `type` says (a storage type) from base[axes]. Where the predicate is false the value is unspecified.
  llvm::Value* load(llvm::Value* base, llvm::Type* type, const std::vector<ArrayAxis>& axes, llvm::Value* predicate);
  /// The same at the end of `scope`, for memory that is written too.
  llvm::Value* load_at(HostEmitter::Scope* scope, llvm::Value* base, llvm::Type* type,
                       const std::vector<ArrayAxis>& axes);
  /// Stores at the end of `scope`.
  void store(HostEmitter::Scope* scope, llvm::Value* base, const std::vector<ArrayAxis>& axes, llvm::Value* value);
  /// Was an axis of stride 1 in vectors relied upon since the last call?
  bool take_unit_use();

 private:
  struct Lane {
    VarId first;
    unsigned count;
  };
  /// Where the elements are: a pointer, and how lanes step from it.
  struct Place {
    llvm::Value* offset = nullptr;  ///< i64, of lane 0; or a vector of them if irregular
    unsigned lanes = 1;
    enum class Step : uint8_t { None, Unit, Any } step = Step::None;
    llvm::Value* stride = nullptr;  ///< Any and not irregular: i64
    bool irregular = false;
  };
  Place locate(const std::vector<ArrayAxis>& axes);
  llvm::Value* pointers(llvm::Value* base, llvm::Type* type, const Place& place);
  llvm::Value* guarded(llvm::Value* pointer, llvm::Value* predicate);
  llvm::Value* any_lane(llvm::Value* predicate);

  HostEmitter& emitter_;
  EpilogueEvaluator& evaluator_;
  llvm::Module& module_;
  llvm::GlobalVariable* zeros_ = nullptr;
  llvm::DenseMap<VarId, Lane> lanes_;
  bool unit_used_ = false;
};

}  // namespace coda
