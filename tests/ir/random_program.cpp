#include "random_program.h"

#include <algorithm>
#include <limits>

namespace coda::test {

namespace {

/// Grows a graph node by node; remembers which nodes hold exact dyadic values, since a cast or a comparison of an
/// inexact one could go either way.
class Grower {
 public:
  Grower(unsigned seed, bool special, int least_extent) : random_(seed), special_(special), least_(least_extent) {}

  RandomProgram grow() {
    for (const char* name : {"A", "B", "C", "D"}) {
      dims_.push_back({name, Dim::symbol(name)});
      out_.bindings[name] = pick(least_, 5);
    }
    for (int i = 0; i < 5; ++i) add_input();
    add_scalar();
    note(graph().constant(1.5), true);
    note(graph().extent(dims_[0].extent), true);
    note(graph().index(dims_[1]), true);
    for (int i = 0; i < 25; ++i) grow_one();
    for (int i = 0; i < 3; ++i) add_output();
    return std::move(out_);
  }

 private:
  int pick(int low, int high) { return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1)); }
  bool chance(int percent) { return pick(0, 99) < percent; }
  Graph& graph() { return out_.program.graph; }
  int64_t extent(const NamedDim& dim) { return dim.extent.evaluate(out_.bindings).value(); }

  double element() {
    if (special_ && chance(6)) {
      const double specials[] = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), -0.0};
      return specials[pick(0, 3)];
    }
    return pick(-8, 8) / 4.0;
  }

  void note(NodeId id, bool exact) {
    if (graph()[id].dims.size() > 4) return;  // the naive loops take every point
    nodes_.push_back(id);
    exact_.resize(std::max(exact_.size(), static_cast<size_t>(graph().size())), false);
    exact_[id] = exact;
  }
  NodeId any(bool exact = false) {
    for (;;) {
      const NodeId id = nodes_[pick(0, static_cast<int>(nodes_.size()) - 1)];
      if (!exact || exact_[id]) return id;
    }
  }
  std::vector<NamedDim> some_of(std::vector<NamedDim> dims, int most) {
    std::shuffle(dims.begin(), dims.end(), random_);
    dims.resize(std::min(dims.size(), static_cast<size_t>(pick(0, most))));
    return dims;
  }

  void add_input() {
    const bool is_index = chance(20);
    Param param{.name = "x" + std::to_string(out_.program.params.size())};
    const DType types[] = {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64};
    param.dtype = types[is_index ? pick(3, 4) : pick(0, 2)];
    param.dims = some_of(dims_, 3);
    Array array{.dtype = param.dtype};
    int64_t size = 1;
    for (const auto& dim : param.dims) array.shape.push_back(extent(dim));
    array.strides.resize(array.shape.size());
    for (size_t d = array.shape.size(); d-- > 0;) {
      array.strides[d] = size;
      size *= std::max<int64_t>(array.shape[d], 1) + pick(0, 1);  // a gap now and then
    }
    if (!array.strides.empty() && chance(20)) {  // the first dimension backwards
      array.first = array.strides[0] * (std::max<int64_t>(array.shape[0], 1) - 1);
      array.strides[0] = -array.strides[0];
    }
    array.bytes.resize(static_cast<size_t>(size * info(param.dtype).bits / 8));
    for (int64_t i = 0; i < size; ++i) {
      store_element(array.bytes.data(), param.dtype, i, is_index ? pick(-2, 6) : element());
    }
    out_.arrays.push_back(std::move(array));
    out_.program.params.push_back(param);
    note(graph().input(static_cast<int>(out_.program.params.size()) - 1, param.dims, info(param.dtype).num_class, {}),
         true);
  }

  void add_scalar() {
    out_.program.params.push_back({.name = "s", .role = Param::Role::Scalar, .dtype = DType::F32});
    out_.arrays.push_back({.scalar = 0.75});
    note(graph().input(static_cast<int>(out_.program.params.size()) - 1, {}, NumClass::Real, {}), true);
  }

  void add_output() {
    // The last nodes have the most below them.
    const int last = static_cast<int>(nodes_.size()) - 1;
    const NodeId value = nodes_[pick(std::max(0, last - 6), last)];
    Param param{.name = "y" + std::to_string(out_.program.params.size()), .role = Param::Role::Out};
    param.dims = graph()[value].dims;
    std::shuffle(param.dims.begin(), param.dims.end(), random_);
    out_.program.params.push_back(param);
    out_.arrays.push_back({});
    out_.program.outputs.push_back({static_cast<int>(out_.program.params.size()) - 1, value});
  }

  NamedDim dim_of(NodeId id) {
    const auto& dims = graph()[id].dims;
    return dims[pick(0, static_cast<int>(dims.size()) - 1)];
  }

  void grow_one() {
    switch (pick(0, 10)) {
      case 0:
      case 1: {
        std::vector<NodeId> factors;
        bool exact = true;
        for (int i = pick(1, 3); i > 0; --i) factors.push_back(any()), exact = exact && exact_[factors.back()];
        std::vector<NamedDim> all;
        for (const NodeId f : factors) all.insert(all.end(), graph()[f].dims.begin(), graph()[f].dims.end());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return note(graph().contract(factors, some_of(all, 2)), exact && ++products_ < 4);
      }
      case 2: {
        std::vector<NodeId> terms;
        std::vector<double> coefficients;
        bool exact = true;
        for (int i = pick(1, 3); i > 0; --i) {
          terms.push_back(any());
          coefficients.push_back(pick(-4, 4) / 2.0);
          exact = exact && exact_[terms.back()];
        }
        return note(graph().sum(terms, coefficients), exact);
      }
      case 3: {
        const char* names[] = {"neg", "abs", "tanh", "exp", "is_nan", "sigmoid"};
        const int which = pick(0, 5);
        const NodeId x = any(which == 4);
        return note(graph().apply(find_op(names[which]), {x}), which < 2 && exact_[x]);
      }
      case 4: {
        const char* names[] = {"max", "min", "lt", "eq"};
        const int which = pick(0, 3);
        const NodeId x = any(which > 1), y = any(which > 1);
        const NodeId z = graph().apply(find_op(names[which]), {x, y});
        note(z, exact_[x] && exact_[y]);
        if (which > 1) note(graph().apply(find_op("select"), {z, x, y}), true);
        return;
      }
      case 5: {
        const DType types[] = {DType::BF16, DType::E4M3, DType::I32, DType::F16};
        return note(graph().cast(any(true), types[pick(0, 3)]), true);
      }
      case 6: {  // halves: a window of a dimension, under a new name
        const NodeId x = any();
        if (graph()[x].dims.empty()) return;
        const NamedDim dim = dim_of(x);
        const int64_t size = extent(dim);
        const int64_t length = size == 0 ? 0 : pick(0, static_cast<int>(size)),
                      start = pick(0, static_cast<int>(size - length));
        const NamedDim part{dim.name + "_" + std::to_string(length), Dim(length)};
        const bool backwards = length > 0 && chance(30);
        return note(
            graph().view(x, dim, {Dim(backwards ? start + length - 1 : start), {{part, Dim(backwards ? -1 : 1)}}}),
            exact_[x]);
      }
      case 7: {  // a sum of two dimensions as the index, or a diagonal
        const NodeId x = any();
        if (graph()[x].dims.empty()) return;
        const NamedDim dim = dim_of(x);
        const int64_t size = extent(dim), inner = pick(1, 2), outer = size / inner;
        const NamedDim major{"G" + std::to_string(outer), Dim(outer)}, minor{"H" + std::to_string(inner), Dim(inner)};
        return note(graph().view(x, dim, {Dim(0), {{major, Dim(inner)}, {minor, Dim(1)}}}), exact_[x]);
      }
      case 8: {  // places along one, two or no dimensions
        const NodeId x = any();
        const auto digits = some_of(graph()[x].dims, 2);
        AffineMap map{Dim(pick(0, 2)), {}};
        int64_t stride = 1, reach = 0;
        for (const auto& digit : digits) {
          map.terms.push_back({digit, Dim(stride)});
          reach += stride * std::max<int64_t>(extent(digit) - 1, 0);
          stride *= chance(80) ? std::max<int64_t>(extent(digit), 1) + pick(0, 1) : 1;  // at times not one-to-one
        }
        const int64_t size = map.offset.constant().value() + reach + 1 + pick(0, 2);
        const NamedDim dim{"P" + std::to_string(size), Dim(size)};
        const auto& dims = graph()[x].dims;
        const bool stays = std::any_of(dims.begin(), dims.end(), [&](const auto& d) { return d.name == dim.name; });
        if (stays) return;
        return note(graph().put(x, dim, map), exact_[x]);
      }
      case 9: {
        const auto reductions = reduction_table();
        const NodeId x = any();
        const Reduction* reduction = reductions[pick(0, static_cast<int>(reductions.size()) - 1)];
        const std::string_view name = reduction->name;
        if ((name == "any" || name == "all") && !exact_[x]) return;
        const bool keeps = name == "max" || name == "min" || name == "absmax" || name == "any" || name == "all";
        return note(graph().reduce(reduction, x, some_of(graph()[x].dims, 2)), keeps && exact_[x]);
      }
      default: {
        std::vector<NodeId> indices;
        for (const NodeId id : nodes_) {
          if (graph()[id].num_class == NumClass::Int) indices.push_back(id);
        }
        const NodeId x = any();
        if (graph()[x].dims.empty()) return;
        indices.push_back(graph().index(dim_of(x)));
        return note(graph().gather(x, dim_of(x), indices[pick(0, static_cast<int>(indices.size()) - 1)]), exact_[x]);
      }
    }
  }

  std::mt19937 random_;
  bool special_;
  int least_;
  RandomProgram out_;
  std::vector<NamedDim> dims_;
  std::vector<NodeId> nodes_;
  std::vector<bool> exact_;
  int products_ = 0;
};

}  // namespace

std::vector<ReferenceInput> RandomProgram::inputs() const {
  std::vector<ReferenceInput> inputs;
  for (const Array& array : arrays) {
    const int64_t offset = array.first * info(array.dtype).bits / 8;
    inputs.push_back({.data = array.bytes.empty() ? nullptr : array.bytes.data() + offset,
                      .dtype = array.dtype,
                      .shape = array.shape,
                      .strides = array.strides,
                      .scalar = array.scalar});
  }
  return inputs;
}

RandomProgram random_program(unsigned seed, bool special, int least_extent) {
  return Grower(seed, special, least_extent).grow();
}

}  // namespace coda::test
