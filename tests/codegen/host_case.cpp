#include "host_case.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>

#include "compiler/elaborate/elaborate.h"
#include "compiler/reference/reference.h"
#include "dsl/parser.h"
#include "runtime/bind.h"

namespace coda::test {

namespace {

constexpr uint8_t kPoison = 0xA5;
constexpr int64_t kGuard = 64;  // elements before and after

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

struct Front {
  std::optional<Program> program;
  EpilogueProgram epilogue;
  std::string diagnostics;
  bool lowered = false;
};

Front front_end(const std::string& text, const Bindings& bound) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Front front;
  const FileId file = sources.add("test.coda", text);
  const auto module = parse(file, sources, diagnostics);
  ElaborateRequest request;
  request.bound = bound;
  if (module) front.program = elaborate(*module, file, sources, request, diagnostics);
  if (front.program) front.lowered = lower_to_epilogue(*front.program, front.epilogue, diagnostics);
  front.diagnostics = diagnostics.render_text();
  return front;
}

uint64_t next(uint64_t& state) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return state >> 33;
}

HostArray make_array(const Param& param, const Bindings& sizes, const HostRun& run) {
  HostArray array;
  array.dtype = param.dtype;
  int64_t stride = run.last_stride;
  for (const NamedDim& dim : param.dims) {
    const auto extent = dim.extent.evaluate(sizes);
    REQUIRE(extent);
    array.shape.push_back(*extent);
  }
  array.strides.assign(array.shape.size(), 0);
  for (size_t i = array.shape.size(); i-- > 0;) {
    array.strides[i] = stride;
    stride = stride * std::max<int64_t>(array.shape[i], 1) + run.pitch;
  }
  if (const ParamLayoutInfo* layout = find_layout(param.layout)) {
    array.layout = param.layout;
    array.strides = {padded(array.shape[1], layout->columns) + layout->columns * run.pitch, 1};
    stride = padded(array.shape[0], layout->rows) * array.strides[0];
  }
  array.bytes.assign(static_cast<size_t>((stride + 2 * kGuard) * info(param.dtype).bits / 8), kPoison);
  return array;
}

void fill(HostArray& array, const Param& param, const HostRun& run, bool with_non_finite) {
  uint64_t state = 0x9e3779b97f4a7c15ull;
  for (const char c : param.name) state = (state ^ static_cast<uint64_t>(c)) * 0xbf58476d1ce4e5b9ull;
  const int64_t row = array.shape.empty() || array.shape[0] == 0 ? 1 : array.count() / array.shape[0];
  constexpr double kSpecial[] = {NAN, INFINITY, -INFINITY};
  for (int64_t i = 0; i < array.count(); ++i) {
    const auto bits = static_cast<int>(next(state) & 0xFFFF);
    double value = bits % 4;
    if (info(param.dtype).num_class == NumClass::Real) value = (bits % 33 - 16) / 16.0 * run.range;
    if (param.dtype == DType::Bool) value = bits % 2;
    if (with_non_finite && i / row == 1) value = kSpecial[bits % 3];
    store_element(array.bytes.data(), param.dtype, array.offset(i), value);
  }
}

/// That many units in the last place of the type at `value`, or of its least number.
double rounding_of(DType dtype, double value, double units) {
  const DTypeInfo& type = info(dtype);
  if (type.num_class != NumClass::Real) return units > 0.5 && type.num_class == NumClass::Int ? 1 : 0;
  const double least = std::ldexp(1.0, 1 - ((1 << (type.exponent_bits - 1)) - 1) - type.mantissa_bits);
  return units * (std::ldexp(std::fabs(value), -type.mantissa_bits) * 1.0001 + least);
}

std::string text_of(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

std::string compare(const std::string& name, const HostArray& got, const std::vector<double>& expected,
                    const HostRun& run) {
  if (static_cast<int64_t>(expected.size()) != got.count()) return name + " has another number of elements";
  double largest = 1e-30;
  for (const double value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  for (int64_t i = 0; i < got.count(); ++i) {
    const double want = expected[static_cast<size_t>(i)], have = got.at(i);
    const double stored = round_to(want, got.dtype);
    bool good = have == stored || (std::isnan(have) && std::isnan(stored));
    if (!good && std::isfinite(have) && std::isfinite(want)) {
      const double slack = std::ldexp(run.ulps * (run.relative ? std::fabs(want) : largest), -23);
      good = std::fabs(have - want) <= rounding_of(got.dtype, want, run.units) + slack;
    }
    if (!good) {
      return name + "[" + std::to_string(i) + "] is " + text_of(have) + ", expected " + text_of(want) + " (largest " +
             text_of(largest) + ")";
    }
  }
  return {};
}

std::string check_untouched(const std::string& name, const HostArray& array) {
  const int64_t bytes = info(array.dtype).bits / 8;
  std::vector<bool> used(array.bytes.size(), false);
  for (int64_t i = 0; i < array.count(); ++i) {
    for (int64_t b = 0; b < bytes; ++b) used[static_cast<size_t>(array.offset(i) * bytes + b)] = true;
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i] && array.bytes[i] != kPoison) {
      return name + ": byte " + std::to_string(i) + " between its elements was written";
    }
  }
  return {};
}

std::string compile_error_for(const std::string& text, const Bindings& bound, const std::string& cpu,
                              HostProgram& result) {
  result = {};
  result.text = text;
  auto start = std::chrono::steady_clock::now();
  Front front = front_end(text, bound);
  if (!front.program || !front.lowered) return front.diagnostics;
  result.front_ms = milliseconds_since(start);
  start = std::chrono::steady_clock::now();
  std::string reason;
  auto output = compile_host(front.epilogue, {.cpu = cpu}, reason);
  if (!output) return reason + "\n" + to_text(front.epilogue);
  result.host_ms = milliseconds_since(start);
  result.program = std::move(*front.program);
  auto code = HostCode::load(output->image);
  if (!code.ok()) return code.status().message();
  result.code = std::make_shared<const HostCode>(std::move(*code));
  result.image = std::make_shared<const KernelImage>(std::move(output->image));
  return {};
}

}  // namespace

