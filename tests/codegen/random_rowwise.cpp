#include "random_rowwise.h"

#include <random>
#include <vector>

namespace coda::test {
namespace {

/// Grows one kernel: tensors of some shape, statistics of rows over them and over what these make, expressions of all
/// that stored in several types, and perhaps statistics over all rows.
class RowwiseGrower {
 public:
  explicit RowwiseGrower(unsigned seed) : random_(seed) {}

  std::string text;
  Bindings bound, sizes;

  void grow() {
    sizes = {{"M", size()}};
    switch (pick(0, 4)) {
      case 0:
        shape("M, N", "N");
        break;
      case 1:
        shape("M, H, D", "D");
        sizes["H"] = pick(1, 5);
        break;
      case 2:
        shape("M, 2*E", "2*E");
        lets_ = "    let (lo, hi) = halves(z)\n    let w = join_halves(hi, -lo)\n";
        leaves_.push_back("w");
        break;
      case 3:
        shape("M, 2*E", "2*E");
        lets_ = "    let (a, b) = pairs(z)\n    let w = join_pairs(b, a)\n";
        leaves_.push_back("w");
        break;
      default:
        shape("M, G, P", "P");
        sizes["G"] = pick(1, 5);
        bound["P"] = pick(1, 40);
    }
    input("f32", rows_);
    input("f16", last_);
    input("bf16", dims_);
    parameters_ += ", alpha: f32";
    leaves_.push_back("alpha");
    const char* reductions[] = {"sum", "mean", "max", "min", "absmax", "logsumexp"};
    const int64_t statistics = pick(0, 3);
    for (int64_t i = 0; i < statistics; ++i) {
      const std::string name = "s" + std::to_string(i);
      lets_ +=
          "    let " + name + " = tanh(0.1 * " + reductions[pick(0, 5)] + "(" + inner() + ", over = " + last_ + "))\n";
      leaves_.push_back(name);
    }
    const int64_t stores = pick(1, 3);
    for (int64_t i = 0; i < stores; ++i) {
      const char* types[] = {"f32", "bf16", "f16", "e4m3", "e5m2"};
      const std::string name = "y" + std::to_string(i);
      outputs_ += (i > 0 ? ", " : "") + name + ": " + types[pick(0, 4)] + "[" + dims_ + "]";
      stores_ += "    " + name + (chance(25) ? " = z\n" : " = z + " + expression(3) + "\n");
    }
    if (chance(50)) {
      outputs_ += ", r: f32[" + rows_ + "]";
      stores_ += "    r = " + std::string(reductions[pick(0, 5)]) + "(" + inner() + ", over = " + last_ + ")\n";
    }
    if (chance(40)) {
      outputs_ += ", c: f32[" + last_ + "]";
      stores_ += "    c = " + std::string(reductions[pick(0, 5)]) + "(" + inner() + ", over = (" + rows_ + "))\n";
    }
    if (chance(30)) {
      outputs_ += ", t: f32";
      stores_ += "    t = " + std::string(reductions[pick(0, 5)]) + "(" + inner() + ", over = (" + dims_ + "))\n";
    }
    text = "kernel f(" + parameters_ + ") -> (" + outputs_ + ") {\n    let z = 0.5*x\n" + lets_ + stores_ + "}\n";
  }

  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  bool chance(int percent) { return pick(0, 99) < percent; }
  int64_t size() { return chance(70) ? pick(1, 40) : pick(100, 330); }

  void shape(const std::string& dims, const std::string& last) {
    dims_ = dims;
    last_ = last;
    rows_ = dims.substr(0, dims.size() - last.size() - 2);
    parameters_ = std::string("x: ") + (chance(50) ? "bf16" : chance(50) ? "f16" : "f32") + "[" + dims + "]";
    leaves_ = {"z"};
    for (const std::string symbol : {"N", "D", "E"}) {
      if (dims.find(symbol) != std::string::npos) sizes[symbol] = size();
    }
  }

  void input(const std::string& type, const std::string& dims) {
    const std::string name = "p" + std::to_string(inputs_++);
    parameters_ += ", " + name + ": " + type + "[" + dims + "]";
    leaves_.push_back(name);
  }

  std::string leaf() { return leaves_[static_cast<size_t>(pick(0, static_cast<int64_t>(leaves_.size()) - 1))]; }

  std::string expression(int depth) {
    if (depth == 0 || chance(15)) return chance(12) ? std::to_string(pick(1, 3)) + ".5" : leaf();
    const auto sub = [&] { return expression(depth - 1); };
    switch (pick(0, 6)) {
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
        return "(" + sub() + " / (1 + abs(" + sub() + ")))";
      default:
        return "silu(" + sub() + ")";
    }
  }
  /// Of z itself too, which an output may store rounded.
  std::string inner() { return pick(0, 2) ? "(0.75 * z + " + expression(2) + ")" : "z"; }

  std::mt19937 random_;
  std::string parameters_, lets_, dims_, rows_, last_, outputs_, stores_;
  std::vector<std::string> leaves_;
  int inputs_ = 0;
};

}  // namespace

RandomRowwise random_rowwise(unsigned seed) {
  RowwiseGrower grower(seed);
  grower.grow();
  return {grower.text, grower.bound, grower.sizes, grower.pick(0, 3), grower.pick(1, 2), grower.pick(1, 9000)};
}

}  // namespace coda::test
