#include "execute.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "compiler/reference/reference.h"

namespace coda::test {

namespace {

struct Memory {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> shape, strides;
};

Memory make(const std::vector<NamedDim>& dims, DType dtype, const Bindings& sizes) {
  Memory memory;
  int64_t count = 1;
  for (const auto& dim : dims) {
    memory.shape.push_back(dim.extent.evaluate(sizes).value());
    count *= memory.shape.back();
  }
  memory.strides.assign(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) memory.strides[i - 1] = memory.strides[i] * memory.shape[i];
  memory.bytes.assign(static_cast<size_t>(std::max<int64_t>(count * info(dtype).bits / 8, 8)), 0);
  return memory;
}

int64_t elements(const Memory& memory) {
  int64_t count = 1;
  for (const int64_t n : memory.shape) count *= n;
  return count;
}

/// Real inputs lie in ±[0.25, 1.25): sums of squares stay away from 0.
void fill(Memory& memory, const Param& param, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < elements(memory); ++i) {
    const double u = uniform(random);
    const double value =
        info(param.dtype).num_class == NumClass::Real ? u + (u < 0 ? -0.25 : 0.25) : std::floor(3 * std::fabs(u));
    store_element(memory.bytes.data(), param.dtype, i, value);
  }
}

ReferenceInput view(const Memory& memory, DType dtype) {
  return {.data = memory.bytes.data(),
          .dtype = dtype,
          .shape = memory.shape,
          .strides = memory.strides,
          .scalar = memory.shape.empty() ? load_element(memory.bytes.data(), dtype, 0) : 0};
}

std::vector<std::vector<double>> evaluate(const Program& program, const Bindings& sizes,
                                          const std::vector<ReferenceInput>& inputs) {
  auto reference = Reference::make(program, sizes, inputs);
  INFO(program.name);
  REQUIRE(reference.ok());
  std::vector<std::vector<double>> results;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    auto values = reference->evaluate_all(static_cast<int>(i));
    REQUIRE(values.ok());
    results.push_back(*values);
  }
  return results;
}

std::vector<Memory> parameters(const Program& block, const Bindings& sizes, uint32_t seed) {
  std::vector<Memory> memory;
  for (const Param& param : block.params) {
    memory.push_back(make(param.dims, param.dtype, sizes));
    if (param.role != Param::Role::Out) fill(memory.back(), param, seed + static_cast<uint32_t>(memory.size()));
  }
  return memory;
}

}  // namespace

Outputs run_source(const Program& block, const Bindings& sizes, uint32_t seed) {
  const auto memory = parameters(block, sizes, seed);
  std::vector<ReferenceInput> inputs;
  for (size_t p = 0; p < memory.size(); ++p) inputs.push_back(view(memory[p], block.params[p].dtype));
  const auto results = evaluate(block, sizes, inputs);
  Outputs outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs[block.params[static_cast<size_t>(block.outputs[i].param)].name] = results[i];
  }
  return outputs;
}

Outputs run_plan(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed) {
  std::vector<Memory> memory = parameters(block, sizes, seed);
  std::vector<DType> dtypes;
  std::vector<bool> ready;
  for (const Param& param : block.params) {
    dtypes.push_back(param.role == Param::Role::Out ? DType::F32 : param.dtype);
    ready.push_back(param.role != Param::Role::Out);
  }
  for (size_t t = 0; t < plan.tensors.size(); ++t) {
    if (t >= memory.size()) {
      dtypes.push_back(DType::F32);
      ready.push_back(false);
      memory.push_back({});
    }
    if (!ready[t]) memory[t] = make(plan.tensors[t].dims, dtypes[t], sizes);
  }
  for (const PlanKernel& kernel : plan.kernels) {
    Program program = kernel.program;
    std::vector<ReferenceInput> inputs;
    for (size_t p = 0; p < program.params.size(); ++p) {
      const size_t tensor = static_cast<size_t>(kernel.arguments[p]);
      program.params[p].dtype = dtypes[tensor];
      if (program.params[p].role != Param::Role::Out) {
        INFO(program.name << " reads " << program.params[p].name);
        REQUIRE(ready[tensor]);
      }
      inputs.push_back(view(memory[tensor], dtypes[tensor]));
    }
    const auto results = evaluate(program, sizes, inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t tensor = static_cast<size_t>(kernel.arguments[static_cast<size_t>(program.outputs[i].param)]);
      ready[tensor] = true;
      for (size_t j = 0; j < results[i].size(); ++j) {
        store_element(memory[tensor].bytes.data(), DType::F32, static_cast<int64_t>(j), results[i][j]);
      }
    }
  }
  Outputs outputs;
  for (const auto& output : block.outputs) {
    const size_t p = static_cast<size_t>(output.param);
    REQUIRE(ready[p]);
    std::vector<double> values;
    for (int64_t j = 0; j < elements(memory[p]); ++j)
      values.push_back(load_element(memory[p].bytes.data(), dtypes[p], j));
    outputs[block.params[p].name] = values;
  }
  return outputs;
}

double worst_error(const Outputs& a, const Outputs& b) {
  double worst = 0;
  REQUIRE(a.size() == b.size());
  for (const auto& [name, left] : a) {
    const auto& right = b.at(name);
    REQUIRE(left.size() == right.size());
    double scale = 0, difference = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      scale = std::max(scale, std::fabs(left[i]));
      difference = std::max(difference, std::fabs(left[i] - right[i]));
    }
    REQUIRE(scale > 0);
    REQUIRE(std::isfinite(difference));
    worst = std::max(worst, difference / scale);
  }
  return worst;
}

}  // namespace coda::test
