#include "tests/cli/gpu_sizes.h"

#include <algorithm>
#include <set>

#include "compiler/elaborate/elaborate.h"
#include "compiler/plan/interpret.h"
#include "dsl/parser.h"

namespace coda::testing {
namespace {

constexpr int64_t kMostMultiplications = 20'000'000;

std::optional<Program> elaborated(const std::string& text, const Bindings& bound, const std::string& routine) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add("case.coda", text);
  const auto module = parse(file, sources, diagnostics);
  ElaborateRequest request;
  request.bound = bound;
  request.routine = routine;
  return module ? elaborate(*module, file, sources, request, diagnostics) : std::nullopt;
}

bool too_much(const Program& program, const Bindings& sizes) {
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    const Node& node = program.graph[id];
    if (node.kind != NodeKind::Contract) continue;
    int64_t count = 1;
    for (const auto* dims : {&node.dims, &node.over}) {
      for (const NamedDim& dim : *dims) count *= std::max<int64_t>(1, dim.extent.evaluate(sizes).value_or(1));
    }
    if (count > kMostMultiplications) return true;
  }
  return false;
}

/// The symbols of dimensions that are not the last two of their parameter, in order of the parameters.
std::vector<std::string> batches(const Program& program) {
  std::vector<std::string> result;
  for (const Param& param : program.params) {
    for (size_t i = 0; i + 2 < param.dims.size(); ++i) {
      for (const std::string& symbol : param.dims[i].extent.symbols()) {
        if (std::find(result.begin(), result.end(), symbol) == result.end()) result.push_back(symbol);
      }
    }
  }
  return result;
}

/// The symbols of the first extent that isn't a whole number at these sizes, or of the first fact that doesn't hold.
std::set<std::string> unfit(const Program& program, const Bindings& sizes) {
  for (const Dim& extent : extents_of(program)) {
    if (const auto value = extent.evaluate(sizes); !value || *value < 0) return extent.symbols();
  }
  for (const DimFact& fact : program.facts) {
    if (fact_holds(fact, sizes)) continue;
    std::set<std::string> symbols = fact.left.symbols();
    symbols.merge(fact.right.symbols());
    return symbols;
  }
  return {};
}

}  // namespace

Bindings aligned_sizes(Bindings sizes, const std::vector<std::string>& but) {
  for (auto& [name, value] : sizes) {
    if (std::find(but.begin(), but.end(), name) == but.end()) value = (value + 15) / 16 * 16;
  }
  return sizes;
}

std::vector<std::string> whole_inputs(const std::string& text, const Bindings& bound, unsigned seed, int most) {
  const auto program = elaborated(text, bound, "");
  const std::string reals = "integers(" + std::to_string(-most) + ", " + std::to_string(most + 1) + ")";
  std::vector<std::string> inputs;
  for (const Param& param : program ? program->params : std::vector<Param>{}) {
    const NumClass own = info(param.dtype).num_class;
    if (param.role == Param::Role::Out || own == NumClass::Bool) continue;
    const bool scalar = param.dims.empty();
    const std::string whole = scalar ? std::to_string(seed) : "integers(0, 4)", real = scalar ? "0.5" : reals;
    inputs.push_back(param.name + "=" + (own == NumClass::Real ? real : whole));
  }
  return inputs;
}

std::vector<std::string> open_symbols(const std::string& text, const Bindings& bound, const std::string& routine) {
  const auto program = elaborated(text, bound, routine);
  std::set<std::string> symbols;
  for (const Param& param : program ? program->params : std::vector<Param>{}) {
    for (const auto& dim : param.dims) {
      for (const std::string& symbol : dim.extent.symbols()) {
        if (!program->bound.contains(symbol)) symbols.insert(symbol);
      }
    }
  }
  return {symbols.begin(), symbols.end()};
}

Bindings fitting_sizes(const std::string& text, const Bindings& bound, Bindings wanted) {
  const auto program = elaborated(text, bound, "");
  if (!program) return wanted;
  Bindings sizes = program->bound;
  sizes.insert(wanted.begin(), wanted.end());
  for (const std::string& symbol : batches(*program)) {
    if (wanted.contains(symbol) && too_much(*program, sizes)) sizes[symbol] = std::min<int64_t>(3, sizes[symbol]);
  }
  constexpr int kMostSteps = 4096;
  for (int step = 0; step < kMostSteps; ++step) {
    const std::set<std::string> symbols = unfit(*program, sizes);
    if (symbols.empty()) break;
    for (const std::string& symbol : symbols) sizes[symbol] += wanted.contains(symbol);
  }
  for (auto& [symbol, size] : wanted) size = sizes.at(symbol);
  return wanted;
}

}  // namespace coda::testing
