#include "evaluate.h"

#include <catch2/catch.hpp>

#include "compiler/reference/reference.h"

namespace coda::test {

namespace {

size_t flat(const std::vector<int64_t>& shape, const std::vector<int64_t>& coordinates) {
  REQUIRE(shape.size() == coordinates.size());
  size_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    REQUIRE((coordinates[i] >= 0 && coordinates[i] < shape[i]));
    index = index * static_cast<size_t>(shape[i]) + static_cast<size_t>(coordinates[i]);
  }
  return index;
}

std::vector<double> made_up(const Param& param, size_t count) {
  uint64_t state = 0x9e3779b97f4a7c15ull;
  for (const char c : param.name) state = (state ^ static_cast<uint64_t>(c)) * 0xbf58476d1ce4e5b9ull;
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const auto bits = static_cast<int>(state >> 40);
    const bool is_real = info(param.dtype).num_class == NumClass::Real;
    values.push_back(is_real ? (bits % 33 - 16) / 8.0 : bits % (param.dtype == DType::Bool ? 2 : 4));
  }
  return values;
}

}  // namespace

double Array::at(const std::vector<int64_t>& coordinates) const { return values.at(flat(shape, coordinates)); }
double& Array::at(const std::vector<int64_t>& coordinates) { return values.at(flat(shape, coordinates)); }

double Run::operator()(const std::string& name, const std::vector<int64_t>& coordinates) const {
  return (after.count(name) > 0 ? after : before).at(name).at(coordinates);
}
double Run::old(const std::string& name, const std::vector<int64_t>& coordinates) const {
  return before.at(name).at(coordinates);
}

Run evaluate(const std::string& text, const Bindings& sizes, std::map<std::string, std::vector<double>> given,
             const ElaborateRequest& request, const ImportReader& reader) {
  const Compiled compiled = compile(text, request, "test.coda", reader);
  INFO(compiled.diagnostics);
  REQUIRE(compiled.program);
  const Program& program = *compiled.program;
  Run run;
  std::vector<std::vector<char>> memory;
  std::vector<ReferenceInput> inputs;
  for (const Param& param : program.params) {
    Array array;
    size_t count = 1;
    for (const NamedDim& dim : param.dims) {
      const auto extent = dim.extent.evaluate(sizes);
      REQUIRE(extent);
      array.shape.push_back(*extent);
      count *= static_cast<size_t>(*extent);
    }
    const auto values = given.find(param.name);
    array.values = values != given.end() ? values->second : made_up(param, count);
    REQUIRE(array.values.size() == count);
    ReferenceInput input;
    input.dtype = param.dtype;
    input.shape = array.shape;
    input.strides.assign(array.shape.size(), 1);
    for (size_t i = array.shape.size(); i-- > 1;) input.strides[i - 1] = input.strides[i] * array.shape[i];
    memory.emplace_back(count * 8 + 8);
    for (size_t i = 0; i < count; ++i) {
      store_element(memory.back().data(), param.dtype, static_cast<int64_t>(i), array.values[i]);
      array.values[i] = load_element(memory.back().data(), param.dtype, static_cast<int64_t>(i));
    }
    input.data = memory.back().data();
    if (param.role == Param::Role::Scalar) input.scalar = array.values[0];
    inputs.push_back(input);
    if (param.role != Param::Role::Out) run.before[param.name] = std::move(array);
  }
  auto reference = Reference::make(program, sizes, inputs, {.threads = 1});
  INFO((reference.ok() ? std::string() : reference.status().message()));
  REQUIRE(reference.ok());
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    auto values = reference.value().evaluate_all(static_cast<int>(i));
    REQUIRE(values.ok());
    run.after[program.params[program.outputs[i].param].name] =
        Array{reference.value().shape(static_cast<int>(i)), std::move(values).value()};
  }
  return run;
}

}  // namespace coda::test
