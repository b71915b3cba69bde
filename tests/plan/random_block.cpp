#include "tests/plan/random_block.h"

#include <vector>

namespace coda::testing {

namespace {

constexpr const char* kNorms[] = {
    "x * rsqrt(mean(x*x, over = last(x)) + 0.01) * g", "x / (mean(abs(x), over = last(x)) + 0.1) * g",
    "x * rsqrt(mean(x*x, over = last(x)) + 0.01) * (1 + g)", "x * tanh(rsqrt(mean(x*x, over = last(x)) + 0.1)) * g"};
constexpr const char* kActs[] = {"silu(x)", "relu(x)", "tanh(x)", "gelu_tanh(x)", "x * sigmoid(1.5 * x)"};

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) { state_ = next(); }  // else seeds would be shifted copies

  RandomBlock run() {
    const int widths = 2 + below(3);
    for (int i = 0; i < widths; ++i) block_.dims["D" + std::to_string(i)] = 3 + below(38);
    block_.dims["T"] = 1 + below(40);
    add_value("x", below(widths));
    param("x", "bf16[T, " + width(0) + "]");
    const int products = 1 + below(3), steps = products + 1 + below(4);
    std::vector<bool> is_product(static_cast<size_t>(steps));
    for (int made = 0; made < products;) {
      const auto at = static_cast<size_t>(below(steps));
      made += !is_product[at];
      is_product[at] = true;
    }
    for (const bool product : is_product) product ? multiply() : other();
    return finish();
  }

 private:
  struct Value {
    std::string name;
    int width;
  };

  /// splitmix64: the same numbers with every library.
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int below(int bound) { return static_cast<int>(next() % static_cast<uint64_t>(bound)); }
  std::string width(size_t value) const { return "D" + std::to_string(values_[value].width); }

  void add_value(const std::string& name, int width) { values_.push_back({name, width}); }
  std::string fresh(const char* prefix) { return prefix + std::to_string(++names_); }
  void param(const std::string& name, const std::string& type) {
    params_ += (params_.empty() ? "" : ", ") + name + ": " + type;
  }
  void let(const std::string& name, const std::string& value) { body_ += "  let " + name + " = " + value + "\n"; }

  /// The newest value mostly, else any.
  const Value& pick() { return below(4) > 0 ? values_.back() : values_[static_cast<size_t>(below(size()))]; }
  int size() const { return static_cast<int>(values_.size()); }

  void multiply() {
    const Value from = pick();
    const int widths = static_cast<int>(block_.dims.size()) - 1;
    const int to = (from.width + 1 + below(widths - 1)) % widths;  // a tensor has no dimension twice
    const std::string in = "D" + std::to_string(from.width), out = "D" + std::to_string(to);
    const std::string w = fresh("w"), v = fresh("v");
    if (below(3) == 0) {
      param(w, "bf16[2*" + out + ", " + in + "]");
      body_ += "  let (" + v + "a, " + v + "b) = halves(" + from.name + " @ " + w + ".T)\n";
      let(v, "act" + std::to_string(acts_++) + "(" + v + "a) * " + v + "b");
      acts_text_.push_back(below(5));
    } else {
      const bool transposed = below(4) > 0;
      param(w, "bf16[" + (transposed ? out + ", " + in : in + ", " + out) + "]");
      let(v, from.name + " @ " + w + (transposed ? ".T" : ""));
    }
    add_value(v, to);
  }

  void other() {
    const Value from = pick();
    const std::string v = fresh("v"), d = "D" + std::to_string(from.width);
    switch (below(5)) {
      case 0:
        acts_text_.push_back(below(5));
        let(v, "act" + std::to_string(acts_++) + "(" + from.name + ")");
        break;
      case 1: {
        const std::string g = fresh("g");
        param(g, "bf16[" + d + "]");
        norms_text_.push_back(below(4));
        let(v, "norm" + std::to_string(norms_++) + "(" + from.name + ", " + g + ")");
        break;
      }
      case 2: {
        const std::string b = fresh("b");
        param(b, "bf16[" + d + "]");
        let(v, from.name + " + " + b);
        break;
      }
      case 3: {
        const std::string r = fresh("r");
        param(r, "f32[T]");
        let(v, from.name + " * " + r);
        break;
      }
      default: {
        std::vector<std::string> same;
        for (const Value& value : values_) {
          if (value.width == from.width && value.name != from.name) same.push_back(value.name);
        }
        if (same.empty()) {
          let(v, "0.5 * " + from.name);
        } else {
          let(v, from.name + " + " + same[static_cast<size_t>(below(static_cast<int>(same.size())))]);
        }
      }
    }
    add_value(v, from.width);
  }

  RandomBlock finish() {
    std::string head;
    for (int i = 0; i < acts_; ++i) {
      head += "fn act" + std::to_string(i) + "(x) = " + kActs[acts_text_[static_cast<size_t>(i)]] + "\n";
    }
    for (int i = 0; i < norms_; ++i) {
      head += "fn norm" + std::to_string(i) + "(x, g) = " + kNorms[norms_text_[static_cast<size_t>(i)]] + "\n";
    }
    std::string outputs = "y: bf16[T, D" + std::to_string(values_.back().width) + "]";
    body_ += "  y = " + values_.back().name + "\n";
    if (below(3) == 0 && size() > 2) {
      const Value& second = values_[static_cast<size_t>(1 + below(size() - 2))];
      outputs += ", z: bf16[T, D" + std::to_string(second.width) + "]";
      body_ += "  z = " + second.name + "\n";
    }
    for (auto it = block_.dims.begin(); it != block_.dims.end();) {  // widths that nothing has
      const bool used = it->first == "T" || (params_ + outputs).find(it->first) != std::string::npos;
      it = used ? std::next(it) : block_.dims.erase(it);
    }
    block_.text = head + "block random(" + params_ + ") -> (" + outputs + ") {\n" + body_ + "}\n";
    return block_;
  }

  uint64_t state_;
  RandomBlock block_;
  std::vector<Value> values_;
  std::vector<int> acts_text_, norms_text_;
  std::string params_, body_;
  int names_ = 0, acts_ = 0, norms_ = 0;
};

}  // namespace

RandomBlock random_block(uint64_t seed) { return Generator(seed).run(); }

}  // namespace coda::testing
