#include "compiler/print/names.h"

#include <algorithm>
#include <cctype>

#include "compiler/elaborate/dim_table.h"
#include "compiler/ops/op.h"

namespace coda {

namespace {

/// Keywords, words of shape and options.
constexpr const char* kWords[] = {
    "and",     "as",    "block", "const",  "false",  "fn",          "grad",      "import",  "inout",    "kernel",
    "layout",  "let",   "not",   "or",     "coda",   "true",        "where",     "wrt",     "schedule", "halves",
    "pairs",   "split", "group", "concat", "gather", "index",       "last",      "flatten", "quantize", "dropout",
    "scatter", "dim",   "over",  "T",      "mean",   "join_halves", "join_pairs"};

}  // namespace

bool is_identifier(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

PrintNames::PrintNames(const Program& program) {
  for (const char* word : kWords) taken_.insert(word);
  for (const Op* op : op_table()) taken_.emplace(op->name);
  for (const Reduction* reduction : reduction_table()) taken_.emplace(reduction->name);
  for (const DTypeInfo& type : dtype_table()) taken_.emplace(type.name);
  for (const Param& param : program.params) params_.insert(param.name);
  taken_.insert(params_.begin(), params_.end());
  const auto see = [&](const NamedDim& dim) {
    taken_.merge(dim.extent.symbols());
    if (is_identifier(dim.name)) taken_.insert(dim.name);
  };
  for (const Param& param : program.params) std::for_each(param.dims.begin(), param.dims.end(), see);
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    const Node& node = program.graph[id];
    std::for_each(node.dims.begin(), node.dims.end(), see);
  }
}

std::string PrintNames::fresh(const std::string& wanted) {
  const std::string stem = is_identifier(wanted) ? wanted : "t";
  std::string name = stem;
  for (int i = 2; !taken_.insert(name).second; ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(stem.back())) != 0;
    name = stem + (digit ? "_" : "") + std::to_string(i);
  }
  return name;
}

const std::string& PrintNames::spelled(const NamedDim& dim) {
  const auto known = dims_.find(dim.name);
  if (known != dims_.end()) return known->second;
  std::string text = dim.name;
  if (is_unnamed(dim) || (!is_identifier(dim.name) && dim.name != dim.extent.text())) {
    text = fresh("G" + dim.name.substr(0, dim.name.find('#')));
  }
  return dims_.emplace(dim.name, text).first->second;
}

bool PrintNames::comes_by_itself(const NamedDim& dim) const {
  return dim.name == dim.extent.text() && !dim.extent.symbols().empty();
}

}  // namespace coda
