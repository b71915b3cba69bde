#include "sm90_programs.h"

namespace coda::test {
namespace {

NamedDim dim(const std::string& name) { return {name, Dim::symbol(name)}; }

int add_param(EpilogueProgram& e, const std::string& name, Param::Role role, DType dtype, std::vector<NamedDim> dims) {
  Param p;
  p.name = name;
  p.role = role;
  p.dtype = dtype;
  p.dims = std::move(dims);
  e.program.params.push_back(p);
  return static_cast<int>(e.program.params.size()) - 1;
}

AffineMap along(const NamedDim& d) { return {Dim(0), {{d, Dim(1)}}}; }

void set_gemm(EpilogueProgram& e, bool a_depth_major, bool b_depth_major, DType operand, const NamedDim& m,
              const NamedDim& n, const NamedDim& k) {
  const int a = add_param(e, "a", Param::Role::In, operand, a_depth_major ? std::vector{m, k} : std::vector{k, m});
  const int b = add_param(e, "b", Param::Role::In, operand, b_depth_major ? std::vector{n, k} : std::vector{k, n});
  e.a = {a, {a_depth_major ? 0 : 1}, a_depth_major ? 1 : 0};
  e.b = {b, {b_depth_major ? 0 : 1}, b_depth_major ? 1 : 0};
  e.operand_dtype = operand;
  e.rows = {m};
  e.column = n;
  e.depth = k.extent;
  Graph& g = e.program.graph;
  e.accumulator = g.contract({g.input(a, e.program.params[static_cast<size_t>(a)].dims, NumClass::Real, {}),
                              g.input(b, e.program.params[static_cast<size_t>(b)].dims, NumClass::Real, {})},
                             {k});
}

}  // namespace

EpilogueProgram plain_gemm(bool a_depth_major, bool b_depth_major, DType operand, DType output) {
  EpilogueProgram e;
  e.program.name = "gemm";
  const NamedDim m = dim("M"), n = dim("N"), k = dim("K");
  set_gemm(e, a_depth_major, b_depth_major, operand, m, n, k);
  const int d = add_param(e, "d", Param::Role::Out, output, {m, n});
  e.regions = {{n.extent, {Dim(0)}, 1}};
  e.stores = {{d, e.accumulator, 0, {{{n, n.extent, Dim(1), Dim(0)}}, 0}, {along(m), along(n)}}};
  e.program.outputs = {{d, e.accumulator}};
  return e;
}

EpilogueProgram gate_up() {
  EpilogueProgram e;
  e.program.name = "gate_up";
  const NamedDim m = dim("M"), f = dim("F"), k = dim("K");
  const NamedDim n{"2*F", f.extent * Dim(2)};
  set_gemm(e, true, true, DType::BF16, m, n, k);
  const int rstd = add_param(e, "rstd", Param::Role::In, DType::F32, {m});
  const int act = add_param(e, "act", Param::Role::Out, DType::BF16, {m, f});
  Graph& g = e.program.graph;
  const NodeId z = g.contract({e.accumulator, g.input(rstd, {m}, NumClass::Real, {})}, {});
  const NodeId gate = g.view(z, n, {Dim(0), {{f, Dim(1)}}}), up = g.view(z, n, {f.extent, {{f, Dim(1)}}});
  const NodeId value = g.contract({gate, g.apply(find_op("sigmoid"), {gate}), up}, {});
  e.regions = {{f.extent, {Dim(0), f.extent}, 1}};
  e.stores = {{act, value, 0, {{{f, f.extent, Dim(1), Dim(0)}}, 0}, {along(m), along(f)}}};
  e.program.outputs = {{act, value}};
  return e;
}

std::vector<std::pair<std::string, EpilogueProgram>> all_programs() {
  std::vector<std::pair<std::string, EpilogueProgram>> list;
  for (const bool a : {true, false}) {
    for (const bool b : {true, false}) {
      list.emplace_back(std::string("gemm_") + (a ? "k" : "m") + (b ? "k" : "n"),
                        plain_gemm(a, b, DType::BF16, DType::BF16));
    }
  }
  list.emplace_back("gemm_f16", plain_gemm(true, true, DType::F16, DType::F32));
  list.emplace_back("gate_up", gate_up());
  return list;
}

}  // namespace coda::test
