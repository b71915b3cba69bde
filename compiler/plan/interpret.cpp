#include "compiler/plan/interpret.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "compiler/reference/reference.h"

namespace coda {

namespace {

struct Memory {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> shape, strides;
  int64_t elements = 1;
};

std::optional<Memory> make(const std::vector<NamedDim>& dims, DType dtype, const Bindings& sizes) {
  Memory memory;
  for (const auto& dim : dims) {
    const auto extent = dim.extent.evaluate(sizes);
    if (!extent) return std::nullopt;
    memory.shape.push_back(*extent);
    memory.elements *= *extent;
  }
  memory.strides.assign(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) memory.strides[i - 1] = memory.strides[i] * memory.shape[i];
  memory.bytes.assign(static_cast<size_t>(std::max<int64_t>(memory.elements * info(dtype).bits / 8, 8)), 0);
  return memory;
}

void fill(Memory& memory, DType dtype, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < memory.elements; ++i) {
    const double u = uniform(random);
    const double value =
        info(dtype).num_class == NumClass::Real ? u + (u < 0 ? -0.25 : 0.25) : std::floor(3 * std::fabs(u));
    store_element(memory.bytes.data(), dtype, i, value);
  }
}

ReferenceInput view(const Memory& memory, DType dtype) {
  return {.data = memory.bytes.data(),
          .dtype = dtype,
          .shape = memory.shape,
          .strides = memory.strides,
          .scalar = memory.shape.empty() ? load_element(memory.bytes.data(), dtype, 0) : 0};
}

bool evaluate(const Program& program, const Bindings& sizes, const std::vector<ReferenceInput>& inputs,
              std::vector<std::vector<double>>& results, std::string& failure) {
  ReferenceOptions options;
  options.threads = 1;
  auto reference = Reference::make(program, sizes, inputs, options);
  if (!reference.ok()) {
    failure = program.name + ": " + reference.status().message();
    return false;
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    auto values = reference->evaluate_all(static_cast<int>(i));
    if (!values.ok()) {
      failure = program.name + ": " + values.status().message();
      return false;
    }
    results.push_back(std::move(*values));
  }
  return true;
}

bool written_only(const Param& param) { return param.role == Param::Role::Out; }

bool parameters(const Program& block, const Bindings& sizes, uint32_t seed, std::vector<Memory>& memory,
                std::string& failure) {
  for (const Param& param : block.params) {
    auto one = make(param.dims, param.dtype, sizes);
    if (!one) {
      failure = "an extent of " + param.name + " is not determined by the sizes";
      return false;
    }
    memory.push_back(std::move(*one));
    if (!written_only(param)) fill(memory.back(), param.dtype, seed + static_cast<uint32_t>(memory.size()));
  }
  return true;
}

}  // namespace

Meaning interpret_source(const Program& block, const Bindings& sizes, uint32_t seed) {
  Meaning meaning;
  std::vector<Memory> memory;
  if (!parameters(block, sizes, seed, memory, meaning.failure)) return meaning;
  std::vector<ReferenceInput> inputs;
  for (size_t p = 0; p < memory.size(); ++p) inputs.push_back(view(memory[p], block.params[p].dtype));
  std::vector<std::vector<double>> results;
  if (!evaluate(block, sizes, inputs, results, meaning.failure)) return meaning;
  for (size_t i = 0; i < results.size(); ++i) {
    meaning.outputs[block.params[static_cast<size_t>(block.outputs[i].param)].name] = std::move(results[i]);
  }
  return meaning;
}

Meaning interpret_plan(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed) {
  Meaning meaning;
  std::vector<Memory> memory;
  if (!parameters(block, sizes, seed, memory, meaning.failure)) return meaning;
  std::vector<ReferenceInput> inputs;
  for (size_t p = 0; p < memory.size(); ++p) inputs.push_back(view(memory[p], block.params[p].dtype));
  return interpret_plan(block, plan, sizes, inputs, Kept::F32);
}

