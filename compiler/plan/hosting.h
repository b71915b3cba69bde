// Who computes what: one pass in topological order gives every wide value the kernel whose epilogue can hold it, every
// light value the moment from which it is known, and opens row-wise kernels for what has to wait for a statistic of its
// own kernel. Not part of the public surface of compiler/plan.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/epilogue/law.h"
#include "compiler/plan/operand_types.h"
#include "compiler/plan/plan.h"
#include "compiler/rewrite/algebra.h"

namespace coda {

struct HostKernel {
  KernelKind kind = KernelKind::Gemm;
  NodeId accumulator = kNoNode;
  std::vector<NodeId> operands;   // of the accumulator: activation side, weight side
  std::vector<NodeId> hosts;      // wide values stored and statistics taken here
  std::vector<NamedDim> space;    // RowWise
  std::vector<NamedDim> columns;  // RowWise: what its whole-row statistics run over
  std::vector<NodeId> waits;      // RowWise: statistics its values wait for
};

struct BlockValues {
  std::vector<std::pair<int, NodeId>> outputs;  // (param, value)
  std::vector<NodeId> roots() const;
};

/// Where a factor that has only summed dimensions goes: to the weights (true) or to the activations.
using FoldChoice = std::function<bool(NodeId gemm)>;

class Hosting {
 public:
  /// `late_params` arrive after the forward: gradients that come in.
  Hosting(Algebra& algebra, const Program& block, const BlockValues& values, FoldChoice fold,
          std::set<int> late_params = {});
  /// False if some contraction has more than two operands; `failure` says which.
  bool run();

  std::vector<HostKernel> kernels;
  std::map<NodeId, int> home;      // wide values; -1: computed wherever it is used
  std::map<NodeId, double> known;  // light values: the kernel after which (k), or within which (k - 1/2), it is known
  std::set<NodeId> stored;
  std::set<NodeId> elastic;         // casts that are nothing but how a value is kept
  std::set<NodeId> light_operands;  // computed, of GEMMs: kept by the kernel after which they are known
  /// Operands that are several dimensions of what is stored as one: no tile of the product that makes it holds those.
  std::map<NodeId, NodeId> flattened;
  std::set<NodeId> copied;  // pieces of parameters that have a pass of their own
  std::string failure;
  NodeId failed = kNoNode;  // where

  /// A reduction that is no GEMM: its body is a value of some kernel.
  bool is_statistic(NodeId node) const;
  /// A parameter, or a piece of one as it is.
  bool is_source(NodeId node) const;
  double known_after(NodeId node) const;
  const BlockValues& values() const { return values_; }
  /// A statistic that another kernel than `k` takes.
  bool taken_elsewhere(NodeId node, int k) const;
  /// The types in which a GEMM's operands are multiplied; none for those of two computed ones.
  OperandTypes types_of(const std::vector<NodeId>& operands) const;
  /// What of an operand is stored.
  NodeId kept_as(NodeId operand) const {
    const auto it = flattened.find(operand);
    return it == flattened.end() ? operand : it->second;
  }
  /// Light values that `node`, computed in one place, needs.
  std::vector<NodeId> light_below(NodeId node) const;

 private:
  void visit(NodeId node);
  void place_all(std::vector<NodeId> nodes);
  bool needs_pass(NodeId node);
  bool reduces_wide(NodeId node) const;
  std::set<NodeId> reads(NodeId node) const;
  int epilogue_beside(NodeId node, double need) const;
  void place(NodeId node);
  void place_gemm(NodeId node);
  void place_statistic(NodeId node);
  void place_row_wise(NodeId node);
  void place_after(NodeId node, int before);
  void operand(NodeId node);
  int arrival(const Node& input);
  std::vector<NamedDim> batch_of(const Node& gemm) const;
  std::optional<std::vector<NodeId>> sides(NodeId gemm);
  void convert_sources(std::vector<NodeId>& operands);
  NodeId unflattened(NodeId side);
  void copy_cut(NodeId side, const std::vector<NamedDim>& over);
  bool mixes_sides(const Node& put, const HostKernel& kernel) const;
  bool waits_for(NodeId node, int host) const;
  bool cuts_batch(const std::vector<NamedDim>& over, const HostKernel& kernel) const;
  std::set<int> homes_below(NodeId node) const;
  NodeId statistic_body(const Node& node);
  bool complete_in_tile(const std::vector<NamedDim>& over) const;
  bool complete_in_row(const Node& statistic, NodeId body, HostKernel& kernel) const;
  bool placed(NodeId node) const { return home.contains(node) || known.contains(node); }

  Algebra& algebra_;
  const Program& block_;
  const BlockValues& values_;
  FoldChoice fold_;
  std::set<int> late_params_;
  int external_ = -1;  // the kernel that stands for their arrival
  std::set<std::string> tile_dims_;
  std::vector<NamedDim> row_dims_;  // rows of the block's GEMMs
  std::map<NodeId, int> taken_in_;  // statistics
  std::set<NodeId> whole_after_;    // of these, wide ones that are whole only after their kernel
  std::set<NodeId> written_casts_;  // the program's own
};

}  // namespace coda
