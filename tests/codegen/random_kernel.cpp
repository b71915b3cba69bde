#include "random_kernel.h"

#include <random>

namespace coda::test {

namespace {

/// Grows one kernel: a product, a batch of them or a sum of two, in some layout, its columns taken in some form,
/// expressions over what that gives and over inputs, stored in several types and reduced in several ways.
class Grower {
 public:
  explicit Grower(unsigned seed) : random_(seed) {}

  RandomKernel grow() {
    kernel_.sizes = {{"M", size()}, {"K", pick(0, 40)}};
    choose_columns();
    add_inputs();
    add_tiles();
    add_exact();
    add_statistics();
    if (dims_ == "F" && kernel_.lets.find("split") != std::string::npos) {
      kernel_.stores.push_back(
          {"rest: f32[" + rows_ + ", G]", "rest = ", "", {"c * " + std::to_string(pick(1, 3)), {}}});
    }
    return std::move(kernel_);
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(0, 99) < percent; }
  int64_t size() { return chance(70) ? pick(1, 40) : pick(100, 330); }
  template <size_t Count>
  std::string any_of(const char* const (&texts)[Count]) {
    return texts[pick(0, static_cast<int64_t>(Count) - 1)];
  }

  void choose_columns() {
    switch (pick(0, 4)) {
      case 0:
        columns("N", "N");
        leaves_ = {"z"};
        break;
      case 1:
      case 2: {
        columns("2*F", "F");
        let(std::string("let (a, b) = ") + (chance(50) ? "halves" : "pairs") + "(z)");
        leaves_ = {"a", "b"};
        break;
      }
      case 3:
        kernel_.bound["Dh"] = 2 * pick(1, 20);
        columns("H*Dh", "H, Dh");
        let("let a = group(z, Dh)");
        leaves_ = {"a", "mean(a*a, over = Dh)", "max(a, over = Dh)", "select(argmin(a, over = Dh) == index(Dh), 1, a)"};
        if (chance(60)) {
          let("let (lo, hi) = halves(a)");
          let("let t = join_halves(hi, -lo)");
          leaves_.push_back("t");
        }
        if (chance(40)) leaves_.push_back("variance(a, over = Dh)");
        break;
      default:
        columns("2*F + G", "F");
        kernel_.sizes["G"] = size();
        let("let (a, b, c) = split(z, F, F, G)");
        leaves_ = {"a", "b"};
    }
  }

  void columns(const std::string& n, const std::string& dims) {
    dims_ = dims;
    last_ = dims == "H, Dh" ? "Dh" : dims;
    for (const std::string symbol : {"N", "F", "H"}) {
      if (dims.find(symbol) != std::string::npos) kernel_.sizes[symbol] = symbol == "H" ? pick(1, 12) : size();
    }
    const std::string type = any_of({"bf16", "bf16", "f16", "f32"});
    if (chance(20)) {
      rows_ = chance(80) ? "B, M" : "B, C, M";
      kernel_.sizes["B"] = pick(1, 4);
      if (rows_ == "B, C, M") kernel_.sizes["C"] = pick(1, 3);
    }
    std::string batch = rows_.substr(0, rows_.size() - 1);
    if (!batch.empty() && chance(40)) kept_ = rows_ == "B, C, M" && chance(50) ? "B, C" : "B";
    shares_ = !batch.empty() && chance(40);
    std::string sum = product("x", "w", type, batch, n, "K");
    if (chance(20)) {
      kernel_.sizes["R"] = pick(0, 12);
      const std::string factor = any_of({"", "0.5 * ", "beta * ", "beta * 2 * "});
      if (factor.find("beta") != std::string::npos) kernel_.parameters += "beta: f32, ";
      const std::string second = factor + "(" + product("xb", "wb", type, batch, n, "R") + ")";
      sum = chance(50) ? sum + " - " + second : second + " + " + sum;
    }
    kernel_.parameters.resize(kernel_.parameters.size() - 2);
    let("let z = " + sum);
  }
  std::string product(const std::string& x, const std::string& w, const std::string& type, const std::string& batch,
                      const std::string& n, const std::string& k) {
    const bool a = chance(70), b = chance(70);
    const bool gathers = batch.empty() && chance(12);
    const std::string rows = gathers ? "T" : "M";
    if (gathers) kernel_.sizes["T"] = pick(1, 6);
    kernel_.parameters += x + ": " + type + "[" + batch + (a ? rows + ", " + k : k + ", " + rows) + "], " + w + ": " +
                          type + "[" + (shares_ ? "" : batch) + (b ? n + ", " + k : k + ", " + n) + "], ";
    if (gathers) return "gather(" + x + ", T = row)" + (a ? "" : ".T") + " @ " + w + (b ? ".T" : "");
    return x + std::string(a ? "" : ".T") + " @ " + w + (b ? ".T" : "");
  }
  void let(const std::string& line) { kernel_.lets += "    " + line + "\n"; }

