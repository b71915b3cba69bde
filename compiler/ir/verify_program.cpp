// Rules of a whole program: what nodes, parameters and outputs must agree on.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"

namespace coda {

namespace {

using Report = std::vector<std::string>;

void check_params(const Program& program, Report& report) {
  std::set<std::string> names;
  for (const auto& param : program.params) {
    if (!names.insert(param.name).second) report.push_back("two parameters are named " + param.name);
    std::set<std::string> dims;
    for (const auto& dim : param.dims) {
      if (!dims.insert(dim.name).second) report.push_back("parameter " + param.name + " names " + dim.name + " twice");
    }
    if (param.role == Param::Role::Scalar && !param.dims.empty()) {
      report.push_back("scalar parameter " + param.name + " has dimensions");
    }
    if (param.default_value && param.role != Param::Role::Scalar) {
      report.push_back("parameter " + param.name + " is no scalar, but has a default value");
    }
  }
}

void check_nodes(const Program& program, Report& report) {
  std::map<std::string, Dim> extents;
  auto see = [&](const NamedDim& dim) {
    const auto [it, is_new] = extents.emplace(dim.name, dim.extent);
    if (is_new || it->second == dim.extent) return;
    report.push_back("dimension " + dim.name + " has extents " + it->second.text() + " and " + dim.extent.text());
  };
  for (const auto& param : program.params) std::for_each(param.dims.begin(), param.dims.end(), see);
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    const Node& node = program.graph[id];
    const std::string where = "%" + std::to_string(id) + " = " + to_text(node) + ": ";
    if (auto violation = node_violation(program.graph, node)) report.push_back(where + *violation);
    if (std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) { return arg >= id; })) {
      report.push_back(where + "an argument does not come before it");
    }
    std::for_each(node.dims.begin(), node.dims.end(), see);
    if (node.kind != NodeKind::Input) continue;
    if (node.param >= static_cast<int>(program.params.size())) {
      report.push_back(where + "there is no such parameter");
      continue;
    }
    const Param& param = program.params[node.param];
    std::vector<NamedDim> dims = param.dims;
    std::sort(dims.begin(), dims.end());
    if (param.role == Param::Role::Out) report.push_back(where + "parameter " + param.name + " is written only");
    if (dims != node.dims) report.push_back(where + "parameter " + param.name + " has other dimensions");
    if (info(param.dtype).num_class != node.num_class) {
      report.push_back(where + "parameter " + param.name + " has another class");
    }
  }
}

void check_outputs(const Program& program, Report& report) {
  std::set<int> written;
  for (const auto& output : program.outputs) {
    if (output.param < 0 || output.param >= static_cast<int>(program.params.size())) {
      report.push_back("output " + std::to_string(output.param) + ": there is no such parameter");
      continue;
    }
    const Param& param = program.params[output.param];
    const std::string where = "output " + param.name + ": ";
    if (param.role != Param::Role::Out && param.role != Param::Role::InOut) report.push_back(where + "is read only");
    if (!written.insert(output.param).second) report.push_back(where + "is written twice");
    if (output.value < 0 || output.value >= program.graph.size()) {
      report.push_back(where + "its value is not in the graph");
      continue;
    }
    for (const auto& dim : program.graph[output.value].dims) {
      if (std::find(param.dims.begin(), param.dims.end(), dim) == param.dims.end()) {
        report.push_back(where + "its value has a dimension " + dim.name + " that it lacks");
      }
    }
  }
  for (size_t i = 0; i < program.params.size(); ++i) {
    if (program.params[i].role == Param::Role::Out && !written.contains(static_cast<int>(i))) {
      report.push_back("output " + program.params[i].name + " is never written");
    }
  }
}

}  // namespace

std::vector<std::string> verify(const Program& program) {
  Report report;
  check_params(program, report);
  check_nodes(program, report);
  check_outputs(program, report);
  return report;
}

}  // namespace coda
