// The printer's inside: one function for each kind of node. Only compiler/print includes this.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/custom_reduction.h"
#include "compiler/print/names.h"
#include "compiler/print/piece.h"

namespace coda {

class Printer {
 public:
  /// `stem`: what values without a name are called.
  explicit Printer(const Program& program, std::string stem = "t");
  std::string run();

 private:
  // Lines and names: printer.cpp.
  void count_uses();
  bool is_named(NodeId id) const;
  Piece expression(NodeId id);
  Piece named(NodeId id, Piece piece);
  Piece let(const std::string& wanted, Piece piece);
  void outputs();
  std::string signature();
  std::string type_text(const Param& param);
  std::string facts_text() const;

  // Values: values.cpp.
  Piece make(NodeId id);
  Piece constant(const Node& node, bool as_real = false) const;
  static std::string number(double value);
  Piece extent(const Dim& extent);
  Piece apply(const Node& node);
  Piece sum(const std::vector<NodeId>& args, const std::vector<double>& coefficients);
  Piece product(const std::vector<NodeId>& factors);
  std::optional<Piece> mean(const std::vector<NodeId>& factors);
  Piece contract(NodeId id, const Node& node);
  std::optional<Piece> matmul(const Node& node, const std::vector<NamedDim>& wanted);
  Piece reduced(const std::string& name, const Piece& body, const std::vector<NamedDim>& over);

  // Reductions of the program's own: combines.cpp.
  Piece custom(const Node& node);
  static std::string combine_function(const std::string& name, const CombineProgram& combine);

  // Index maps: maps.cpp.
  Piece view(NodeId id, const Node& node);
  Piece put(const Node& node);
  Piece gathered(Piece x, const NamedDim& dim, const Piece& index);
  Piece coordinate(const AffineMap& map);
  Piece one_hot(const Piece& x, const Node& node);
  std::optional<Piece> cut(NodeId id, const Node& node);
  Piece slice(const Piece& x, const NamedDim& dim, const Dim& offset, const NamedDim& part);
  std::optional<Piece> region(const Node& node);
  Piece region_of(const Node& node, const Dim& begin, const Dim& size);
  Piece half(const Piece& x, const NamedDim& dim, bool pairs, bool second, const NamedDim& part);
  std::optional<Piece> grouped(Piece x, const NamedDim& dim, const AffineMap& map);
  std::optional<Piece> flattened(Piece x, const NamedDim& dim, const AffineMap& map);
  std::optional<Piece> joined(const std::vector<NodeId>& args, const std::vector<double>& coefficients);
  Piece renamed(Piece x, const std::string& from, const NamedDim& to);
  Piece word(const std::string& name, const Piece& x, const NamedDim& dim, const std::string& arguments);

  const Program& program_;
  const Graph& graph_;
  PrintNames names_;
  std::string stem_;
  std::set<NodeId> reachable_;
  std::map<NodeId, int> uses_;
  std::map<NodeId, int> output_of_;  // values of tensors that are written only
  std::map<NodeId, Piece> done_;
  std::map<std::string, Piece> parts_;  // of values that were taken apart already, by what they are parts of
  std::set<int> assigned_;
  std::map<std::string, std::string> combines_;            // functions of custom reductions, by their definitions
  std::map<std::string, std::vector<std::string>> words_;  // names of all words of a reduction
  std::string functions_;
  std::vector<std::string> lines_;
};

/// The map's dimensions as digits of one number without gaps, the outer one first; nothing if they are not.
std::optional<std::vector<NamedDim>> digits_of(const AffineMap& map);

}  // namespace coda
