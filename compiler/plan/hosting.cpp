#include "compiler/plan/hosting.h"

#include <algorithm>
#include <cmath>

namespace coda {

namespace {

/// The widest group of columns that every schedule's tile can hold whole.
constexpr int64_t kWidestGroup = 256;

}  // namespace

std::vector<NodeId> BlockValues::roots() const {
  std::vector<NodeId> nodes;
  for (const auto& [param, value] : outputs) nodes.push_back(value);
  return nodes;
}

Hosting::Hosting(Algebra& algebra, const Program& block, const BlockValues& values, FoldChoice fold,
                 std::set<int> late_params)
    : algebra_(algebra), block_(block), values_(values), fold_(std::move(fold)), late_params_(std::move(late_params)) {
  // Inner digits of a GEMM's columns with a constant extent are complete in a tile.
  const Graph& graph = algebra_.graph();
  for (const NodeId id : topological(graph, values_.roots())) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::View || !algebra_.is_gemm(node.args[0])) continue;
    for (const auto& term : node.map.terms) {
      const auto extent = term.dim.extent.substitute(block_.bound).constant();
      const bool inner = std::any_of(node.map.terms.begin(), node.map.terms.end(), [&](const auto& outer) {
        return outer.stride.substitute(block_.bound) == term.dim.extent.substitute(block_.bound) * term.stride;
      });
      if (inner && extent && *extent <= kWidestGroup) tile_dims_.insert(term.dim.name);
    }
  }
  for (const NodeId id : topological(graph, values_.roots())) {
    if (graph[id].kind == NodeKind::Cast) written_casts_.insert(id);
  }
  for (const NodeId id : topological(graph, values_.roots())) {
    if (!algebra_.is_gemm(id)) continue;
    const auto operands = sides(id);
    if (operands && !operands->empty()) {
      row_dims_ = set_union(row_dims_, intersection(graph[(*operands)[0]].dims, graph[id].dims));
    }
  }
}

/// A pass over rows finishes a row's statistics before it writes the row.
bool Hosting::complete_in_row(const Node& statistic, NodeId body, HostKernel& kernel) const {
  if (kernel.kind != KernelKind::RowWise || algebra_.graph()[body].dims != kernel.space) return false;
  if (!kernel.columns.empty()) return kernel.columns == statistic.over;
  bool in_row = !meet(statistic.over, row_dims_);
  for (const NodeId below : topological(algebra_.graph(), {body})) {  // memory's own rows
    const Node& node = algebra_.graph()[below];
    if (node.kind != NodeKind::Input || node.dims != kernel.space) continue;
    const auto& declared = block_.params[static_cast<size_t>(node.param)].dims;
    in_row = meet({declared.back()}, statistic.over);
  }
  if (in_row) kernel.columns = statistic.over;
  return in_row;
}

bool Hosting::taken_elsewhere(NodeId node, int k) const {
  const auto it = taken_in_.find(node);
  return it != taken_in_.end() && it->second != k;
}

bool Hosting::complete_in_tile(const std::vector<NamedDim>& over) const {
  return std::all_of(over.begin(), over.end(), [&](const NamedDim& dim) { return tile_dims_.contains(dim.name); });
}

bool Hosting::is_source(NodeId id) const {
  while (algebra_.graph()[id].kind == NodeKind::View && !copied.contains(id)) id = algebra_.graph()[id].args[0];
  return algebra_.graph()[id].kind == NodeKind::Input;
}

bool Hosting::is_statistic(NodeId id) const {
  const Node& node = algebra_.graph()[id];
  if (node.kind == NodeKind::Reduce) return true;
  if (node.kind == NodeKind::Gather) return !is_source(node.args[0]) && !algebra_.wide(id);
  return node.kind == NodeKind::Contract && !node.over.empty() && !algebra_.is_gemm(id);
}

double Hosting::known_after(NodeId node) const {
  const auto it = known.find(node);
  return it == known.end() ? -1 : it->second;
}

std::vector<NodeId> Hosting::light_below(NodeId node) const {
  std::vector<NodeId> light, stack{node};
  std::set<NodeId> seen;
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    for (const NodeId arg : algebra_.graph()[at].args) {
      if (!seen.insert(arg).second) continue;
      if (!algebra_.wide(arg)) {
        light.push_back(arg);
      } else if (const auto it = home.find(arg); it == home.end() || it->second < 0) {
        stack.push_back(arg);
      }
    }
  }
  return light;
}

