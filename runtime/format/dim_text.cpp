#include "runtime/format/dim_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace coda {

namespace {

constexpr int kMaxDepth = 16;  // of brackets: far more than a dimension needs, far less than the stack has

/// Recursive descent over Dim::text()'s grammar, calling `Builder` in postfix order:
///   sum     = ["-"] quotient {(" + " | " - ") quotient}
///   quotient = product ["/" product]            so that "(M/A*B)" divides by A*B, as Dim prints it
///   product = factor {"*" factor};  factor = integer | name | "(" sum ")"
template <class Builder>
class DimReader {
 public:
  DimReader(std::string_view text, Builder& builder) : text_(text), builder_(builder) {}

  bool read() { return sum(0) && at_ == text_.size(); }

 private:
  bool sum(int depth) {
    if (depth > kMaxDepth) return false;
    const bool negative = eat("-");
    if (negative && !builder_.constant(-1)) return false;
    if (!quotient(depth, negative)) return false;
    for (;;) {
      const bool add = eat(" + ");
      if (!add && !eat(" - ")) return true;
      if (!quotient(depth, false) || !(add ? builder_.add() : builder_.subtract())) return false;
    }
  }

  bool quotient(int depth, bool negative) {
    if (!product(depth) || (negative && !builder_.multiply())) return false;
    return !eat("/") || (product(depth) && builder_.divide());
  }

  bool product(int depth) {
    if (!factor(depth)) return false;
    while (eat("*")) {
      if (!factor(depth) || !builder_.multiply()) return false;
    }
    return true;
  }

  bool factor(int depth) {
    if (eat("(")) return sum(depth + 1) && eat(")");
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return false;
    at_ = end;
    if (!std::isdigit(static_cast<unsigned char>(word[0]))) return builder_.symbol(word);
    int64_t value = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && rest == word.data() + word.size() && builder_.constant(value);
  }

  bool eat(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  std::string_view text_;
  Builder& builder_;
  size_t at_ = 0;
};

class DimBuilder {
 public:
  bool constant(int64_t value) { return push(Dim(value)); }
  bool symbol(std::string_view name) { return push(Dim::symbol(std::string(name))); }
  bool add() {
    return combine([](const Dim& a, const Dim& b) { return std::optional(a + b); });
  }
  bool subtract() {
    return combine([](const Dim& a, const Dim& b) { return std::optional(a - b); });
  }
  bool multiply() {
    return combine([](const Dim& a, const Dim& b) { return std::optional(a * b); });
  }
  bool divide() {
    return combine([](const Dim& a, const Dim& b) { return a.divided_by(b); });
  }
  const Dim& result() const { return stack_.front(); }

 private:
  bool push(Dim dim) {
    stack_.push_back(std::move(dim));
    return true;
  }
  template <class F>
  bool combine(F function) {
    const Dim b = std::move(stack_.back());
    stack_.pop_back();
    auto value = function(stack_.back(), b);
    if (!value) return false;
    stack_.back() = std::move(*value);
    return true;
  }
  std::vector<Dim> stack_;
};

}  // namespace

Expected<Dim> parse_dim(std::string_view text) {
  DimBuilder builder;
  if (!DimReader(text, builder).read() || builder.result().text() != text) {
    return Status(Code::Corrupt, "'" + std::string(text) + "' is not a dimension");
  }
  return builder.result();
}

class DimProgramBuilder {
 public:
  DimProgramBuilder(DimProgram& program, std::span<const std::string> symbols) : program_(program), symbols_(symbols) {}

  bool constant(int64_t value) { return push({DimProgram::Op::Constant, value}); }
  bool symbol(std::string_view name) {
    const auto it = std::find(symbols_.begin(), symbols_.end(), name);
    return it != symbols_.end() && push({DimProgram::Op::Symbol, it - symbols_.begin()});
  }
  bool add() { return combine(DimProgram::Op::Add); }
  bool subtract() { return combine(DimProgram::Op::Subtract); }
  bool multiply() { return combine(DimProgram::Op::Multiply); }
  bool divide() { return combine(DimProgram::Op::Divide); }

 private:
  bool push(DimProgram::Step step) {
    program_.steps_.push_back(step);
    return ++depth_ <= DimProgram::kMaxStack;
  }
  bool combine(DimProgram::Op op) {
    program_.steps_.push_back({op, 0});
    --depth_;
    return true;
  }

  DimProgram& program_;
  std::span<const std::string> symbols_;
  int depth_ = 0;
};

std::optional<DimProgram> DimProgram::compile(const Dim& dim, std::span<const std::string> symbols) {
  DimProgram program;
  DimProgramBuilder builder(program, symbols);
  if (!DimReader(std::string_view(dim.text()), builder).read()) return std::nullopt;
  return program;
}

std::optional<int64_t> DimProgram::evaluate(std::span<const int64_t> values) const {
  if (steps_.size() == 1) return steps_[0].op == Op::Symbol ? values[steps_[0].operand] : steps_[0].operand;
  std::array<int64_t, kMaxStack> stack;
  int top = -1;
  for (const Step& step : steps_) {
    if (step.op == Op::Constant || step.op == Op::Symbol) {
      stack[++top] = step.op == Op::Constant ? step.operand : values[step.operand];
      continue;
    }
    const int64_t b = stack[top--];
    int64_t& a = stack[top];
    switch (step.op) {
      case Op::Add:
        if (__builtin_add_overflow(a, b, &a)) return std::nullopt;
        break;
      case Op::Subtract:
        if (__builtin_sub_overflow(a, b, &a)) return std::nullopt;
        break;
      case Op::Multiply:
        if (__builtin_mul_overflow(a, b, &a)) return std::nullopt;
        break;
      default:
        if (b == -1) {  // apart, for the most negative value has no positive counterpart
          if (__builtin_sub_overflow(int64_t{0}, a, &a)) return std::nullopt;
          break;
        }
        if (b == 0 || a % b != 0) return std::nullopt;
        a /= b;
        break;
    }
  }
  return stack[0];
}

}  // namespace coda
