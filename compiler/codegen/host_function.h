// What the functions of a host image have in common: the argument block, variables and loops, loads of parameters, and
// reductions inside a tile.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/host_emitter.h"
#include "compiler/codegen/host_memory.h"
#include "compiler/codegen/host_state.h"
#include "runtime/format/kernel_image.h"

namespace coda {

/// Where things are in the launches of one image; made before any code.
struct HostLayout {
  int tile_rows = 0;
  std::vector<int> widths;                ///< by region: columns of a tile
  std::vector<std::vector<int>> buffers;  ///< by statistic and part: its workspace
  Dim rows;                               ///< of the GEMM
};

/// State shared by the functions of one module.
struct HostModule {
  const EpilogueProgram& epilogue;
  const HostLayout& layout;
  llvm::Module& module;
  unsigned lanes;  ///< f32 in a vector
  KernelImage& image;

  int word(const WordSpec& wanted);
  int condition_bit(int param);  ///< of "its last axis has stride 1"
};

/// ceil(extent / tile), as a value.
Val tile_count(Emitter& emitter, Val extent, int64_t tile);

class HostFunction : public EvalHooks {
 public:
  /// `void name(ptr words, ...)`; the other arguments are pointers or i64 as `pointers` says.
  HostFunction(HostModule& module, const std::string& name, const std::vector<bool>& pointers);

  Val variable(VarId variable) override;
  Val extent(const Dim& value) override;
  Val scalar(int param) override;
  Val load(int param, std::span<const Coord> index, Val predicate) override;
  Val reduce_in_tile(const TileReduction& request) override;
  Val accumulator(const Coord& row, const Coord& column, Val predicate) override;
  Val statistic(const Statistic& statistic, const Env& env, Val predicate) override;

  /// Ends the function; the reason of a failure, or empty.
  std::string finish();

 protected:
  using Scope = HostEmitter::Scope;
  /// A loop body: the coordinate, the scope, and how many lanes it works on.
  using LaneBody = std::function<void(const Coord&, Scope*, unsigned)>;

  llvm::Value* argument(int index) { return function_->getArg(static_cast<unsigned>(index) + 1); }
  llvm::Value* word(const WordSpec& wanted);
  llvm::Value* pointer(int param);
  llvm::Value* workspace(int buffer);
  llvm::Value* number(int64_t value) { return emitter().builder().getInt64(static_cast<uint64_t>(value)); }
  Coord add_variable(llvm::Value* value, VarFacts facts);
  /// Vectors while a whole one is left (and strides allow), then single elements; begin <= end.
  void for_lanes(Scope* in, llvm::Value* begin, llvm::Value* end, const VarFacts& facts, const LaneBody& body);
  void for_each(Scope* in, llvm::Value* begin, llvm::Value* end, VarFacts facts,
                const std::function<void(const Coord&, Scope*)>& body);
  /// param[index] = value, rounded to the parameter's type.
  void store_element(Scope* scope, int param, const std::vector<AffineMap>& index, const Env& env, Val value,
                     NumClass num_class);
  std::vector<ArrayAxis> axes_of(int param, std::span<const Coord> index);
  void note_unit_use(int param);
  /// How many lanes the coordinates have, and the deepest scope they live in.
  unsigned lanes_in(const Env& env, Val predicate, Scope*& scope);

  HostEmitter& emitter() { return *emitter_; }
  EpilogueEvaluator& evaluator() { return *evaluator_; }

  HostModule& module_;
  llvm::Function* function_;
  llvm::IRBuilder<> builder_;
  CoordSpace space_;
  std::unique_ptr<HostEmitter> emitter_;
  std::unique_ptr<EpilogueEvaluator> evaluator_;
  std::unique_ptr<HostMemory> memory_;

 private:
  std::vector<llvm::Value*> values_;  ///< by variable; null for the evaluator's own
  std::map<int, llvm::Value*> words_, pointers_;
  std::set<int> unit_params_;
  llvm::Instruction* vector_mask_;  ///< stands for -lanes or 0 until it is known which strides are relied upon
};

}  // namespace coda
