// An Emitter that computes at once, in f32, i64 and bool scalars: what an op's code would give on an exact machine, or
// on one whose special functions are off by as much as their contract allows.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>

#include "compiler/ops/emitter.h"

namespace coda::test {

class ScalarEmitter : public Emitter {
 public:
  /// `error`: units in the last place by which exp2, log2, rsqrt, rcp, sin and cos miss, in alternating directions.
  /// `approximate`: subnormal numbers are zero where the contract allows it.
  explicit ScalarEmitter(int error = 0, bool approximate = false) : error_(error), approximate_(approximate) {}

  bool is_approximate() const override { return approximate_; }
  Val exp2_normal(Val a) override { return approximate_ ? flushed(exp2(flushed(a))) : exp2(a); }
  Val rcp_normal(Val a) override { return approximate_ ? flushed(rcp(flushed(a))) : rcp(a); }

  Val of(double value, NumClass num_class) {
    if (num_class == NumClass::Real) return real(value);
    return num_class == NumClass::Int ? integer(static_cast<int64_t>(value)) : boolean(value != 0);
  }
  static double value_of(Val val, NumClass num_class) {
    const Cell& cell = *static_cast<const Cell*>(val.handle);
    if (cell.num_class != num_class) return std::nan("");  // an op that mixes classes up must not pass
    return num_class == NumClass::Real  ? cell.real
           : num_class == NumClass::Int ? static_cast<double>(cell.integer)
                                        : cell.truth;
  }

  Val real(double value) override { return make_real(static_cast<float>(value)); }
  Val integer(int64_t value) override { return make({.num_class = NumClass::Int, .integer = value}); }
  Val boolean(bool value) override { return make({.num_class = NumClass::Bool, .truth = value}); }

  Val add(Val a, Val b) override { return make_real(f(a) + f(b)); }
  Val sub(Val a, Val b) override { return make_real(f(a) - f(b)); }
  Val mul(Val a, Val b) override { return make_real(f(a) * f(b)); }
  Val div(Val a, Val b) override { return make_real(f(a) / f(b)); }
  Val fma(Val a, Val b, Val c) override { return make_real(std::fma(f(a), f(b), f(c))); }
  Val neg(Val a) override { return make_real(-f(a)); }
  Val abs(Val a) override { return make_real(std::fabs(f(a))); }
  Val min(Val a, Val b) override { return make_real(std::isnan(f(a)) || f(a) < f(b) ? f(a) : f(b)); }
  Val max(Val a, Val b) override { return make_real(std::isnan(f(a)) || f(a) > f(b) ? f(a) : f(b)); }
  Val copysign(Val magnitude, Val sign) override { return make_real(std::copysign(f(magnitude), f(sign))); }
  Val floor(Val a) override { return make_real(std::floor(f(a))); }
  Val sqrt(Val a) override { return make_real(std::sqrt(f(a))); }
  Val rsqrt(Val a) override { return special(1 / std::sqrt(static_cast<double>(f(a)))); }
  Val rcp(Val a) override { return special(1 / static_cast<double>(f(a))); }
  Val exp2(Val a) override {
    const double exact = std::exp2(static_cast<double>(f(a)));
    return f(a) == std::floor(f(a)) ? real(exact) : special(exact);
  }
  Val log2(Val a) override { return special(std::log2(static_cast<double>(f(a)))); }
  Val sin(Val a) override { return special(std::sin(static_cast<double>(f(a)))); }
  Val cos(Val a) override { return special(std::cos(static_cast<double>(f(a)))); }
  Val tanh_fast(Val a) override { return real(std::tanh(static_cast<double>(f(a))) * (error_ != 0 ? 1 + 0x1p-11 : 1)); }

  Val compare(Compare relation, Val a, Val b, NumClass operand_class) override {
    if (operand_class == NumClass::Real) return boolean(holds(relation, f(a), f(b)));
    return boolean(holds(relation, i(a), i(b)));
  }
  Val select(Val condition, Val a, Val b) override { return t(condition) ? a : b; }
  Val logical_and(Val a, Val b) override { return boolean(t(a) && t(b)); }
  Val logical_or(Val a, Val b) override { return boolean(t(a) || t(b)); }
  Val logical_not(Val a) override { return boolean(!t(a)); }

  Val int_add(Val a, Val b) override { return wrapped(u(a) + u(b)); }
  Val int_sub(Val a, Val b) override { return wrapped(u(a) - u(b)); }
  Val int_mul(Val a, Val b) override { return wrapped(u(a) * u(b)); }
  Val int_floordiv(Val a, Val b) override {
    check_divisor(b);
    const int64_t quotient = i(a) / i(b);
    return integer(i(a) % i(b) != 0 && (i(a) < 0) != (i(b) < 0) ? quotient - 1 : quotient);
  }
  Val int_mod(Val a, Val b) override {
    check_divisor(b);
    const int64_t remainder = i(a) % i(b);
    return integer(remainder != 0 && (remainder < 0) != (i(b) < 0) ? remainder + i(b) : remainder);
  }
  Val int_xor(Val a, Val b) override { return wrapped(u(a) ^ u(b)); }
  Val int_to_real(Val a) override { return make_real(static_cast<float>(i(a))); }
  Val real_to_int(Val a) override {
    int64_t value = 0;
    store_element(&value, DType::I64, 0, f(a));
    return integer(value);
  }
  Val bool_to_real(Val a) override { return real(t(a)); }
  Val bool_to_int(Val a) override { return integer(t(a)); }
  Val round_to(Val a, DType dtype) override { return real(coda::round_to(f(a), dtype)); }

  int traps = 0;  ///< divisions that would have stopped a machine

 private:
  struct Cell {
    NumClass num_class = NumClass::Real;
    float real = 0;
    int64_t integer = 0;
    bool truth = false;
  };

  Val make(Cell cell) {
    cells_.push_back(cell);
    return {&cells_.back()};
  }
  Val make_real(float value) { return make({.real = value}); }
  Val special(double exact) {
    float value = static_cast<float>(exact);
    const float toward =
        ++calls_ % 2 == 0 ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
    if (std::isfinite(value) && value != 0) {
      for (int step = 0; step < error_; ++step) value = std::nextafter(value, toward);
    }
    return make_real(value);
  }
  Val flushed(Val a) { return std::fabs(f(a)) < 0x1p-126F ? make_real(std::copysign(0.0F, f(a))) : a; }
  Val wrapped(uint64_t value) { return integer(static_cast<int64_t>(value)); }
  void check_divisor(Val b) { traps += i(b) == 0 || i(b) == -1; }
  template <typename T>
  static bool holds(Compare relation, T a, T b) {
    const bool table[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return table[static_cast<size_t>(relation)];
  }

  static const Cell& cell(Val val) { return *static_cast<const Cell*>(val.handle); }
  static float f(Val val) { return cell(val).num_class == NumClass::Real ? cell(val).real : std::nanf(""); }
  static int64_t i(Val val) { return cell(val).num_class == NumClass::Int ? cell(val).integer : INT64_MIN; }
  static uint64_t u(Val val) { return static_cast<uint64_t>(i(val)); }
  static bool t(Val val) { return cell(val).num_class == NumClass::Bool && cell(val).truth; }

  std::deque<Cell> cells_;  // handles stay valid
  int error_;
  bool approximate_;
  int calls_ = 0;
};

}  // namespace coda::test
