#include "stepwise_block.h"

#include <array>
#include <random>

namespace coda::test {

namespace {

constexpr const char* kDefinitions = R"(
fn rms(x) = x * rsqrt(mean(x * x, over = last(x)) + 0.1)
fn mean_abs(x) = x / (mean(abs(x), over = last(x)) + 0.5)
fn l4(x) = x / sqrt(sqrt(mean(x * x * x * x, over = last(x)) + 0.1))
fn clipped(x) = x * tanh(rsqrt(mean(x * x, over = last(x)) + 0.1))
fn layer(x) {
  let c = x - mean(x, over = last(x))
  c * rsqrt(mean(c * c, over = last(x)) + 0.1)
}
fn deviation(x) {
  let c = x - mean(x, over = last(x))
  c / (mean(abs(c), over = last(x)) + 0.5)
}
fn by_max(x) = x / (absmax(x, over = last(x)) + 0.5)
fn share(x) = sigmoid(x) / sum(sigmoid(x), over = last(x))
)";

constexpr std::array kNorms{"rms", "mean_abs", "l4", "clipped", "layer", "deviation", "by_max", "share"};
constexpr std::array kActivations{"tanh({})",
                                  "{} * sigmoid({})",
                                  "max({}, 0)",
                                  "abs({})",
                                  "sin({})",
                                  "select({} > 0, {}, 0.25 * {})",
                                  "0.5 * {} * (1 + tanh({}))",
                                  "-{}"};
constexpr std::array kDims{"D", "F", "N"};

struct Value {
  std::string name, dim;
};

/// The block's text under construction.
class Builder {
 public:
  explicit Builder(const StepwiseBlock& block) : block_(block) {
    params_ = "x: bf16[T, D]";
    values_.push_back({"x", "D"});
  }

  std::string run() {
    for (const BlockStep& step : block_.steps) add(step);
    std::string outputs, stores;
    for (size_t back = 0; back < values_.size() && back < 4; ++back) {
      const Value& value = values_[values_.size() - 1 - back];
      if (back > 0 && (block_.outputs >> back & 1) == 0) continue;
      if (value.name == "x") continue;
      const std::string name = "y" + std::to_string(back);
      outputs += (outputs.empty() ? "" : ", ") + name + ": bf16[T, " + value.dim + "]";
      stores += "  " + name + " = " + value.name + "\n";
    }
    if ((block_.outputs >> 4 & 1) != 0 || outputs.empty()) {
      const Value& value = values_[block_.outputs / 32 % values_.size()];
      outputs += std::string(outputs.empty() ? "" : ", ") + "s: f32[T]";
      stores += "  s = sum(" + value.name + " * " + value.name + ", over = " + value.dim + ")\n";
    }
    return kDefinitions + ("block random(" + params_ + ") -> (" + outputs + ") {\n" + body_ + stores + "}\n");
  }

 private:
  const Value& pick(uint32_t choice) const {
    // Late values more often: chains grow deep.
    const size_t count = values_.size();
    return values_[count - 1 - (choice % 3 != 0 ? choice / 3 % std::min<size_t>(count, 2) : choice / 3 % count)];
  }
  /// A value over the dimension, other than `than` where there is one.
  const Value& same_dim(const Value& than, uint32_t choice) const {
    std::vector<const Value*> fitting;
    for (const Value& value : values_) {
      if (value.dim == than.dim && value.name != than.name) fitting.push_back(&value);
    }
    return fitting.empty() ? than : *fitting[choice % fitting.size()];
  }
  std::string param(const std::string& type) {
    const std::string name = "p" + std::to_string(count_++);
    params_ += ", " + name + ": " + type;
    return name;
  }
  void let(const std::string& value, const std::string& dim) {
    const std::string name = "v" + std::to_string(values_.size());
    body_ += "  let " + name + " = " + value + "\n";
    values_.push_back({name, dim});
  }

  void add(const BlockStep& step) {
    const Value a = pick(step.first), b = same_dim(a, step.second);
    const std::string next = kDims[step.form % kDims.size()];
    switch (step.kind) {
      case 0: {  // a product with a weight, often the same weight's shape again
        const std::string w = param("bf16[" + next + ", " + a.dim + (next == a.dim ? " as K" + next + "]" : "]"));
        // A square weight needs a name for its second dimension.
        return let(
            next == a.dim ? a.name + "[" + a.dim + " as K" + next + "] @ " + w + ".T" : a.name + " @ " + w + ".T",
            next);
      }
      case 1:
        return let(std::string(kNorms[step.form % kNorms.size()]) + "(" + a.name + ")", a.dim);
      case 2: {
        const std::string g = param("bf16[" + a.dim + "]");
        return let(a.name + " * " + (step.form % 2 == 0 ? g : "(1 + " + g + ")"), a.dim);
      }
      case 3: {
        std::string text = kActivations[step.form % kActivations.size()];
        for (size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}")) text.replace(at, 2, a.name);
        return let(text, a.dim);
      }
      case 4:
        return let(a.name + (step.form % 2 == 0 ? " + " : " - 0.5 * ") + b.name, a.dim);
      case 5:
        return let("tanh(" + a.name + ") * " + b.name, a.dim);
      case 6: {  // a gate: halves of one product
        const std::string w = param("bf16[2*" + next + ", " + a.dim + (next == a.dim ? " as K" + next + "]" : "]"));
        const std::string x = next == a.dim ? a.name + "[" + a.dim + " as K" + next + "]" : a.name;
        const std::string n = std::to_string(values_.size());
        body_ += "  let (a" + n + ", b" + n + ") = " + (step.form % 2 == 0 ? "halves" : "pairs") + "(" + x + " @ " + w +
                 ".T)\n";
        return let("sigmoid(a" + n + ") * b" + n, next);
      }
      case 7: {
        const std::string r = param("f32[T]");
        return let(a.name + " * " + (step.form % 2 == 0 ? r : "sigmoid(" + r + ")"), a.dim);
      }
      case 8: {
        const std::string bias = param("f32[" + a.dim + "]");
        return let(a.name + " + " + bias, a.dim);
      }
      default:  // a statistic of one value scales another
        return let(a.name + " * rsqrt(mean(" + b.name + " * " + b.name + ", over = " + b.dim + ") + 0.5)", a.dim);
    }
  }

  const StepwiseBlock& block_;
  std::string params_, body_;
  std::vector<Value> values_;
  int count_ = 0;
};

}  // namespace

std::string StepwiseBlock::text() const { return Builder(*this).run(); }

StepwiseBlock stepwise_block(uint32_t seed) {
  std::mt19937 random(seed);
  const auto whole = [&](uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  };
  StepwiseBlock block;
  const uint32_t length = whole(2, 11);
  // Products are drawn more often than the rest.
  constexpr std::array kWeighted{0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9};
  for (uint32_t i = 0; i < length; ++i) {
    block.steps.push_back({kWeighted[whole(0, kWeighted.size() - 1)], whole(0, 99), whole(0, 99), whole(0, 99)});
  }
  block.outputs = whole(0, 1023);
  for (const char* symbol : {"T", "D", "F", "N"}) {
    block.sizes[symbol] = whole(2, 5);
    block.hints[symbol] = 256 << whole(0, 5);
  }
  block.sizes["K"] = 0;
  block.sizes.erase("K");
  return block;
}

}  // namespace coda::test
