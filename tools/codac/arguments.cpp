#include "tools/codac/arguments.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/codac/compile_options.h"
#include "tools/codac/elements.h"

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
  if (num_class == NumClass::Bool) return {Distribution::Kind::Integers, 0, 2, 0, {}};
  if (num_class == NumClass::Int) {
    auto limit = index_limit(program, param, dims);
    return {Distribution::Kind::Integers, 0, static_cast<double>(limit.value_or(100)), limit ? kOutside : 0, {}};
  }
  if (p.dims.size() < 2) return {Distribution::Kind::Uniform, 0.5, 1.5, 0, {}};
  const auto weight = problem.weights.find(param);
  const int64_t depth = weight == problem.weights.end() ? 1 : std::max<int64_t>(weight->second, 1);
  return {Distribution::Kind::Normal, 0, 1 / std::sqrt(static_cast<double>(depth)), 0, {}};
}

/// "x.npy", "x.npy:e4m3", "model.safetensors", "model.safetensors:layers.0.w"; `name` is the parameter's.
Expected<TensorFile> open_input(const std::string& text, const std::string& name) {
  constexpr std::string_view kNpy = ".npy:", kSafetensors = ".safetensors:";
  if (const size_t at = text.rfind(kSafetensors); at != std::string::npos) {
    const size_t end = at + kSafetensors.size();
    return open_tensor(text.substr(0, end - 1), text.substr(end));
  }
  const size_t at = text.rfind(kNpy);
  if (at == std::string::npos || text.ends_with(".npy")) return open_tensor(text, name);
  const std::string type = text.substr(at + kNpy.size());
  const auto dtype = dtype_from_name(type);
  if (!dtype) return bad("there is no element type " + type);
  auto file = open_tensor(text.substr(0, at + kNpy.size() - 1), name);
  if (!file) return file;
  Status viewed = view_as(*file, *dtype);
  return viewed.ok() ? file : viewed;
}

/// The file's elements as the parameter's type, or why they can't be.
Expected<HostTensor> read_input(const TensorFile& file, const Param& param, bool round) {
  auto read = read_tensor(file, param.dtype);
  if (!read) return read.status();
  const std::string from(file.element->name), to(info(param.dtype).name);
  if (read->outside > 0) {
    return bad("the file holds " + from + ", and " + std::to_string(read->outside) + " of its values do not fit " + to);
  }
  if (read->rounded > 0 && !round) {
    return bad("the file holds " + from + ", and " + std::to_string(read->rounded) + " of its values are not " + to +
               "; --round-inputs rounds them");
  }
  return std::move(read->tensor);
}

}  // namespace

Expected<InputFiles> InputFiles::read(const ArgumentOptions& options) {
  InputFiles result;
  for (const std::string& text : options.inputs) {
    auto parts = split_assignment(text);
    if (!parts) return bad("--in " + text + ": expected NAME=FILE, NAME=NUMBER or NAME=normal(MEAN, DEVIATION)");
    const auto& [name, value] = *parts;
    if (result.files_.count(name) + result.words_.count(name) > 0) return bad("--in " + name + " is given twice");
    auto word = parse_distribution(value);
    if (!word) return word.status().with_context("--in " + text);
    if (*word) {
      result.words_.emplace(name, **word);
      continue;
    }
    auto file = open_input(value, name);
    if (!file) return file.status().with_context("--in " + name);
    result.files_.emplace(name, std::move(*file));
  }
  return result;
}

Status InputFiles::solve(const std::vector<Param>& params, Bindings& dims) const {
  const auto find = [&](const std::string& name) -> const Param* {
    for (const Param& p : params) {
      if (p.name == name && p.role != Param::Role::Out) return &p;
    }
    return nullptr;
  };
  for (const auto& [name, file] : files_) {
    const Param* known = find(name);
    if (!known) return bad("--in " + name + ": no such input");
    if (static_cast<int>(known->dims.size()) != file.shape.size()) {
      return bad("--in " + name + ": the file holds " + std::string(file.element->name) +
                 (file.shape.empty() ? "" : to_text(file.shape)) + ", the parameter has " +
                 std::to_string(known->dims.size()) + " dimensions");
    }
  }
  for (const auto& [name, word] : words_) {
    const Param* known = find(name);
    if (!known) return bad("--in " + name + ": no such input");
    if (Status status = fits(word, known->dtype); !status.ok()) return status.with_context("--in " + name);
  }
  // An extent that is linear in its one unknown symbol determines it; repeated, for one may need another.
  for (bool progress = true; progress;) {
    progress = false;
    for (const Param& param : params) {
      auto file = files_.find(param.name);
      if (file == files_.end()) continue;
      for (size_t axis = 0; axis < param.dims.size(); ++axis) {
        const int64_t given = file->second.shape[static_cast<int>(axis)];
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
      auto tensor = read_input(file->second, param, options.round_inputs);
      if (!tensor) return tensor.status().with_context("--in " + param.name);
      result.tensors.push_back(std::move(*tensor));
      continue;
    }
    auto tensor = HostTensor::create(param.dtype, shape);
    if (!tensor) return tensor.status().with_context(param.name);
    Distribution distribution = usual(program, problem, static_cast<int>(i), dims);
    if (auto word = words_.find(param.name); word != words_.end()) {
      distribution = word->second;
    } else if (param.role == Param::Role::Scalar && param.default_value) {
      distribution = {Distribution::Kind::Constant, *param.default_value, 0, 0, {}};
    }
    if (param.role != Param::Role::Out) fill_random(*tensor, distribution, options.seed, param.name);
    result.tensors.push_back(std::move(*tensor));
  }
  return result;
}

}  // namespace coda
