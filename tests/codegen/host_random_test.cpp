// Random kernels as text, each run at random sizes and strides beside the reference.
#include <catch2/catch.hpp>
#include <random>

#include "host_case.h"

using namespace coda;
using namespace coda::test;

namespace {

/// Grows one kernel: a product in some layout, its columns taken in some form, expressions over what that gives and
/// over inputs, stored in several types and reduced in several ways.
class KernelGrower {
 public:
  explicit KernelGrower(unsigned seed) : random_(seed) {}

  std::string text;
  Bindings bound, sizes;

  void grow() {
    sizes = {{"M", size()}, {"K", pick(0, 40)}};
    switch (pick(0, 4)) {
      case 0:
        columns("N", "N");
        leaves_ = {"z"};
        break;
      case 1:
        columns("2*F", "F");
        lets_ = "    let (a, b) = halves(z)\n";
        leaves_ = {"a", "b"};
        break;
      case 2:
        columns("2*F", "F");
        lets_ = "    let (a, b) = pairs(z)\n";
        leaves_ = {"a", "b"};
        break;
      case 3: {
        bound["Dh"] = 2 * pick(1, 20);
        columns("H*Dh", "H, Dh");
        lets_ = "    let a = group(z, Dh)\n";
        leaves_ = {"a", "mean(a*a, over = Dh)", "max(a, over = Dh)"};
        if (chance(60)) {
          lets_ += "    let (lo, hi) = halves(a)\n    let t = join_halves(hi, -lo)\n";
          leaves_.push_back("t");
        }
        break;
      }
      default:
        columns("2*F + G", "F");
        sizes["G"] = size();
        lets_ = "    let (a, b, c) = split(z, F, F, G)\n";
        leaves_ = {"a", "b"};
    }
    input("f32", "M");
    input("bf16", dims_);
    input("f16", "M, " + dims_);
    if (dims_ == "H, Dh") input("f32", "Dh");
    parameters_ += ", alpha: f32";
    leaves_.push_back("alpha");

    const int stores = pick(1, 3);
    for (int i = 0; i < stores; ++i) {
      const char* types[] = {"f32", "bf16", "f16", "e4m3", "e5m2"};
      const std::string name = "y" + std::to_string(i);
      const bool permuted = dims_ != "H, Dh" && chance(20);
      outputs_ += (i > 0 ? ", " : "") + name + ": " + types[pick(0, 4)] +
                  (permuted ? "[" + dims_ + ", M]" : "[M, " + dims_ + "]");
      stores_ += "    " + name + " = " + whole_expression() + "\n";
    }
    const char* reductions[] = {"sum", "mean", "max", "min", "absmax", "logsumexp"};
    if (chance(50)) {
      outputs_ += ", r: f32[M]";
      stores_ +=
          "    r = " + std::string(reductions[pick(0, 5)]) + "(" + reduced_expression() + ", over = (" + dims_ + "))\n";
    }
    if (chance(50)) {
      outputs_ += ", s: f32[" + dims_ + "]";
      stores_ += "    s = " + std::string(reductions[pick(0, 5)]) + "(" + reduced_expression() + ", over = M)\n";
    }
    if (dims_ == "F" && lets_.find("split") != std::string::npos) {
      outputs_ += ", rest: f32[M, G]";
      stores_ += "    rest = c * " + std::to_string(pick(1, 3)) + "\n";
    }
    text = "kernel f(" + parameters_ + ") -> (" + outputs_ + ") {\n    let z = " + product_ + "\n" + lets_ + stores_ +
           "}\n";
  }

  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  bool chance(int percent) { return pick(0, 99) < percent; }
  int64_t size() { return chance(70) ? pick(1, 40) : pick(100, 330); }

  void columns(const std::string& n, const std::string& dims) {
    dims_ = dims;
    for (const std::string symbol : {"N", "F", "H"}) {
      if (dims.find(symbol) != std::string::npos) sizes[symbol] = symbol == "H" ? pick(1, 12) : size();
    }
    const bool a = chance(70), b = chance(70);
    const std::string type = chance(50) ? "bf16" : chance(50) ? "f16" : "f32";
    parameters_ = "x: " + type + (a ? "[M, K]" : "[K, M]") + ", w: " + type + (b ? "[" + n + ", K]" : "[K, " + n + "]");
    product_ = std::string(a ? "x" : "x.T") + " @ " + (b ? "w.T" : "w");
  }

  void input(const std::string& type, const std::string& dims) {
    const std::string name = "p" + std::to_string(inputs_++);
    parameters_ += ", " + name + ": " + type + "[" + dims + "]";
    leaves_.push_back(name);
  }

  std::string leaf() { return leaves_[pick(0, static_cast<int64_t>(leaves_.size()) - 1)]; }

  /// Smooth and tame, so that what f32 loses stays within a few units of the largest result.
  std::string expression(int depth) {
    if (depth == 0 || chance(15)) return chance(12) ? std::to_string(pick(1, 3)) + ".5" : leaf();
    const auto sub = [&] { return expression(depth - 1); };
    switch (pick(0, 8)) {
      case 0:
        return "(" + sub() + " + " + sub() + ")";
      case 1:
        return "(" + sub() + " - " + sub() + ")";
      case 2:
        return "(0.25 * " + sub() + " * tanh(" + sub() + "))";
      case 3:
        return "max(" + sub() + ", " + sub() + ")";
      case 4:
        return "sigmoid(" + sub() + ")";
      case 5:
        return "tanh(" + sub() + ")";
      case 6:
        return "select(" + leaf() + " > 0.3, " + sub() + ", " + sub() + ")";
      case 7:
        return "(" + sub() + " / (1 + abs(" + sub() + ")))";
      default:
        return "silu(" + sub() + ")";
    }
  }
  /// One that surely has all of the columns' dimensions.
  std::string whole_expression() { return "(" + leaves_[0] + " + " + expression(3) + ")"; }
  /// One that is no stored value: the statistics of those are of what was stored, and the reference does not round.
  std::string reduced_expression() { return "(0.75 * " + leaves_[0] + " + " + expression(3) + ")"; }

  std::mt19937 random_;
  std::string parameters_, product_, lets_, dims_, outputs_, stores_;
  std::vector<std::string> leaves_;
  int inputs_ = 0;
};

}  // namespace

/// Raise it for a longer hunt.
#ifndef CODA_HOST_SEEDS
#define CODA_HOST_SEEDS 60
#endif

TEST_CASE("host: random kernels", "[host]") {
  for (unsigned seed = 1; seed <= CODA_HOST_SEEDS; ++seed) {
    KernelGrower grower(seed);
    grower.grow();
    INFO("seed " << seed);
    const HostProgram program = compile_for_host(grower.text, grower.bound);
    HostRun run{.sizes = grower.sizes, .threads = static_cast<int>(1 + seed % 3), .ulps = 400};
    run_and_check(program, run);
    run.pitch = grower.pick(0, 3);
    run.last_stride = grower.pick(1, 2);
    run_and_check(program, run);
  }
}
