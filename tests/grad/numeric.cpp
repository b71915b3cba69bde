#include "numeric.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "compiler/elaborate/elaborate.h"
#include "compiler/ir/remake.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/reference/reference.h"
#include "dsl/parser.h"

namespace coda::test {

namespace {

constexpr double kStep = 0x1p-9;  // inputs are multiples of 1/64 in f32: steps are exact

std::vector<int64_t> shape_of(const Param& param, const Bindings& sizes) {
  std::vector<int64_t> shape;
  for (const NamedDim& dim : param.dims) {
    const auto extent = dim.extent.evaluate(sizes);
    INFO(param.name << ": " << dim.extent.text());
    REQUIRE(extent);
    shape.push_back(*extent);
  }
  return shape;
}

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

Bindings with_bound(const Program& program, Bindings sizes) {
  for (const auto& [name, value] : program.bound) sizes[name] = value;
  return sizes;
}

/// The sum over outputs of their values times the upstream gradients.
double total(const Arrays& outputs, const Arrays& upstream) {
  double sum = 0;
  for (const auto& [name, values] : outputs) {
    const auto seed = upstream.find("d_" + name);
    if (seed == upstream.end()) continue;
    REQUIRE(seed->second.size() == values.size());
    for (size_t i = 0; i < values.size(); ++i) sum += values[i] * seed->second[i];
  }
  return sum;
}

}  // namespace

Program program_of(const std::string& text, const std::string& routine) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add("test.coda", text);
  const auto module = parse(file, sources, diagnostics);
  std::optional<Program> program;
  ElaborateRequest request;
  request.routine = routine;
  if (module) program = elaborate(*module, file, sources, request, diagnostics);
  INFO(text << diagnostics.render_text());
  REQUIRE(program);
  return *program;
}

Gradient gradient_of(const Program& program, std::vector<Wrt> wrt) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  if (wrt.empty()) wrt = all_parameters(program);
  auto gradient = differentiate(program, wrt, program.span, diagnostics);
  REQUIRE(gradient);
  for (const Program* part : {&gradient->whole, &gradient->forward, &gradient->backward}) {
    INFO(to_text(*part));
    CHECK(verify(*part) == std::vector<std::string>{});
  }
  return *gradient;
}

Program without_rounding(const Program& program) {
  Program result = program;
  result.graph = Graph();
  for (Param& param : result.params) {
    if (info(param.dtype).num_class == NumClass::Real) param.dtype = DType::F32;
  }
  std::vector<NodeId> copies;
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    const Node& node = program.graph[id];
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(copies[static_cast<size_t>(arg)]);
    const bool rounding = node.kind == NodeKind::Cast && node.num_class == NumClass::Real;
    copies.push_back(rounding ? args[0] : remake(result.graph, node, std::move(args)));
  }
  for (auto& output : result.outputs) output.value = copies[static_cast<size_t>(output.value)];
  return result;
}

Arrays made_up(const Program& program, const Bindings& given_sizes, uint32_t seed, int64_t most) {
  const Bindings sizes = with_bound(program, given_sizes);
  Arrays arrays;
  for (const Param& param : program.params) {
    if (param.role == Param::Role::Out) continue;
    std::vector<double> values(count_of(shape_of(param, sizes)));
    std::mt19937 random(seed * 1000003 + static_cast<uint32_t>(std::hash<std::string>()(param.name)));
    std::vector<int> order;
    for (double& value : values) {
      if (info(param.dtype).num_class != NumClass::Real) {
        value = static_cast<double>(random() % static_cast<uint32_t>(param.dtype == DType::Bool ? 2 : most + 1));
        continue;
      }
      if (order.empty()) {
        for (int i = -80; i <= 80; ++i) {
          if (std::abs(i) >= 16) order.push_back(i);
        }
        std::shuffle(order.begin(), order.end(), random);
      }
      value = order.back() / 64.0;
      order.pop_back();
    }
    arrays[param.name] = std::move(values);
  }
  return arrays;
}

