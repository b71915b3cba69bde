// Names that the printed text may use: none twice, no word of the language, no symbol of an extent.
#pragma once

#include <map>
#include <set>
#include <string>

#include "compiler/ir/graph.h"

namespace coda {

class PrintNames {
 public:
  explicit PrintNames(const Program& program);

  /// `wanted` if it is free and can be a name, else something like it.
  std::string fresh(const std::string& wanted);
  /// How an extent or `over =` spells the dimension: its extent's text, or a name where the program needs one.
  const std::string& spelled(const NamedDim& dim);
  /// Whether a word that makes a dimension of this extent gives it this name by itself.
  bool comes_by_itself(const NamedDim& dim) const;
  /// A symbol that a parameter's name hides.
  bool is_hidden(const std::string& symbol) const { return params_.contains(symbol); }

 private:
  std::set<std::string> taken_, params_;
  std::map<std::string, std::string> dims_;
};

bool is_identifier(const std::string& text);

}  // namespace coda
