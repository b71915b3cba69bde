// The names of dimensions in one program: symbols, names that the program gives (`M as M2`, `G = 32`), and the unnamed
// dimensions that literal extents make.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

/// A literal extent is an unnamed dimension: it has an internal name that no program can write, "32#1".
bool is_unnamed(const NamedDim& dim);

class DimTable {
 public:
  struct Entry {
    NamedDim dim;
    Span span;  ///< where the name is first said
    bool is_symbol = false;
  };

  /// What `name` stands for; null if it is no dimension of this program.
  const Entry* find(const std::string& name) const;
  /// The symbol `name`; a name given to another extent is left as it is.
  const Entry& declare_symbol(const std::string& name, Span span);
  /// Gives `extent` a name. If the name already stands for another extent, that entry is returned and nothing changes.
  const Entry* define(const std::string& name, const Dim& extent, Span span);
  std::vector<std::string> names() const;
  const std::map<std::string, Entry>& entries() const { return entries_; }

  /// The dimension of an extent: named by its canonical text, or a new unnamed one if it is a literal.
  NamedDim of_extent(const Dim& extent);
  /// As of_extent, but a literal extent cut out of `parent` in the manner of `how` always gives the same unnamed
  /// dimension, so that both results of `halves(z)` agree.
  NamedDim part_of(const NamedDim& parent, const std::string& how, const Dim& extent);
  /// The dimension that `part` was cut out of by part_of(…, how, …), to give a join its name back.
  std::optional<NamedDim> whole_of(const NamedDim& part, const std::string& how) const;

 private:
  struct Part {
    NamedDim parent;
    std::string how;
  };
  std::map<std::string, Entry> entries_;
  std::map<std::string, NamedDim> part_by_origin_;
  std::map<std::string, Part> origin_by_part_;
  int unnamed_ = 0;
};

}  // namespace coda