std::set<int> Hosting::homes_below(NodeId node) const {
  std::set<int> homes;
  std::set<NodeId> seen;
  std::vector<NodeId> stack{node};
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    for (const NodeId arg : algebra_.graph()[at].args) {
      if (!seen.insert(arg).second) continue;
      const auto it = home.find(arg);
      if (it != home.end() && it->second >= 0) {
        homes.insert(it->second);
      } else if (algebra_.wide(arg)) {
        stack.push_back(arg);
      }
    }
  }
  return homes;
}

/// Does it need a statistic that is whole only after this kernel, or elements that no tile of it holds?
bool Hosting::waits_for(NodeId id, int host) const {
  const HostKernel& kernel = kernels[static_cast<size_t>(host)];
  std::set<NodeId> seen;
  std::vector<NodeId> stack{id};
  while (!stack.empty()) {
    const Node& node = algebra_.graph()[stack.back()];
    stack.pop_back();
    const bool elsewhere = node.kind == NodeKind::Gather && kernel.kind == KernelKind::Gemm &&
                           !subset(node.dims, algebra_.graph()[kernel.accumulator].dims);
    if (elsewhere || mixes_sides(node, kernel)) return true;
    for (const NodeId arg : node.args) {
      if (!algebra_.wide(arg) || !seen.insert(arg).second) continue;
      const auto it = home.find(arg);
      if (it != home.end() && it->second == host && whole_after_.contains(arg)) return true;
      if (it != home.end() && it->second < 0) stack.push_back(arg);
    }
  }
  return false;
}

bool Hosting::run() {
  // The forward first: what gradients that come in have to do with follows.
  const auto nodes = topological(algebra_.graph(), values_.roots());
  std::set<NodeId> late;
  std::vector<NodeId> forward, backward;
  for (const NodeId id : nodes) {
    const Node& node = algebra_.graph()[id];
    const bool is_late =
        (node.kind == NodeKind::Input && late_params_.contains(node.param)) ||
        std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) { return late.contains(arg); });
    if (is_late) late.insert(id);
    (is_late ? backward : forward).push_back(id);
  }
  place_all(std::move(forward));
  place_all(std::move(backward));
  for (const auto& [param, value] : values_.outputs) {
    if (!failure.empty()) return false;
    if (!algebra_.wide(value)) continue;
    // A parameter handed on is a copy: a row-wise kernel.
    if (is_source(value) || !home.contains(value) || home.at(value) < 0) place_row_wise(value);
    stored.insert(value);
  }
  return failure.empty();
}

/// What needs a pass of its own before it waits until nothing else can go on: a kernel that is made meanwhile may do
/// that pass's work.
void Hosting::place_all(std::vector<NodeId> nodes) {
  const auto is_ready = [&](NodeId id) {
    const auto& args = algebra_.graph()[id].args;
    return std::all_of(args.begin(), args.end(), [&](NodeId arg) { return placed(arg); });
  };
  while (failure.empty()) {
    const size_t before = nodes.size();
    std::vector<NodeId> waiting;
    for (const NodeId id : nodes) {
      if (!failure.empty() || placed(id)) continue;
      if (is_ready(id) && !needs_pass(id)) {
        place(id);
      } else {
        waiting.push_back(id);
      }
    }
    if (waiting.empty()) return;
    if (waiting.size() == before) place(*std::find_if(waiting.begin(), waiting.end(), is_ready));
    nodes = std::move(waiting);
  }
}

/// Is something that is computed wherever it is used an operand, or the body of a statistic?
bool Hosting::needs_pass(NodeId id) {
  std::vector<NodeId> read;
  if (algebra_.is_gemm(id)) {
    read = sides(id).value_or(std::vector<NodeId>{});
    std::erase_if(read, [&](NodeId side) { return is_source(side) || !algebra_.wide(side); });
  } else if (reduces_wide(id)) {
    read = {statistic_body(algebra_.graph()[id])};
  }
  return std::any_of(read.begin(), read.end(), [&](NodeId value) {
    visit(value);
    return failure.empty() && home.contains(value) && home.at(value) < 0;
  });
}

void Hosting::visit(NodeId node) {
  for (const NodeId below : topological(algebra_.graph(), {node})) {
    if (!placed(below) && failure.empty()) place(below);
  }
}

