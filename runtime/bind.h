// Binding arguments to an image: solves the symbols from the shapes, checks everything that can be checked without
// running, and fills the argument words. Shared by the host and the GPU; knows neither.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coda/status.h"
#include "runtime/format/dim_text.h"
#include "runtime/format/kernel_image.h"
#include "runtime/layout.h"
#include "runtime/tensor.h"

namespace coda {

/// "argument 'x': " and what is wrong with it.
Status argument_error(const std::string& name, const std::string& text);

/// One argument, in the order of the image's params: a tensor, a scalar's value, or nothing (a scalar's default).
/// Integer scalars are exact as int64_t; a double given to an integer scalar must be one.
using Argument = std::variant<std::monostate, TensorView, double, int64_t>;

/// What one launch needs. Reused from call to call, it stops allocating once it has grown.
struct Binding {
  std::vector<int64_t> symbols;          ///< values, by the index of LaunchPlan::symbols()
  std::vector<int64_t> words;            ///< the argument block; Workspace and TensorMaps words are filled in by others
  std::vector<int64_t> workspace_bytes;  ///< 0: none needed
  int64_t rows = 0, depth = 0;
  std::vector<int64_t> region_columns;
  uint64_t met_by_form = 0;  ///< the image's conditions that shapes and strides meet; addresses may yet break them
  int64_t row_tiles = 0, tiles = 0;  ///< of the image's tile shape; row_tiles is a multiple of the cluster
  bool has_output = false;           ///< some output has elements; otherwise there is nothing to launch

  /// Where a symbol's value came from, for messages: an axis of a param; param -1: a fact, or given beforehand.
  struct Source {
    int param = -1, axis = -1;
  };
  std::vector<Source> sources;       ///< by symbol
  std::vector<AddressRange> ranges;  ///< by param, empty ones for scalars
};

/// An image made ready for many launches; immutable, so safe to share between threads.
class LaunchPlan {
 public:
  /// `given` are values for symbols besides the image's own `bound`. Fails for a symbol that nothing determines.
  static Expected<LaunchPlan> create(std::shared_ptr<const KernelImage> image, const Bindings& given = {});

  /// For a step of a plan, whose symbols' values come from the plan: fill() only.
  static Expected<LaunchPlan> create_step(std::shared_ptr<const KernelImage> image);

  const KernelImage& image() const { return *image_; }
  const std::vector<std::string>& symbols() const { return symbols_; }
  /// Whether the code is told the stride of the parameter's last axis, so that it may be any.
  bool takes_any_last_stride(size_t param) const { return any_last_stride_[param]; }

  /// Fills `binding` from the arguments, which must be on `device`. Allocates only on failure and while growing.
  Status bind(std::span<const Argument> arguments, int device, Binding& binding) const;

  /// As bind(), where since the last of this binding that succeeded nothing has changed but addresses and numbers.
  Status rebind(std::span<const Argument> arguments, Binding& binding) const;

  /// What bind() does after its checks, for arguments that are known to fit and a binding that holds the symbols.
  Status fill(std::span<const Argument> arguments, Binding& binding) const;
  /// The same after fill(), where nothing has changed but addresses and numbers.
  Status refill(std::span<const Argument> arguments, Binding& binding) const;

  /// Fills the words of kind Workspace.
  void set_workspaces(std::span<void* const> addresses, Binding& binding) const;
  /// Fills the words of kind TensorMaps.
  void set_tensor_map_bits(uint64_t bits, Binding& binding) const;

  /// The dimensions of a tensor map, as programs over Binding::symbols.
  struct MapDims {
    DimProgram offset;
    std::vector<DimProgram> extents;
  };
  const MapDims& map_dims(size_t tensor_map) const { return map_dims_[tensor_map]; }

 private:
  /// An equation slope * symbol + rest = given, with `given` an entry of a shape or, for a fact, 0.
  struct Candidate {
    Binding::Source source;
    DimProgram slope, rest;
  };
  struct Solve {
    int symbol = -1;
    std::vector<Candidate> candidates;  ///< the first whose slope isn't 0 is taken
  };
  struct Fact {
    DimProgram left, right;
    std::optional<DimProgram> modulus;
  };
  struct Workspace {
    DimProgram bytes, rows, columns;
  };

  Status compile(const Bindings& given);
  Status order_solves();
  std::vector<Candidate> candidates_for(int symbol, const std::vector<bool>& known) const;
  Status undetermined(const std::vector<bool>& known) const;

  Status check_tensor(int param, const Argument& argument, int device, Binding& binding) const;
  Status check_address(int param, const TensorView& view) const;
  Status check_layout(int param, const TensorView& view) const;
  Status solve_symbols(std::span<const Argument> arguments, Binding& binding) const;
  Status check_shapes(std::span<const Argument> arguments, const Binding& binding) const;
  Status check_facts(const Binding& binding) const;
  Status check_overlap(std::span<const Argument> arguments, const Binding& binding) const;
  Status fill_words(std::span<const Argument> arguments, Binding& binding) const;
  Status fill_geometry(std::span<const Argument> arguments, Binding& binding) const;
  uint64_t met_by_form(std::span<const Argument> arguments, const Binding& binding) const;
  int64_t condition_bits(std::span<const Argument> arguments, const Binding& binding) const;
  Status scalar_word(int param, const Argument& argument, int64_t& word) const;

  std::string symbol_text(int symbol, const Binding& binding) const;
  std::string values_text(const Dim& dim, const Binding& binding) const;

  std::shared_ptr<const KernelImage> image_;
  std::vector<std::string> symbols_;
  std::vector<std::optional<int64_t>> bound_;  ///< by symbol
  std::vector<Solve> solves_;                  ///< in an order in which each one's needs are known
  std::vector<std::vector<DimProgram>> extents_;
  std::vector<Fact> facts_;
  std::vector<DimProgram> word_dims_;  ///< by word; empty unless Extent
  std::vector<std::vector<DimProgram>> condition_extents_;
  std::vector<MapDims> map_dims_;
  std::vector<Workspace> workspaces_;
  std::vector<bool> any_last_stride_;  ///< by param
  DimProgram rows_, depth_;
  std::vector<DimProgram> region_columns_;
};

}  // namespace coda