Arrays run(const Program& program, const Bindings& given_sizes, const Arrays& values) {
  const Bindings sizes = with_bound(program, given_sizes);
  std::vector<std::vector<uint8_t>> memory;
  std::vector<ReferenceInput> inputs;
  for (const Param& param : program.params) {
    ReferenceInput input;
    input.dtype = param.dtype;
    input.shape = shape_of(param, sizes);
    input.strides.assign(input.shape.size(), 1);
    for (size_t i = input.shape.size(); i-- > 1;) input.strides[i - 1] = input.strides[i] * input.shape[i];
    const size_t count = count_of(input.shape);
    memory.emplace_back(count * 8 + 8);
    if (param.role != Param::Role::Out) {
      INFO(program.name << " reads " << param.name);
      REQUIRE(values.count(param.name) == 1);
      REQUIRE(values.at(param.name).size() == count);
      for (size_t i = 0; i < count; ++i) {
        store_element(memory.back().data(), param.dtype, static_cast<int64_t>(i), values.at(param.name)[i]);
      }
      if (param.role == Param::Role::Scalar) input.scalar = values.at(param.name)[0];
    }
    input.data = memory.back().data();
    inputs.push_back(std::move(input));
  }
  auto reference = Reference::make(program, sizes, inputs, {.threads = 1});
  INFO((reference.ok() ? std::string() : reference.status().message()) << to_text(program));
  REQUIRE(reference.ok());
  Arrays results;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    auto computed = reference->evaluate_all(static_cast<int>(i));
    REQUIRE(computed.ok());
    results[program.params[static_cast<size_t>(program.outputs[i].param)].name] = *computed;
  }
  return results;
}

double difference(const Arrays& a, const Arrays& b) {
  double worst = 0;
  for (const auto& [name, left] : a) {
    INFO(name);
    REQUIRE(b.count(name) == 1);
    const auto& right = b.at(name);
    REQUIRE(left.size() == right.size());
    double scale = 1e-3, largest = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      scale = std::max(scale, std::fabs(left[i]));
      const bool same = left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]));
      const double distance = same ? 0 : std::fabs(left[i] - right[i]);
      largest = std::max(largest, std::isnan(distance) ? HUGE_VAL : distance);
    }
    worst = std::max(worst, largest / scale);
  }
  return worst;
}

void check_gradient(const Program& source, const Bindings& sizes, uint32_t seed, std::vector<Wrt> wrt, double tolerance,
                    const Arrays& given) {
  const Program program = without_rounding(source);
  if (wrt.empty()) wrt = all_parameters(program);
  const Gradient gradient = gradient_of(program, wrt);
  Arrays values = made_up(gradient.whole, sizes, seed);
  for (const auto& [name, array] : given) values[name] = array;
  const Arrays derived = run(gradient.whole, sizes, values);
  std::mt19937 random(seed);

  for (const Wrt& target : wrt) {
    INFO(program.name << ": d_" << target.parameter);
    const auto& d = derived.at("d_" + target.parameter);
    const size_t count = d.size();
    if (count == 0) continue;
    std::vector<double> before(count, 0);
    if (target.accumulate) before = values.at("d_" + target.parameter);
    constexpr size_t kEachElement = 12, kDirections = 3;
    const size_t trials = count <= kEachElement ? count : kDirections;
    double scale = 1e-3;
    for (const double value : d) scale = std::max(scale, std::fabs(value));
    for (size_t trial = 0; trial < trials; ++trial) {
      std::vector<double> direction(count, 0);
      if (count <= kEachElement) {
        direction[trial] = 1;
      } else {
        for (double& v : direction) v = static_cast<double>(random() % 3) - 1;
      }
      const auto along = [&](double steps) {
        Arrays moved = values;
        for (size_t i = 0; i < count; ++i) moved[target.parameter][i] += steps * kStep * direction[i];
        return total(run(program, sizes, moved), values);
      };
      const double expected = (8 * (along(1) - along(-1)) - (along(2) - along(-2))) / (12 * kStep);
      double found = 0;
      for (size_t i = 0; i < count; ++i) found += (d[i] - before[i]) * direction[i];
      INFO("found " << found << ", expected " << expected);
      CHECK(std::fabs(found - expected) <= tolerance * scale * std::sqrt(static_cast<double>(count)));
    }
  }

  // One direction after the other, through memory.
  Arrays between = values;
  for (const auto& [name, array] : run(gradient.forward, sizes, values)) between[name] = array;
  Arrays backward = run(gradient.backward, sizes, between);
  Arrays wanted;
  for (const auto& [name, array] : backward) wanted[name] = derived.at(name);
  CHECK(wanted.size() == wrt.size());
  CHECK(difference(wanted, backward) < 1e-5);
}

}  // namespace coda::test