void Hosting::operand(NodeId node) {
  visit(node);
  if (!failure.empty() || is_source(node)) return;
  if (!algebra_.wide(node)) {
    const auto after = std::ceil(known_after(node));
    if (after >= 0 && kernels[static_cast<size_t>(after)].kind != KernelKind::External) {
      light_operands.insert(node);
      return;
    }
    if (!home.contains(node)) home[node] = -1;
  }
  if (home.at(node) < 0) place_row_wise(node);
  stored.insert(node);
}

void Hosting::place_gemm(NodeId id) {
  auto operands = sides(id);
  if (!operands) {
    failure = "a contraction of more than two operands";
    failed = id;
    return;
  }
  for (NodeId& side : *operands) {
    visit(side);
    if (!failure.empty()) return;
    side = unflattened(side);
    if (operands->size() == 2) copy_cut(side, algebra_.graph()[id].over);
    operand(kept_as(side));
  }
  if (!failure.empty()) return;
  const int index = static_cast<int>(kernels.size());
  kernels.push_back({.kind = KernelKind::Gemm, .accumulator = id, .operands = *operands, .hosts = {id}});
  if (algebra_.wide(id)) {
    home[id] = index;
  } else {
    known[id] = index;
    taken_in_[id] = index;
  }
}

NodeId Hosting::statistic_body(const Node& node) {
  return node.kind == NodeKind::Contract ? algebra_.product(node.args) : node.args[0];
}

void Hosting::place_statistic(NodeId id) {
  const Node node = algebra_.graph()[id];
  const NodeId body = statistic_body(node);
  visit(body);
  if (!failure.empty()) return;
  const int before = home.contains(body) ? home.at(body) : -1;
  int host = before;
  if (host < 0 || kernels[static_cast<size_t>(host)].kind == KernelKind::External) {
    place_row_wise(body);
    host = home.at(body);
    if (is_source(body)) home[body] = before;
  }
  if (cuts_batch(node.over, kernels[static_cast<size_t>(host)])) return place_after(id, host);
  HostKernel& kernel = kernels[static_cast<size_t>(host)];
  kernel.hosts.push_back(id);
  taken_in_[id] = host;
  if (algebra_.wide(id)) {
    home[id] = host;
    if (kernel.kind == KernelKind::Gemm && !complete_in_tile(node.over)) whole_after_.insert(id);
  } else {
    const bool within =
        kernel.kind == KernelKind::Gemm ? complete_in_tile(node.over) : complete_in_row(node, body, kernel);
    known[id] = within ? host - 0.5 : host;
  }
}

void Hosting::place_row_wise(NodeId id) {
  const Node& node = algebra_.graph()[id];
  double need = -1;
  std::vector<NodeId> waits;
  for (const NodeId light : light_below(id)) need = std::max(need, known_after(light));
  for (const NodeId light : light_below(id)) {
    if (known_after(light) == need && need >= 0) waits.push_back(light);
  }
  for (const int below : homes_below(id)) need = std::max(need, static_cast<double>(below));
  for (const NodeId below : topological(algebra_.graph(), {id})) {
    if (whole_after_.contains(below) && home.at(below) == need) waits.push_back(below);
  }
  // The first that is not too early: what it stores, all later ones can read.
  int index = epilogue_beside(id, need);
  for (int k = static_cast<int>(std::floor(need)) + 1; k < static_cast<int>(kernels.size()) && index < 0; ++k) {
    const HostKernel& kernel = kernels[static_cast<size_t>(k)];
    if (kernel.kind == KernelKind::RowWise && kernel.space == node.dims) index = k;
  }
  if (index < 0) {
    index = static_cast<int>(kernels.size());
    kernels.push_back({.kind = KernelKind::RowWise, .space = node.dims});
  }
  HostKernel& kernel = kernels[static_cast<size_t>(index)];
  kernel.hosts.push_back(id);
  home[id] = index;
  if (kernel.kind != KernelKind::RowWise) return;
  for (const NodeId wait : waits) {
    if (std::find(kernel.waits.begin(), kernel.waits.end(), wait) == kernel.waits.end()) kernel.waits.push_back(wait);
  }
}

/// A statistic of values that are finished by kernel `before`.
void Hosting::place_after(NodeId id, int before) {
  const auto& space = algebra_.graph()[statistic_body(algebra_.graph()[id])].dims;
  size_t index = static_cast<size_t>(before) + 1;
  while (index < kernels.size() && (kernels[index].kind != KernelKind::RowWise || kernels[index].space != space)) {
    ++index;
  }
  if (index == kernels.size()) kernels.push_back({.kind = KernelKind::RowWise, .space = space});
  kernels[index].hosts.push_back(id);
  for (const NodeId light : light_below(id)) {
    if (taken_in_.contains(light)) kernels[index].waits.push_back(light);
  }
  taken_in_[id] = static_cast<int>(index);
  if (algebra_.wide(id)) {
    home[id] = static_cast<int>(index);
  } else {
    known[id] = static_cast<double>(index);
  }
}

