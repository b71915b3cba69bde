#include "compiler/elaborate/value.h"

#include "compiler/elaborate/dim_table.h"

namespace coda {

const ValueDim* Value::find_dim(const std::string& name) const {
  for (const ValueDim& d : dims) {
    if (d.dim.name == name) return &d;
  }
  return nullptr;
}

Value Value::poison(Span span) {
  Value value;
  value.span = span;
  return value;
}

Value Value::scalar(NodeId node, Span span) {
  Value value;
  value.kind = Kind::Tensor;
  value.node = node;
  value.span = span;
  return value;
}

Value Value::tuple(std::vector<Value> elements, Span span) {
  Value value;
  value.kind = Kind::Tuple;
  value.elements = std::move(elements);
  value.span = span;
  return value;
}

std::string spelled(const NamedDim& dim) { return is_unnamed(dim) ? dim.extent.text() : dim.name; }

std::string spelled(const std::vector<ValueDim>& dims) {
  if (dims.empty()) return "a scalar";
  std::string text = "[";
  for (const std::string& name : dim_names(dims)) text += (text.size() > 1 ? ", " : "") + name;
  return text + "]";
}

std::vector<std::string> dim_names(const std::vector<ValueDim>& dims) {
  std::vector<std::string> names;
  for (const ValueDim& d : dims) names.push_back(spelled(d.dim));
  return names;
}

}  // namespace coda
