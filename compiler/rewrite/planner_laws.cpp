// Records of what the planner does with factors, statistics and values (compiler/plan). Their cases are blocks: the
// plan must log the law, and run as the source does.
#include "compiler/rewrite/law.h"

namespace coda {

namespace {

const char* const kNorm = "fn norm(x) = x * rsqrt(mean(x * x, over = last(x)) + 1e-5)\n";

LawCase two_gemms(CaseRandom& random) {
  const std::string act = random.pick({"z * z", "z", "z * tanh(z)"});
  return {std::string(kNorm) +
              "block case(x: bf16[T, D], a: bf16[T, A], wo: bf16[A, D], w: bf16[D, F], wd: bf16[F, D])"
              " -> (y: bf16[T, D]) {\n  let h = x + a @ wo\n  let z = norm(h) @ w\n  y = h + (" +
              act + ") @ wd\n}\n",
          random.sizes({"T", "D", "A", "F"}),
          {}};
}

LawCase gain(CaseRandom& random) {
  const std::string g = random.pick({"g", "(1 + g)", "exp(g)"});
  return {"block case(x: bf16[T, D], g: bf16[D], w: bf16[D, F]) -> (y: bf16[T, F]) {\n  y = (x * " + g + ") @ w\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase statistic(CaseRandom& random) {
  const std::string s = random.pick({"rsqrt(sum(h * h, over = D) + 1)", "1 / (absmax(h, over = D) + 1)"});
  return {
      "block case(x: bf16[T, D], a: bf16[T, A], wo: bf16[A, D], w: bf16[D, F]) -> (y: bf16[T, F]) {\n"
      "  let h = x + a @ wo\n  y = (h * " +
          s + ") @ w\n}\n",
      random.sizes({"T", "D", "A", "F"}),
      {}};
}

LawCase residual(CaseRandom& random) {
  const std::string f = random.pick({"x + a @ w", "2 * x - a @ w", "x + s * (a @ w)"});
  return {
      "block case(x: bf16[T, D], a: bf16[T, A], w: bf16[A, D], s: f32[D]) -> (y: bf16[T, D]) {\n  y = " + f + "\n}\n",
      random.sizes({"T", "D", "A"}),
      {}};
}

LawCase stored_once(CaseRandom& random) {
  const std::string f = random.pick({"tanh(y)", "exp(y)", "y * sigmoid(y)"});
  return {
      "block case(x: bf16[T, D], w: bf16[D, F], v: bf16[F, N], u: bf16[N, F]) -> (z: bf16[T, F], o: bf16[T, F]) {\n"
      "  let y = x @ w\n  z = y\n  o = ((y @ v) @ u) * " +
          f + "\n}\n",
      random.sizes({"T", "D", "F", "N"}),
      {}};
}

LawCase gated(CaseRandom& random) {
  const std::string f = random.pick({"sigmoid(a)", "tanh(a)", "max(a, 0)"}), h = random.pick({"halves", "pairs"});
  return {"block case(x: bf16[T, D], w: bf16[D, 2*F]) -> (y: bf16[T, F]) {\n  let (a, b) = " + h +
              "(x @ w)\n  y = " + f + " * b\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase regions(CaseRandom& random) {
  const std::string f = random.pick({"a * 2", "tanh(a)", "exp(a)"});
  return {
      "block case(x: bf16[T, D], w: bf16[D, F + N]) -> (y: bf16[T, F], z: bf16[T, N]) {\n"
      "  let (a, b) = split(x @ w, F, N)\n  y = " +
          f + "\n  z = b\n}\n",
      random.sizes({"T", "D", "F", "N"}),
      {}};
}

LawCase two_passes(CaseRandom& random) {
  const std::string f = random.pick({"sum(x * x, over = last(x))", "absmax(x, over = last(x))"});
  const Bindings sizes = random.sizes({"T", "N", "P", "R"});
  return {"fn unit(x) = x / (" + f +
              " + 1)\n"
              "block case(q: bf16[T, P], k: bf16[T, R], w: bf16[N, P + R]) -> (y: bf16[T, N]) {\n"
              "  y = concat(unit(q), unit(k)) @ w.T\n}\n",
          sizes,
          {}};
}

}  // namespace

const Law kPlaceEarly{
    .name = "place early",
    .equation = "r*sum(a*b, over = d) = sum((r*a)*b, over = d)",
    .conditions =
        "r is finished before the kernel that makes a starts, and every use of the sum has r; a is computed, no cast "
        "that the program writes, and kept in a type of f32's range",
    .kind = LawKind::Planner,
    .exactness = Exactness::Elastic,
    .random_case = two_gemms};
const Law kColumnFactor{.name = "column factor",
                        .equation = "sum((a*g)*w, over = d) = sum(a*(g*w), over = d)",
                        .conditions = "g has only the summed dimension; the side that costs less takes it",
                        .kind = LawKind::Planner,
                        .exactness = Exactness::Elastic,
                        .random_case = gain,
                        .inherent = "the factor multiplies one operand or the other: both are weighed"};
const Law kSplitReduction{
    .name = "split reduction",
    .equation = "f(x, over = d) = finish(combine(f(x in a tile of d)))",
    .conditions = "f is a monoid: the kernel that makes x takes partials, later ones use the whole",
    .kind = LawKind::Planner,
    .exactness = Exactness::Reals,
    .random_case = statistic,
    .inherent = "no kernel sees all of a statistic that is wider than its tile"};
const Law kAccumulatorInput{.name = "accumulator input",
                            .equation = "h = x + a @ w in the kernel of a @ w",
                            .conditions = "x is read where the product is still in registers",
                            .kind = LawKind::Planner,
                            .exactness = Exactness::Elastic,
                            .random_case = residual,
                            .inherent = "what is added to a product is read by some kernel, and its own does it"};
const Law kRecompute{.name = "recompute",
                     .equation = "f(x) computed again from x, instead of stored",
                     .conditions = "a minimum cut: x is stored or read anyway, or is narrower",
                     .kind = LawKind::Planner,
                     .exactness = Exactness::Elastic,
                     .random_case = stored_once,
                     .inherent = "a value is stored or computed again: the cut that moves the fewest bytes says which"};
const Law kPairing{.name = "pairing",
                   .equation = "f(piece(a @ w), piece(a @ w)) in the kernel of a @ w",
                   .conditions = "the pieces' columns of w are loaded into one tile",
                   .kind = LawKind::Planner,
                   .exactness = Exactness::Reals,
                   .random_case = gated,
                   .inherent = "an epilogue that needs several pieces of a product gets them from one tile"};
const Law kRegions{.name = "regions",
                   .equation = "pieces of a @ w with epilogues of their own in one kernel",
                   .conditions = "the pieces are ranges of columns",
                   .kind = LawKind::Planner,
                   .exactness = Exactness::Reals,
                   .random_case = regions,
                   .inherent = "pieces of one product are in one kernel"};

const Law kOnePass{.name = "one pass",
                   .equation = "f(x) and g(x, f(x)) in one pass over the rows of x",
                   .conditions =
                       "no kernel between them needs the one or makes what the other needs, one kernel can hold "
                       "both, and no row's statistic would be taken for every element",
                   .kind = LawKind::Planner,
                   .exactness = Exactness::Elastic,
                   .random_case = two_passes};

}  // namespace coda
