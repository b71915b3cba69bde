// Records of what the IR and its normal form do by themselves (algebra.cpp, products.cpp, index_maps.cpp).
#include "compiler/rewrite/law.h"

namespace coda {

namespace {

LawCase commuted(CaseRandom& random) {
  const std::string a = random.pick({"x * w.T", "(x + 1) * w.T"}), c = random.pick({"exp(x)", "x", "x * x"});
  return {"block case(x: f32[T, D], w: f32[D, T]) -> (y: f32[T, D], z: f32[T, D]) {\n  y = (" + a + ") * " + c +
              " + x\n  z = x + " + c + " * (w.T * " + (a[0] == '(' ? "(x + 1)" : "x") + ")\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

LawCase transposed(CaseRandom& random) {
  const std::string a = random.pick({"x", "tanh(x)"}), b = a == "x" ? random.pick({"w", "exp(w)"}) : "w";
  return {"block case(x: f32[T, D], w: f32[D, F]) -> (y: f32[F, T], z: f32[F, T]) {\n  y = (" + a + " @ " + b +
              ").T\n  z = " + b + ".T @ " + a + ".T\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase repeated(CaseRandom& random) {
  const std::string f = random.pick({"exp", "tanh", "sigmoid"});
  return {"fn f(x) = " + f + "(2 * x)\nblock case(x: f32[T, D], w: f32[D, F]) -> (y: f32[T, F], z: f32[T, F]) {\n" +
              "  let u = f(x) @ w\n  y = f(u)\n  z = f(f(x) @ w)\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase row_factor(CaseRandom& random) {
  const std::string r = random.pick({"r", "rsqrt(r * r + 1)", "rsqrt(sum(x * x, over = D) + 1)"});
  return {"block case(x: f32[T, D], w: f32[D, F], r: f32[T]) -> (y: f32[T, F]) {\n  y = (x * " + r + ") @ w\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase separate(CaseRandom& random) {
  const std::string f = random.pick({"u * v", "exp(u) * v", "u * u * v * 2"});
  return {"block case(u: f32[T, D], v: f32[F, E]) -> (y: f32[T, F]) {\n  y = sum(" + f + ", over = (D, E))\n}\n",
          random.sizes({"T", "D", "F", "E"}),
          {}};
}

LawCase row_sum_of_gemm(CaseRandom& random) {
  const std::string f = random.pick({"x @ w", "exp(x) @ w", "(x * g) @ w"});
  return {"block case(x: f32[T, D], w: f32[D, F], g: f32[D]) -> (y: f32[T]) {\n  y = sum(" + f + ", over = F)\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase nested(CaseRandom& random) {
  const std::string f = random.pick({"x * w", "exp(x) * w", "x * x * w"});
  return {
      "block case(x: f32[T, D], w: f32[D, F, T]) -> (y: f32[F]) {\n  y = sum(sum(" + f + ", over = D), over = T)\n}\n",
      random.sizes({"T", "D", "F"}),
      {}};
}

LawCase sum_of_join(CaseRandom& random) {
  const std::string f = random.pick({"a * 2", "exp(a)", "a * b"});
  return {"block case(x: f32[T, 2*D]) -> (y: f32[T]) {\n  let (a, b) = halves(x)\n  y = sum(join_halves(" + f +
              ", b), over = 2*D)\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

LawCase sum_of_constant(CaseRandom& random) {
  const std::string f = random.pick({"x * x", "exp(x)", "2 * x"});
  return {"block case(x: f32[T], g: f32[D]) -> (y: f32[T]) {\n  y = sum(" + f + " + 0 * g, over = D)\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

/// y = f(x, r) @ w, with an op that the front end writes in other words.
LawCase through_gemm(CaseRandom& random, const char* op, bool with_row, const Dim& depth = Dim::symbol("D")) {
  const NamedDim t{"T", Dim::symbol("T")}, d{"D", depth}, f{"F", Dim::symbol("F")};
  Program program;
  program.name = "case";
  program.is_block = true;
  const auto param = [&](const char* name, std::vector<NamedDim> dims, Param::Role role) {
    program.params.push_back({.name = name, .role = role, .dtype = DType::F32, .dims = std::move(dims)});
    const int index = static_cast<int>(program.params.size()) - 1;
    const Param& made = program.params.back();
    return role == Param::Role::Out ? kNoNode : program.graph.input(index, made.dims, NumClass::Real, {});
  };
  const NodeId x = param("x", {t, d}, Param::Role::In), w = param("w", {d, f}, Param::Role::In);
  std::vector<NodeId> args{random.whole(0, 1) == 0 ? x : program.graph.apply(find_op("tanh"), {x})};
  if (with_row) args.push_back(program.graph.apply(find_op("exp"), {param("r", {t}, Param::Role::In)}));
  const NodeId scaled = program.graph.apply(find_op(op), args);
  param("y", {t, f}, Param::Role::Out);
  program.outputs.push_back(
      {static_cast<int>(program.params.size()) - 1, program.graph.contract({scaled, w}, {d}), {}});
  return {"", random.sizes({"T", "D", "F"}), {}, program};
}

LawCase sum_over_one(CaseRandom& random) { return through_gemm(random, "tanh", false, Dim(1)); }

LawCase quotient(CaseRandom& random) { return through_gemm(random, "div", true); }

LawCase negated(CaseRandom& random) { return through_gemm(random, "neg", false); }

LawCase cancelled(CaseRandom& random) {
  const std::string a = random.pick({"exp(x)", "(1 + x * x)", "sigmoid(x)"});
  return {"block case(x: f32[T, D], w: f32[T, D]) -> (y: f32[T, D]) {\n  y = " + a + " * w / " + a + "\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

LawCase like_terms(CaseRandom& random) {
  const std::string c = random.pick({"2", "0.5", "3"});
  return {"block case(x: f32[T, D], w: f32[D, F]) -> (y: f32[T, F]) {\n  y = x @ w + (" + c + " * x) @ w\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase map_inward(CaseRandom& random) {
  const std::string f = random.pick({"exp(z)", "z * r", "z + x", "2 * z * z"});
  return {"block case(x: f32[T, 2*D], w: f32[2*D, 2*D as N], r: f32[T]) -> (y: f32[T, D]) {\n  let z = x @ w\n" +
              std::string("  let (a, b) = halves(") + (f == "z + x" ? "z * 3" : f) + ")\n  y = a - b\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

LawCase map_of_map(CaseRandom& random) {
  const std::string inner = random.pick({"halves", "pairs"}), outer = random.pick({"halves", "pairs"});
  return {"block case(x: f32[T, 4*D]) -> (y: f32[T, D], z: f32[T, D]) {\n  let (a, b) = " + inner +
              "(x)\n  let (c, d) = " + outer + "(b)\n  y = c\n  z = d * 2\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

LawCase piece_of_join(CaseRandom& random) {
  const std::string f = random.pick({"exp(a)", "a * b", "a - b"});
  return {"block case(a: f32[T, D], b: f32[T, D]) -> (y: f32[T, D]) {\n  let (u, v) = halves(join_halves(" + f +
              ", b))\n  y = u * 2 + v\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

}  // namespace

extern const Law kCommuted{.name = "order of operands",
                           .equation = "a*b = b*a, a*(b*c) = (a*b)*c, a + b = b + a",
                           .conditions = "none: products and sums keep their operands in one order",
                           .kind = LawKind::Identity,
                           .exactness = Exactness::Reals,
                           .random_case = commuted,
                           .inherent = "equal values are one node of the graph"};
extern const Law kTransposed{.name = "transpose",
                             .equation = "(a @ b).T = b.T @ a.T",
                             .conditions = "none: dimensions have names, not positions",
                             .kind = LawKind::Identity,
                             .exactness = Exactness::Reals,
                             .random_case = transposed,
                             .inherent = "dimensions have names, not positions"};
extern const Law kCommonSubexpression{.name = "common subexpression",
                                      .equation = "equal expressions are one value",
                                      .conditions = "none",
                                      .kind = LawKind::Identity,
                                      .exactness = Exactness::Reals,
                                      .random_case = repeated,
                                      .inherent = "equal values are one node of the graph"};

const Law kFactorOut{
    .name = "factor out",
    .equation = "sum(r*a, over = d) = r*sum(a, over = d)",
    .conditions = "r lacks the summed dimension d; it is not what keeps an operand of a product with f16 in range",
    .kind = LawKind::Normal,
    .exactness = Exactness::Elastic,
    .random_case = row_factor};
const Law kSeparateSums{.name = "separate sums",
                        .equation = "sum(a*b, over = (d, e)) = sum(a, over = d)*sum(b, over = e)",
                        .conditions = "a and b share no summed dimension",
                        .kind = LawKind::Normal,
                        .exactness = Exactness::Reals,
                        .random_case = separate};
const Law kLinearReduction{.name = "linear reduction",
                           .equation = "sum(a*f, over = (d, e)) = sum(a*sum(f, over = e), over = d)",
                           .conditions =
                               "only f has e, which may be a tensor times weights of it: a row sum of a GEMM is a "
                               "product with a vector",
                           .kind = LawKind::Normal,
                           .exactness = Exactness::Reals,
                           .random_case = row_sum_of_gemm};
const Law kNestedSums{.name = "nested sums",
                      .equation = "sum(sum(x, over = d), over = e) = sum(x, over = (d, e))",
                      .conditions = "none",
                      .kind = LawKind::Normal,
                      .exactness = Exactness::Reals,
                      .random_case = nested};
const Law kSumOfJoin{.name = "sum of a piece put in place",
                     .equation = "sum(put(x, at d), over = d) = sum(x)",
                     .conditions = "the rest of d is 0",
                     .kind = LawKind::Normal,
                     .exactness = Exactness::Reals,
                     .random_case = sum_of_join};
const Law kSumOfConstant{.name = "sum of what lacks the dimension",
                         .equation = "sum(a, over = d) = a*extent(d)",
                         .conditions = "a lacks d",
                         .kind = LawKind::Normal,
                         .exactness = Exactness::Reals,
                         .random_case = sum_of_constant,
                         .inherent = "a sum over a dimension that its body lacks has no other form"};
const Law kSumOverOne{.name = "sum over one",
                      .equation = "sum(x, over = d) = x at d = 0",
                      .conditions = "d has one element",
                      .kind = LawKind::Normal,
                      .exactness = Exactness::Reals,
                      .random_case = sum_over_one};
const Law kQuotient{.name = "quotient as product",
                    .equation = "a / b = a*(1/b)",
                    .conditions = "none",
                    .kind = LawKind::Normal,
                    .exactness = Exactness::Reals,
                    .random_case = quotient};
const Law kLinearOp{.name = "linear op",
                    .equation = "f(x) = c*x",
                    .conditions = "the op's record gives c",
                    .kind = LawKind::Normal,
                    .exactness = Exactness::Reals,
                    .random_case = negated};
const Law kCancel{.name = "cancel",
                  .equation = "a*(1/a) = 1",
                  .conditions = "a is positive whatever the inputs are",
                  .kind = LawKind::Normal,
                  .exactness = Exactness::Reals,
                  .random_case = cancelled};
const Law kLikeTerms{.name = "like terms",
                     .equation = "a*x + b*x = (a + b)*x",
                     .conditions = "a and b are numbers",
                     .kind = LawKind::Normal,
                     .exactness = Exactness::Reals,
                     .random_case = like_terms};
const Law kMapInward{.name = "index map inward",
                     .equation = "piece(f(x, y)) = f(piece(x), piece(y))",
                     .conditions = "f is elementwise",
                     .kind = LawKind::Normal,
                     .exactness = Exactness::Reals,
                     .random_case = map_inward};
const Law kMapOfMap{.name = "piece of a piece",
                    .equation = "piece(piece(x)) = piece(x)",
                    .conditions = "maps are composed",
                    .kind = LawKind::Normal,
                    .exactness = Exactness::Reals,
                    .random_case = map_of_map};
const Law kPieceOfJoin{.name = "piece of a join",
                       .equation = "first(join(a, b)) = a",
                       .conditions = "the piece is what was put there, or lies beside it",
                       .kind = LawKind::Normal,
                       .exactness = Exactness::Reals,
                       .random_case = piece_of_join};

}  // namespace coda