  void input(const std::string& type, const std::string& dims) {
    const std::string name = "p" + std::to_string(inputs_++);
    kernel_.parameters += ", " + name + ": " + type + "[" + dims + "]";
    leaves_.push_back(name);
  }
  void add_inputs() {
    input("f32", "M");
    input("bf16", dims_);
    input("f16", rows_ + ", " + dims_);
    if (rows_ != "M") input("f32", "B, " + dims_);
    if (dims_ == "H, Dh") input("f32", "Dh");
    kernel_.parameters += ", alpha: f32, row: i64[M], seed: i64";
    leaves_.push_back("alpha");
    leaves_.push_back("index(" + last_ + ") * 0.0625");
    leaves_.push_back("random(" + leaves_[0] + ", seed)");
    leaves_.push_back("one_hot(row, " + last_ + ")");
    leaves_.push_back("dropout(" + leaves_[0] + ", 0.25, seed)");
    if (dims_ != "H, Dh" && chance(30)) {
      kernel_.sizes["V"] = pick(1, 6);
      kernel_.parameters += ", table: bf16[V, " + dims_ + "]";
      leaves_.push_back("gather(table, V = row)");
    }
    // Casts of what no sum has rounded before: f32 and f64 then agree.
    leaves_.push_back("f32(" + any_of({"bf16", "f16", "e4m3", "e5m2"}) + "(1.3 * p1))");
    leaves_.push_back("(" + any_of({"i32", "i64"}) + "(4 * p0) * 0.25)");
    conditions_ = {"row > 1", "index(M) >= index(" + last_ + ")", "mod(index(" + last_ + "), 3) == 1",
                   "mod(row + index(" + last_ + "), 2) == 0"};
  }

  void add_tiles() {
    const int64_t stores = chance(70) ? 1 : pick(2, 3);
    for (int64_t i = 0; i < stores; ++i) {
      const std::string name = "y" + std::to_string(i), type = any_of({"f32", "bf16", "f16", "e4m3", "e5m2"});
      const bool permuted = dims_ != "H, Dh" && chance(20);
      kernel_.stores.push_back(
          {name + ": " + type + "[" + (permuted ? dims_ + ", " + rows_ : rows_ + ", " + dims_) + "]",
           name + " = ",
           "",
           {"(" + leaves_[0] + " + $)", {expression(3)}}});
    }
    if (chance(15)) {
      kernel_.parameters += ", inout state: f32[" + rows_ + ", " + dims_ + "]";
      kernel_.stores.push_back({"", "state += ", "", {"(" + leaves_[0] + " * $)", {expression(2)}}});
    }
  }

  /// What is whole numbers or truth values is compared exactly, so it is made of what is exact.
  void add_exact() {
    const std::string shape = "[" + rows_ + ", " + dims_ + "]";
    if (chance(8)) {
      const std::string type = any_of({"i64", "i32", "i8", "u8"});
      kernel_.stores.push_back({"q: " + type + shape, "q = ", "", {"to_int(3 * " + leaves_[0] + ")", {}}});
    }
    if (chance(5)) kernel_.stores.push_back({"on: bool" + shape, "on = ", "", {leaves_[0] + " > 0.5", {}}});
    if (dims_ == "F" && chance(15)) {
      const std::string join = any_of({"join_halves", "join_pairs"});
      kernel_.stores.push_back(
          {"j: f32[" + rows_ + ", 2*F]",
           "j = ",
           "",
           {join + "(" + leaves_[0] + " * $, " + leaves_[1] + " + $)", {expression(2), expression(2)}}});
    }
  }

  void add_statistics() {
    const char* const reductions[] = {"sum", "mean", "max", "min", "absmax", "logsumexp"};
    // Of the accumulator too, which an output may store rounded.
    const auto reduced = [&] {
      return chance(30) ? RandomExpression{leaves_[0], {}}
                        : RandomExpression{"(0.75 * " + leaves_[0] + " + $)", {expression(3)}};
    };
    if (chance(25)) {
      kernel_.stores.push_back(
          {"r: f32[" + rows_ + "]", "r = " + any_of(reductions) + "(", ", over = (" + dims_ + "))", reduced()});
    }
    if (chance(25)) {
      const std::string kept = kept_.empty() ? "" : kept_ + ", ";
      kernel_.stores.push_back({"s: f32[" + kept + dims_ + "]", "s = " + any_of(reductions) + "(",
                                ", over = (" + rows_.substr(kept.size()) + "))", reduced()});
    }
    if (dims_ != "H, Dh" && chance(10)) {
      kernel_.stores.push_back({"v: f32[" + rows_ + "]", "v = variance(", ", over = " + dims_ + ")", reduced()});
    }
    if (dims_ != "H, Dh" && chance(10)) {
      kernel_.stores.push_back({"g: f32[" + rows_ + "]", "g = gather(", ", " + dims_ + " = row)", reduced()});
    }
    if (chance(6)) {
      const size_t kept = kept_.empty() ? 0 : kept_.size() + 2;
      kernel_.stores.push_back({"whole: f32" + (kept_.empty() ? "" : "[" + kept_ + "]"),
                                "whole = " + any_of(reductions) + "(",
                                ", over = (" + rows_.substr(kept) + ", " + dims_ + "))", reduced()});
    }
    // Of exact values only: a tie of f32 may be none of f64.
    if (dims_ != "H, Dh" && chance(10)) {
      kernel_.stores.push_back({"at: i64[" + rows_ + "]",
                                "at = " + any_of({"argmax", "argmin"}) + "(",
                                ", over = " + dims_ + ")",
                                {leaves_[0], {}}});
    }
  }

