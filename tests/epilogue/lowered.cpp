#include "lowered.h"

#include <cmath>
#include <random>

#include "compiler/epilogue/verify.h"
#include "compiler/reference/reference.h"
#include "dsl/parser.h"
#include "interpret.h"

namespace coda::test {

namespace {

struct Array {
  std::vector<int64_t> shape, strides;
  std::vector<uint8_t> bytes;
  size_t count = 1;
};

Array random_array(const Param& param, const Bindings& sizes, std::mt19937& random) {
  Array array;
  for (const auto& dim : param.dims) array.shape.push_back(dim.extent.evaluate(sizes).value());
  for (const int64_t extent : array.shape) array.count *= static_cast<size_t>(extent);
  array.strides.assign(array.shape.size(), 1);
  for (size_t axis = array.shape.size(); axis-- > 1;) {
    array.strides[axis - 1] = array.strides[axis] * array.shape[axis];
  }
  array.bytes.resize(array.count * 8 + 8);
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int64_t> whole(-2, 9);
  for (size_t i = 0; i < array.count; ++i) {
    const NumClass num_class = info(param.dtype).num_class;
    const double value = num_class == NumClass::Real  ? real(random)
                         : num_class == NumClass::Int ? static_cast<double>(whole(random))
                                                      : static_cast<double>(whole(random) & 1);
    store_element(array.bytes.data(), param.dtype, static_cast<int64_t>(i), value);
  }
  return array;
}

}  // namespace

Lowered lower(const std::string& text, const Bindings& bound, const std::string& path) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add(path, text);
  const auto module = parse(file, sources, diagnostics);
  Lowered result;
  ElaborateRequest request;
  request.bound = bound;
  if (module) result.program = elaborate(*module, file, sources, request, diagnostics);
  if (result.program && !diagnostics.has_errors()) {
    EpilogueProgram epilogue;
    const bool good = lower_to_epilogue(*result.program, epilogue, diagnostics);
    if (good) result.epilogue = std::move(epilogue);
    if (good == diagnostics.has_errors()) result.diagnostics = "lowering and its diagnostics disagree\n";
  }
  result.diagnostics += diagnostics.render_text();
  return result;
}

Comparison compare(const std::string& text, const Bindings& sizes, const Bindings& bound, double tolerance) {
  Comparison result;
  const Lowered lowered = lower(text, bound);
  if (!lowered.epilogue) {
    result.failure = "not lowered:\n" + lowered.diagnostics;
    return result;
  }
  result.dump = to_text(*lowered.epilogue);
  for (const auto& broken : verify_epilogue(*lowered.epilogue)) result.failure += "broken rule: " + broken + "\n";
  const Program& program = *lowered.program;
  Bindings all = sizes;
  for (const auto& [name, value] : program.bound) all[name] = value;

  std::mt19937 random(7);
  std::vector<Array> arrays;
  std::vector<ReferenceInput> inputs;
  Tensors tensors;
  for (const auto& param : program.params) arrays.push_back(random_array(param, all, random));
  for (size_t p = 0; p < program.params.size(); ++p) {
    const Param& param = program.params[p];
    const Array& array = arrays[p];
    ReferenceInput input{
        .data = array.bytes.data(), .dtype = param.dtype, .shape = array.shape, .strides = array.strides};
    std::vector<double> values;
    for (size_t i = 0; i < array.count; ++i) {
      values.push_back(load_element(array.bytes.data(), param.dtype, static_cast<int64_t>(i)));
    }
    if (param.role == Param::Role::Scalar) input.scalar = values[0];
    inputs.push_back(input);
    tensors.push_back(std::move(values));
  }
  auto reference = Reference::make(program, all, inputs, {.threads = 1});
  if (!reference) {
    result.failure = "no reference: " + reference.status().message();
    return result;
  }
  const Interpreted run = interpret(*lowered.epilogue, all, tensors);
  for (const auto& violation : run.violations) result.failure += "violation: " + violation + "\n";
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    const Param& param = program.params[static_cast<size_t>(program.outputs[o].param)];
    const auto wanted = reference->evaluate_all(static_cast<int>(o));
    if (!wanted) {
      result.failure += "no reference of " + param.name + ": " + wanted.status().message();
      continue;
    }
    const auto& found = run.tensors[static_cast<size_t>(program.outputs[o].param)];
    if (found.size() != wanted->size()) result.failure += param.name + ": other number of elements\n";
    double scale = 1e-3;
    for (const double w : *wanted) scale = std::isfinite(w) ? std::max(scale, std::abs(w)) : scale;
    for (size_t i = 0; i < found.size() && i < wanted->size(); ++i) {
      const double w = (*wanted)[i];
      const bool same =
          w == found[i] || (std::isnan(w) && std::isnan(found[i])) || std::abs(w - found[i]) <= tolerance * scale;
      if (same) continue;
      result.failure += param.name + "[" + std::to_string(i) + "] is " + std::to_string(found[i]) + ", should be " +
                        std::to_string(w) + "\n";
      break;
    }
  }
  return result;
}

}  // namespace coda::test