int64_t HostArray::count() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

int64_t HostArray::offset(int64_t index) const {
  if (layout == ParamLayout::Mx128x4) {
    return kGuard + mx128x4_offset(index / shape[1], index % shape[1], strides[0]);
  }
  int64_t at = kGuard;
  for (size_t i = shape.size(); i-- > 0;) {
    at += index % shape[i] * strides[i];
    index /= shape[i];
  }
  return at;
}

double HostArray::at(int64_t index) const { return load_element(bytes.data(), dtype, offset(index)); }

std::string compile_error(const std::string& text, const Bindings& bound, HostProgram& result) {
  return compile_error_for(text, bound, "", result);
}

HostProgram compile_for_host(const std::string& text, const Bindings& bound, const std::string& cpu) {
  HostProgram result;
  INFO(text);
  const std::string wrong = compile_error_for(text, bound, cpu, result);
  if (!wrong.empty()) FAIL(wrong);
  return result;
}

std::string refusal(const std::string& text, const Bindings& bound) {
  const Front front = front_end(text, bound);
  INFO(front.diagnostics);
  REQUIRE(front.lowered);
  std::string reason;
  REQUIRE(!compile_host(front.epilogue, {}, reason));
  return reason;
}

HostResult run_and_check(const HostProgram& compiled, const HostRun& run) {
  std::string where;
  for (const auto& [name, value] : run.sizes) where += name + "=" + std::to_string(value) + " ";
  INFO(compiled.text);
  INFO(where << " pitch " << run.pitch << " last stride " << run.last_stride << " threads " << run.threads);
  HostResult result;
  const std::string wrong = difference(compiled, run, result);
  if (!wrong.empty()) FAIL(wrong);
  SUCCEED();
  return result;
}

std::string difference(const HostProgram& compiled, const HostRun& run, HostResult& result) {
  const Program& program = compiled.program;
  Bindings sizes = run.sizes;
  for (const auto& [name, value] : program.bound) sizes[name] = value;
  result = {};
  std::map<std::string, HostArray> before;
  std::vector<Argument> arguments;
  std::vector<ReferenceInput> inputs;
  bool first = true;
  for (const Param& param : program.params) {
    if (param.role == Param::Role::Scalar) {
      const auto given = run.scalars.find(param.name);
      const double value = given != run.scalars.end() ? given->second : param.default_value.value_or(0.5);
      inputs.push_back({.dtype = param.dtype, .scalar = round_to(value, param.dtype)});
      arguments.emplace_back(value);
      continue;
    }
    HostArray& array = result.arrays[param.name] = make_array(param, sizes, run);
    if (param.role != Param::Role::Out) fill(array, param, run, run.non_finite && first);
    first = false;
    before[param.name] = array;
    inputs.push_back({nullptr, param.dtype, array.shape, array.strides});
    TensorView view;
    view.data = array.bytes.data() + kGuard * info(param.dtype).bits / 8;
    view.dtype = param.dtype;
    for (size_t i = 0; i < array.shape.size(); ++i) {
      view.shape.push_back(array.shape[i]);
      view.strides.push_back(array.strides[i]);
    }
    arguments.emplace_back(view);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto kept = before.find(program.params[i].name);
    if (kept == before.end()) continue;
    inputs[i].data = kept->second.bytes.data() + kGuard * info(inputs[i].dtype).bits / 8;
  }

  auto plan = LaunchPlan::create(compiled.image, sizes);
  if (!plan.ok()) return "no launch plan: " + plan.status().message();
  Binding binding;
  const Status bound = plan->bind(arguments, kHostDevice, binding);
  if (!bound.ok()) return "not bound: " + bound.message();
  std::vector<std::vector<uint8_t>> workspaces;
  std::vector<void*> addresses;
  for (const int64_t bytes : binding.workspace_bytes) {
    workspaces.emplace_back(static_cast<size_t>(bytes) + 1, uint8_t{0xFF});  // NaN
    addresses.push_back(workspaces.back().data());
  }
  plan->set_workspaces(addresses, binding);
  HostPool pool(run.threads);
  const Status ran = compiled.code->run(binding.words.data(), pool);
  if (!ran.ok()) return "not run: " + ran.message();
  for (const auto& workspace : workspaces) {
    if (workspace.back() != 0xFF) return "a workspace is too small";
  }

  auto reference = Reference::make(program, sizes, inputs, {.threads = 2});
  if (!reference.ok()) return "no reference: " + reference.status().message();
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const std::string& name = program.params[program.outputs[i].param].name;
    const auto expected = reference->evaluate_all(static_cast<int>(i));
    if (!expected.ok()) return "no reference: " + expected.status().message();
    if (std::string wrong = compare(name, result.arrays[name], *expected, run); !wrong.empty()) return wrong;
  }
  for (const auto& [name, array] : result.arrays) {
    if (std::string wrong = check_untouched(name, array); !wrong.empty()) return wrong;
  }
  return {};
}

void run_all(const std::string& text, const std::vector<Bindings>& sizes, HostRun run) {
  const HostProgram program = compile_for_host(text);
  for (const Bindings& each : sizes) {
    for (const int threads : {1, 3}) {
      run.sizes = each;
      run.threads = threads;
      run.pitch = threads;  // elements between the rows
      run_and_check(program, run);
    }
  }
}

}  // namespace coda::test
