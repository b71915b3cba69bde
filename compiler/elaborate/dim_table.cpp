#include "compiler/elaborate/dim_table.h"

namespace coda {

bool is_unnamed(const NamedDim& dim) { return dim.name.find('#') != std::string::npos; }

const DimTable::Entry* DimTable::find(const std::string& name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

const DimTable::Entry& DimTable::declare_symbol(const std::string& name, Span span) {
  return entries_.try_emplace(name, Entry{{name, Dim::symbol(name)}, span, true}).first->second;
}

const DimTable::Entry* DimTable::define(const std::string& name, const Dim& extent, Span span) {
  const Entry& entry = entries_.try_emplace(name, Entry{{name, extent}, span, false}).first->second;
  return entry.dim.extent == extent ? nullptr : &entry;
}

std::vector<std::string> DimTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

NamedDim DimTable::of_extent(const Dim& extent) {
  if (!extent.symbols().empty()) return {extent.text(), extent};
  return {extent.text() + "#" + std::to_string(++unnamed_), extent};
}

NamedDim DimTable::part_of(const NamedDim& parent, const std::string& how, const Dim& extent) {
  if (!extent.symbols().empty()) return {extent.text(), extent};
  const std::string origin = how + " " + extent.text() + " " + parent.name;
  const auto it = part_by_origin_.find(origin);
  if (it != part_by_origin_.end()) return it->second;
  const NamedDim part = of_extent(extent);
  part_by_origin_.emplace(origin, part);
  origin_by_part_.emplace(part.name, Part{parent, how});
  return part;
}

std::optional<NamedDim> DimTable::whole_of(const NamedDim& part, const std::string& how) const {
  const auto it = origin_by_part_.find(part.name);
  if (it == origin_by_part_.end() || it->second.how != how) return std::nullopt;
  return it->second.parent;
}

}  // namespace coda