  /// Smooth and tame, so that what f32 loses stays within a few units of the largest result.
  RandomExpression expression(int depth) {
    if (depth == 0 || chance(15)) {
      if (chance(12)) return {std::to_string(pick(1, 3)) + ".5", {}};
      return {leaves_[pick(0, static_cast<int64_t>(leaves_.size()) - 1)], {}};
    }
    const auto sub = [&] { return expression(depth - 1); };
    switch (pick(0, 9)) {
      case 0:
        return {"($ + $)", {sub(), sub()}};
      case 1:
        return {"($ - $)", {sub(), sub()}};
      case 2:
        return {"(0.25 * $ * tanh($))", {sub(), sub()}};
      case 3:
        return {"max($, $)", {sub(), sub()}};
      case 4:
        return {"sigmoid($)", {sub()}};
      case 5:
        return {"tanh($)", {sub()}};
      case 6:
        return {"select(" + leaves_[0] + " > 0.3, $, $)", {sub(), sub()}};
      case 7:
        return {"($ / (1 + abs($)))", {sub(), sub()}};
      case 8:
        return {"select(" + conditions_[pick(0, 3)] + ", $, $)", {sub(), sub()}};
      default:
        return {"silu($)", {sub()}};
    }
  }

  std::mt19937 random_;
  RandomKernel kernel_;
  std::string rows_ = "M", dims_, last_;
  std::string kept_;     ///< the rows that statistics of columns and of everything keep
  bool shares_ = false;  ///< the batch has one right operand
  std::vector<std::string> leaves_, conditions_;
  int inputs_ = 0;
};

/// All ways to make an expression smaller by one step.
void smaller(const RandomExpression& whole, const std::function<void(const RandomExpression&)>& found) {
  for (const RandomExpression& part : whole.parts) found(part);
  if (!whole.parts.empty()) found({"0.5", {}});
  for (size_t i = 0; i < whole.parts.size(); ++i) {
    smaller(whole.parts[i], [&](const RandomExpression& part) {
      RandomExpression changed = whole;
      changed.parts[i] = part;
      found(changed);
    });
  }
}

std::vector<RandomKernel> smaller_ones(const RandomKernel& kernel) {
  std::vector<RandomKernel> candidates;
  for (size_t i = 0; i < kernel.stores.size() && kernel.stores.size() > 1; ++i) {
    RandomKernel without = kernel;
    without.stores.erase(without.stores.begin() + static_cast<ptrdiff_t>(i));
    candidates.push_back(std::move(without));
  }
  for (size_t i = 0; i < kernel.stores.size(); ++i) {
    // Not the outermost: it keeps the dimensions of the output.
    for (size_t p = 0; p < kernel.stores[i].value.parts.size(); ++p) {
      smaller(kernel.stores[i].value.parts[p], [&](const RandomExpression& part) {
        RandomKernel changed = kernel;
        changed.stores[i].value.parts[p] = part;
        candidates.push_back(std::move(changed));
      });
    }
  }
  for (const auto& [name, value] : kernel.sizes) {
    for (const int64_t less : {int64_t{1}, value / 2, value - 1}) {
      if (less < 1 || less >= value) continue;
      candidates.push_back(kernel);
      candidates.back().sizes[name] = less;
    }
  }
  return candidates;
}

}  // namespace

std::string RandomExpression::to_text() const {
  std::string result;
  size_t next = 0;
  for (const char c : text) {
    if (c == '$') {
      result += parts[next++].to_text();
    } else {
      result += c;
    }
  }
  return result;
}

std::string RandomKernel::to_text() const {
  std::string outputs, body;
  for (const RandomStore& store : stores) {
    if (!store.declaration.empty()) outputs += (outputs.empty() ? "" : ", ") + store.declaration;
    body += "    " + store.before + store.value.to_text() + store.after + "\n";
  }
  return "kernel f(" + parameters + ")" + (outputs.empty() ? "" : " -> (" + outputs + ")") + " {\n" + lets + body +
         "}\n";
}

RandomKernel random_kernel(unsigned seed) { return Grower(seed).grow(); }

RandomKernel smallest(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails) {
  for (bool progress = true; progress;) {
    progress = false;
    for (RandomKernel& candidate : smaller_ones(kernel)) {
      if (!fails(candidate)) continue;
      kernel = std::move(candidate);
      progress = true;
      break;
    }
  }
  return kernel;
}

}  // namespace coda::test