/// Tensors that computing `id` reads, from other kernels and of the program.
std::set<NodeId> Hosting::reads(NodeId id) const {
  std::set<NodeId> found, seen;
  std::vector<NodeId> stack{id};
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    for (const NodeId arg : algebra_.graph()[at].args) {
      if (!algebra_.wide(arg) || !seen.insert(arg).second) continue;
      const auto it = home.find(arg);
      const bool is_given = is_source(arg) || (it != home.end() && it->second >= 0);
      if (is_given) {
        found.insert(arg);
      } else {
        stack.push_back(arg);
      }
    }
  }
  return found;
}

/// The first product after `need` whose epilogue covers the same elements and reads some of the same tensors anyway;
/// -1 if there is none.
int Hosting::epilogue_beside(NodeId id, double need) const {
  const auto wanted = is_source(id) ? std::set<NodeId>{id} : reads(id);
  for (int k = static_cast<int>(std::floor(need)) + 1; k < static_cast<int>(kernels.size()); ++k) {
    const HostKernel& kernel = kernels[static_cast<size_t>(k)];
    if (kernel.kind != KernelKind::Gemm || kernel.operands.size() != 2) continue;
    const auto& dims = algebra_.graph()[kernel.accumulator].dims;
    const auto columns = intersection(dims, algebra_.graph()[kernel.operands[1]].dims);
    if (dims != algebra_.graph()[id].dims || columns.size() != 1) continue;
    for (const auto& [value, host] : home) {
      if (host != k || value == kernel.accumulator) continue;
      const auto others = reads(value);
      const bool shares = std::any_of(wanted.begin(), wanted.end(), [&](NodeId read) { return others.contains(read); });
      if (shares) return k;
    }
  }
  return -1;
}

/// The kernel after which a parameter is there; -1: from the beginning.
int Hosting::arrival(const Node& input) {
  if (input.kind != NodeKind::Input || !late_params_.contains(input.param)) return -1;
  if (external_ < 0) {
    external_ = static_cast<int>(kernels.size());
    kernels.push_back({.kind = KernelKind::External});
  }
  return external_;
}

bool Hosting::reduces_wide(NodeId id) const {
  const auto& args = algebra_.graph()[id].args;
  return is_statistic(id) && std::any_of(args.begin(), args.end(), [&](NodeId arg) { return algebra_.wide(arg); });
}

void Hosting::place(NodeId id) {
  const Node node = algebra_.graph()[id];
  if (algebra_.is_gemm(id)) return place_gemm(id);
  if (reduces_wide(id)) return place_statistic(id);

  if (!algebra_.wide(id)) {
    double after = arrival(node);
    for (const NodeId arg : node.args) after = std::max(after, known_after(arg));
    for (const int below : homes_below(id)) after = std::max(after, static_cast<double>(below));
    // A kernel's statistics are whole only after it, so what reduces them is another's.
    if (is_statistic(id) && after >= 0 && after == std::floor(after)) return place_after(id, static_cast<int>(after));
    known[id] = after;
    return;
  }
  if (node.kind == NodeKind::Input) {
    home[id] = arrival(node);
    return;
  }
  const std::set<int> homes = homes_below(id);
  int host = homes.empty() ? -1 : *homes.rbegin();
  if (host >= 0 && kernels[static_cast<size_t>(host)].kind == KernelKind::External) host = -1;
  // What spans two values that lack dimensions of one another is no element of either.
  const bool is_elementwise = node.kind == NodeKind::Sum || node.kind == NodeKind::Apply ||
                              (node.kind == NodeKind::Contract && node.over.empty());
  const bool spans = is_elementwise && node.args.size() > 1 &&
                     std::none_of(node.args.begin(), node.args.end(),
                                  [&](NodeId arg) { return subset(node.dims, algebra_.graph()[arg].dims); });
  if (spans) host = -1;
  if (host >= 0) {
    // What waits for a statistic of its own kernel floats: it is computed by whoever uses it later.
    for (const NodeId light : light_below(id)) {
      if (known_after(light) >= host) host = -1;
      if (host < 0) break;
    }
  }
  home[id] = host >= 0 && waits_for(id, host) ? -1 : host;
}

}  // namespace coda