Meaning interpret_plan(const Program& block, const Plan& plan, const Bindings& sizes,
                       const std::vector<ReferenceInput>& inputs, Kept kept) {
  Meaning meaning;
  std::vector<ReferenceInput> tensors(plan.tensors.size());
  std::vector<bool> ready(plan.tensors.size());
  std::vector<Memory> memory(plan.tensors.size());  // of what kernels write
  for (size_t p = 0; p < block.params.size(); ++p) {
    if (written_only(block.params[p])) continue;
    tensors[p] = inputs[p];
    ready[p] = true;
  }
  std::map<size_t, std::vector<double>> written;  // as computed, before any rounding
  for (const PlanKernel& kernel : plan.kernels) {
    Program program = kernel.program;
    std::vector<ReferenceInput> arguments;
    for (size_t p = 0; p < program.params.size(); ++p) {
      const size_t tensor = static_cast<size_t>(kernel.arguments[p]);
      arguments.push_back(tensors[tensor]);
      if (written_only(program.params[p])) continue;
      if (!ready[tensor]) {
        meaning.failure = program.name + " reads " + program.params[p].name + " before it is written";
        return meaning;
      }
      program.params[p].dtype = tensors[tensor].dtype;
    }
    std::vector<std::vector<double>> results;
    if (!evaluate(program, sizes, arguments, results, meaning.failure)) return meaning;
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t tensor = static_cast<size_t>(kernel.arguments[static_cast<size_t>(program.outputs[i].param)]);
      const DType dtype = kept == Kept::F32 ? DType::F32 : plan.tensors[tensor].dtype;
      auto one = make(plan.tensors[tensor].dims, dtype, sizes);
      if (!one) {
        meaning.failure = "an extent of " + plan.tensors[tensor].name + " is not determined by the sizes";
        return meaning;
      }
      memory[tensor] = std::move(*one);
      tensors[tensor] = view(memory[tensor], dtype);
      ready[tensor] = true;
      for (size_t j = 0; j < results[i].size(); ++j) {
        store_element(memory[tensor].bytes.data(), dtype, static_cast<int64_t>(j), results[i][j]);
      }
      written[tensor] = std::move(results[i]);
    }
  }
  for (const auto& output : block.outputs) {
    const size_t p = static_cast<size_t>(output.param);
    const auto values = written.find(p);
    if (values == written.end()) {
      meaning.failure = "no kernel writes " + block.params[p].name;
      return meaning;
    }
    meaning.outputs[block.params[p].name] = std::move(values->second);
  }
  return meaning;
}

double difference(const Meaning& a, const Meaning& b, std::string* where) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double worst = 0;
  const auto report = [&](const std::string& name, double value) {
    if (value > worst && where != nullptr) *where = name;
    worst = std::max(worst, value);
  };
  for (const auto& [name, left] : a.outputs) {
    const auto it = b.outputs.find(name);
    if (it == b.outputs.end() || it->second.size() != left.size()) {
      report(name, kInfinity);
      continue;
    }
    double scale = 0, most = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      const double x = left[i], y = it->second[i];
      if (!std::isfinite(x) || !std::isfinite(y)) {
        if (std::isfinite(x) != std::isfinite(y)) most = kInfinity;
        continue;
      }
      scale = std::max(scale, std::fabs(x));
      most = std::max(most, std::fabs(x - y));
    }
    report(name, scale > 0 ? most / scale : most);
  }
  return worst;
}

bool fact_holds(const DimFact& fact, const Bindings& sizes) {
  auto left = fact.left.evaluate(sizes), right = fact.right.evaluate(sizes);
  if (!left || !right) return false;
  if (fact.modulus) {
    const auto modulus = fact.modulus->evaluate(sizes);
    if (!modulus || *modulus <= 0) return false;
    left = *left % *modulus;
  }
  if (fact.relation == "=" || fact.relation == "==") return *left == *right;
  if (fact.relation == "!=") return *left != *right;
  if (fact.relation == "<") return *left < *right;
  if (fact.relation == "<=") return *left <= *right;
  if (fact.relation == ">") return *left > *right;
  return *left >= *right;
}

std::vector<Dim> extents_of(const Program& program) {
  std::vector<Dim> extents;
  for (const Param& param : program.params) {
    for (const auto& dim : param.dims) extents.push_back(dim.extent);
  }
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    for (const auto& dim : program.graph[id].dims) extents.push_back(dim.extent);
    for (const auto& term : program.graph[id].map.terms) extents.push_back(term.stride);
    extents.push_back(program.graph[id].map.offset);
  }
  return extents;
}

std::optional<Bindings> small_sizes(const Program& block, uint32_t seed) {
  std::set<std::string> symbols;
  const std::vector<Dim> extents = extents_of(block);
  for (const Dim& extent : extents) symbols.merge(extent.symbols());
  std::mt19937 random(seed);
  constexpr int64_t kTried[] = {2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 256, 512};
  constexpr int kAttempts = 4000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Bindings sizes = block.bound;
    // Small first; larger ones only where facts keep asking for more.
    const int largest = 3 + attempt * 9 / kAttempts;
    for (const auto& symbol : symbols)
      sizes.try_emplace(symbol, kTried[std::uniform_int_distribution<int>(0, largest)(random)]);
    const bool whole = std::all_of(extents.begin(), extents.end(), [&](const Dim& d) {
      const auto value = d.evaluate(sizes);
      return value && *value >= 0;
    });
    if (whole &&
        std::all_of(block.facts.begin(), block.facts.end(), [&](const auto& f) { return fact_holds(f, sizes); })) {
      return sizes;
    }
  }
  return std::nullopt;
}

}  // namespace coda
