// Random kernels made of shape words, elementwise code, in-tile reductions and statistics: what is lowered must compute
// what the source means, and what is not must say so with a diagnostic of the epilogue.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "lowered.h"

namespace coda::test {

namespace {

/// Column dimensions of a value: `multiple`*H*Dh flat, or [multiple*H, Dh], or [multiple*H, Dh/2].
enum class Shape { Flat, Heads, HalfHeads };
struct Var {
  std::string name;
  Shape shape;
  int multiple;
  bool like(const Var& other) const { return shape == other.shape && multiple == other.multiple; }
};

class KernelMaker {
 public:
  explicit KernelMaker(uint32_t seed) : random_(seed) {}

  std::string make() {
    const int whole = 1 << pick(4);
    body_ = "    let z = (x @ w.T)" + std::string(pick(2) ? " * r" : "") + "\n";
    vars_.push_back({"z", Shape::Flat, whole});
    for (int step = 0; step < 3 + pick(5); ++step) grow();
    for (int output = 0; output < 1 + pick(3); ++output) store(output);
    std::string text = "kernel f(x: bf16[M, K], w: bf16[" + times(whole) + "H*Dh, K], r: f32[M]" + params_ + ") -> (";
    return text + outputs_ + ") {\n" + body_ + "}\n";
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  static std::string times(int multiple) { return multiple == 1 ? "" : std::to_string(multiple) + "*"; }
  static std::string dims(const Var& v) {
    if (v.shape == Shape::Flat) return times(v.multiple) + "H*Dh";
    return times(v.multiple) + "H, Dh" + (v.shape == Shape::HalfHeads ? "/2" : "");
  }
  std::string fresh() { return "v" + std::to_string(count_++); }
  void add(const std::string& expression, Shape shape, int multiple) {
    vars_.push_back({fresh(), shape, multiple});
    body_ += "    let " + vars_.back().name + " = " + expression + "\n";
  }
  void add_two(const std::string& expression, Shape shape, int first, int second) {
    const std::string a = fresh(), b = fresh();
    vars_.push_back({a, shape, first});
    vars_.push_back({b, shape, second});
    body_ += "    let (" + a + ", " + b + ") = " + expression + "\n";
  }
  std::string parameter(const std::string& type) {
    const std::string name = "p" + std::to_string(count_++);
    params_ += ", " + name + ": " + type;
    return name;
  }
  const Var* partner(const Var& v) {
    std::vector<const Var*> found;
    for (const Var& other : vars_) {
      if (other.like(v) && other.name != v.name) found.push_back(&other);
    }
    return found.empty() ? nullptr : found[static_cast<size_t>(pick(static_cast<int>(found.size())))];
  }

  void grow() {
    const Var v = vars_[static_cast<size_t>(pick(static_cast<int>(vars_.size())))];
    const Var* other = partner(v);
    const std::string o = other != nullptr ? other->name : "";
    const std::string join = pick(2) ? "join_halves(" : "join_pairs(", cut = pick(2) ? "halves(" : "pairs(";
    switch (pick(9)) {
      case 0:
        return add("silu(" + v.name + ") + 0.5*" + v.name, v.shape, v.multiple);
      case 1:
        return add(v.name + " * " + parameter("f32[" + dims(v) + "]"), v.shape, v.multiple);
      case 2:
        return add(v.name + " + " + parameter("bf16[M, " + dims(v) + "]"), v.shape, v.multiple);
      case 3:
        if (other != nullptr) add(v.name + " * " + o, v.shape, v.multiple);
        return;
      case 4:
      case 5:
        if (v.shape == Shape::Heads) return add_two(cut + v.name + ")", Shape::HalfHeads, v.multiple, v.multiple);
        if (v.shape == Shape::Flat && v.multiple > 1) {
          if (v.multiple % 2 == 0 && pick(3))
            return add_two(cut + v.name + ")", v.shape, v.multiple / 2, v.multiple / 2);
          const int first = 1 + pick(v.multiple - 1);
          return add_two("split(" + v.name + ", " + times(first) + "H*Dh, " + times(v.multiple - first) + "H*Dh)",
                         v.shape, first, v.multiple - first);
        }
        return;
      case 6:
        if (v.shape == Shape::Flat) return add("group(" + v.name + ", Dh)", Shape::Heads, v.multiple);
        if (v.shape == Shape::Heads) return add("flatten(" + v.name + ")", Shape::Flat, v.multiple);
        return;
      case 7:
        if (v.shape == Shape::Heads) {
          add(v.name + " * rsqrt(mean(" + v.name + "*" + v.name + ", over = Dh) + 1)", v.shape, v.multiple);
        }
        return;
      default:
        if (other == nullptr) return;
        if (v.shape == Shape::HalfHeads) return add(join + v.name + ", " + o + ")", Shape::Heads, v.multiple);
        if (v.shape == Shape::Flat && v.multiple <= 4) {
          const bool concat = pick(2) != 0;
          add((concat ? "concat(" : join) + v.name + ", " + o + ")", v.shape, 2 * v.multiple);
        }
        return;
    }
  }

  void store(int index) {
    const Var v =
        vars_[vars_.size() - 1 - static_cast<size_t>(pick(static_cast<int>(std::min<size_t>(vars_.size(), 4))))];
    const std::string name = "y" + std::to_string(index);
    static const char* const kReductions[] = {"sum", "max", "logsumexp", "absmax"};
    const std::string reduction = kReductions[pick(4)];
    outputs_ += index > 0 ? ", " : "";
    const int use = pick(6);
    if (use == 0) {
      outputs_ += name + ": f32[M]";
      body_ += "    " + name + " = " + reduction + "(" + v.name + ", over = (" + dims(v) + "))\n";
    } else if (use == 1) {
      outputs_ += name + ": f32[" + dims(v) + "]";
      body_ += "    " + name + " = " + reduction + "(" + v.name + ", over = M)\n";
    } else {
      outputs_ += name + ": f32[M, " + dims(v) + "]";
      body_ += "    " + name + " = " + v.name + "\n";
    }
  }

  std::mt19937 random_;
  std::string body_, params_, outputs_;
  std::vector<Var> vars_;
  int count_ = 0;
};

/// CODA_RANDOM_LOWERED=FIRST:COUNT runs others than the usual ones.
std::pair<uint32_t, uint32_t> chosen_seeds() {
  const char* text = std::getenv("CODA_RANDOM_LOWERED");
  if (!text) return {1, 400};
  char* end = nullptr;
  const auto first = static_cast<uint32_t>(std::strtoul(text, &end, 10));
  return {first, *end == ':' ? static_cast<uint32_t>(std::strtoul(end + 1, nullptr, 10)) : 1};
}

}  // namespace

TEST_CASE("random kernels", "[random]") {
  int lowered = 0, refused = 0;
  std::map<std::string, int> reasons;
  const auto [first, count] = chosen_seeds();
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const std::string text = KernelMaker(seed).make();
    const Lowered probe = lower(text, {{"Dh", 4}});
    INFO("seed " << seed << "\n" << text << probe.diagnostics);
    REQUIRE(probe.program);
    if (!probe.epilogue) {
      ++refused;
      const size_t at = probe.diagnostics.find("error[E03");
      CHECK(at != std::string::npos);
      if (at != std::string::npos) ++reasons[probe.diagnostics.substr(at + 6, 5)];
      continue;
    }
    ++lowered;
    const Comparison result = compare(text, {{"M", 2}, {"K", 2}, {"H", 2}}, {{"Dh", 4}});
    INFO(result.dump);
    CHECK(result.failure == "");
  }
  std::string summary;
  for (const auto& [id, count] : reasons) summary += id + " " + std::to_string(count) + " ";
  INFO("lowered " << lowered << ", refused " << refused << ": " << summary);
  CHECK(lowered > 3 * refused);
}

}  // namespace coda::test
