#include "tools/codac/arguments.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/codac/compile_options.h"
#include "tools/codac/elements.h"
#include "tools/codac/random_fill.h"
#include "tools/codac/tensor_files.h"

namespace coda {
namespace {

Status bad(const std::string& message) { return Status(Code::InvalidArgument, message); }

/// Files whose elements index something get whole numbers within it, a few of them outside.
std::optional<int64_t> index_limit(const Program& program, int param, const Bindings& dims) {
  const Graph& graph = program.graph;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::Gather) continue;
    const Node& index = graph[node.args[1]];
    if (index.kind == NodeKind::Input && index.param == param) return node.dim.extent.evaluate(dims);
  }
  return {};
}

/// Inputs that keep results of usual networks near 1: weights shrink with the GEMM's depth, vectors stay positive.
Distribution usual(const Program& program, const Problem& problem, int param, const Bindings& dims) {
  constexpr double kOutside = -100;
  const Param& p = program.params[static_cast<size_t>(param)];
  const NumClass num_class = info(p.dtype).num_class;
  if (num_class == NumClass::Bool) return {Distribution::Kind::Integers, 0, 2, 0};
  if (num_class == NumClass::Int) {
    auto limit = index_limit(program, param, dims);
    return {Distribution::Kind::Integers, 0, static_cast<double>(limit.value_or(100)), limit ? kOutside : 0};
  }
  if (p.dims.size() < 2) return {Distribution::Kind::Uniform, 0.5, 1.5, 0};
  const auto weight = problem.weights.find(param);
  const int64_t depth = weight == problem.weights.end() ? 1 : std::max<int64_t>(weight->second, 1);
  return {Distribution::Kind::Normal, 0, 1 / std::sqrt(static_cast<double>(depth)), 0};
}

}  // namespace

Expected<InputFiles> InputFiles::read(const ArgumentOptions& options) {
  InputFiles result;
  for (const std::string& text : options.inputs) {
    auto parts = split_assignment(text);
    if (!parts) return bad("--in " + text + ": expected NAME=FILE, NAME=NUMBER or NAME=normal(MEAN, DEVIATION)");
    const auto& [name, value] = *parts;
    Distribution distribution;
    if (parse_distribution(value, distribution)) {
      result.words_[name] = value;
      continue;
    }
    std::string path = value, inner = name;
    if (size_t at = value.rfind(".safetensors:"); at != std::string::npos) {
      path = value.substr(0, at + 12);
      inner = value.substr(at + 13);
    }
    auto tensor = read_tensor(path, inner);
    if (!tensor) return tensor.status().with_context("--in " + name);
    result.files_.insert_or_assign(name, std::move(*tensor));
  }
  return result;
}

Status InputFiles::solve(const std::vector<Param>& params, Bindings& dims) const {
  for (const auto& [name, tensor] : files_) {
    auto known =
        std::find_if(params.begin(), params.end(), [&, &name = name](const Param& p) { return p.name == name; });
    if (known == params.end() || known->role == Param::Role::Out) return bad("--in " + name + ": no such input");
    if (static_cast<int>(known->dims.size()) != tensor.view().shape.size()) {
      return bad("--in " + name + ": the file holds " + describe(tensor.view().dtype, tensor.view().shape) +
                 ", the parameter has " + std::to_string(known->dims.size()) + " dimensions");
    }
  }
  for (const auto& [name, word] : words_) {
    bool known = std::any_of(params.begin(), params.end(), [&, &name = name](const Param& p) {
      return p.name == name && p.role != Param::Role::Out;
    });
    if (!known) return bad("--in " + name + ": no such input");
  }
  // An extent that is linear in its one unknown symbol determines it; repeated, for one may need another.
  for (bool progress = true; progress;) {
    progress = false;
    for (const Param& param : params) {
      auto file = files_.find(param.name);
      if (file == files_.end()) continue;
      for (size_t axis = 0; axis < param.dims.size(); ++axis) {
        const int64_t given = file->second.view().shape[static_cast<int>(axis)];
        Dim extent = param.dims[axis].extent.substitute(dims);
        auto symbols = extent.symbols();
        auto wrong = [&](const std::string& why) {
          return bad("--in " + param.name + ": dimension " + param.dims[axis].extent.text() + " is " +
                     std::to_string(given) + " in the file, " + why);
        };
        if (symbols.empty()) {
          auto value = extent.evaluate({});
          if (!value) return wrong("which the other dimensions do not allow");
          if (*value != given) return wrong("but " + std::to_string(*value) + " by the other dimensions");
          continue;
        }
        if (symbols.size() > 1) continue;
        auto linear = extent.linear_in(*symbols.begin());
        auto slope = linear ? linear->first.evaluate({}) : std::nullopt;
        auto rest = linear ? linear->second.evaluate({}) : std::nullopt;
        if (!slope || !rest || *slope == 0) continue;
        if ((given - *rest) % *slope != 0 || (given - *rest) / *slope < 0) return wrong("which does not divide");
        dims[*symbols.begin()] = (given - *rest) / *slope;
        progress = true;
      }
    }
  }
  return {};
}

std::vector<std::string> missing_symbols(const std::vector<Param>& params, const Bindings& dims) {
  std::set<std::string> missing;
  for (const Param& param : params) {
    for (const NamedDim& dim : param.dims) {
      for (const std::string& symbol : dim.extent.symbols()) {
        if (!dims.count(symbol)) missing.insert(symbol);
      }
    }
  }
  return {missing.begin(), missing.end()};
}

Expected<Arguments> InputFiles::make(const Program& program, const Problem& problem, const Bindings& dims,
                                     const ArgumentOptions& options) {
  Arguments result;
  result.dims = dims;
  const auto& params = program.params;
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& param = params[i];
    Sizes shape;
    for (const NamedDim& dim : param.dims) {
      auto extent = dim.extent.evaluate(dims);
      if (!extent || *extent < 0) return bad("dimension " + dim.extent.text() + " of " + param.name + " has no value");
      shape.push_back(*extent);
    }
    if (auto file = files_.find(param.name); file != files_.end()) {
      int64_t inexact = 0;
      auto tensor = convert(file->second, param.dtype, inexact);
      if (!tensor) return tensor.status();
      if (inexact > 0 && !options.round_inputs) {
        return bad("--in " + param.name + ": the file holds " + std::string(info(file->second.view().dtype).name) +
                   ", and " + std::to_string(inexact) + " of its values are not " +
                   std::string(info(param.dtype).name) + "; --round-inputs rounds them");
      }
      result.tensors.push_back(std::move(*tensor));
      continue;
    }
    auto tensor = HostTensor::create(param.dtype, shape);
    if (!tensor) return tensor.status().with_context(param.name);
    Distribution distribution = usual(program, problem, static_cast<int>(i), dims);
    if (auto word = words_.find(param.name); word != words_.end()) {
      parse_distribution(word->second, distribution);
    } else if (param.role == Param::Role::Scalar && param.default_value) {
      distribution = {Distribution::Kind::Constant, *param.default_value, 0, 0};
    }
    if (param.role != Param::Role::Out) fill_random(*tensor, distribution, options.seed, param.name);
    result.tensors.push_back(std::move(*tensor));
  }
  return result;
}

}  // namespace coda
