// Elementwise ops and reductions, each declared once as a record: its name, arity and number classes, its meaning in
// f64, its code, its documentation. What the language can say itself is in dsl/prelude, not here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/ops/emitter.h"
#include "runtime/format/dtype.h"

namespace coda {

/// How the number class of the result follows from the arguments.
enum class ClassRule : uint8_t {
  Real,     ///< arguments become Real, result Real
  Int,      ///< arguments are Int, result Int
  Same,     ///< arguments are brought to one class (Int if all are Int, else Real), result the same
  Compare,  ///< arguments are brought to one class, result Bool
  Logical,  ///< Bool to Bool
  Select,   ///< (Bool, T, T) to T
  ToReal,
  ToInt,  ///< conversions
};

struct Op {
  std::string_view name;
  int arity;
  ClassRule rule;
  std::string_view doc;      ///< one sentence
  std::string_view example;  ///< an expression over x (and y, c) that uses it, e.g. "exp(x)"
  /// The meaning, in f64 (Int and Bool arguments as exact doubles).
  double (*eval)(std::span<const double> args);
  /// Code for it; `num_class` is the class the arguments were brought to (`argument_class` in compiler/ir/meaning.h).
  Val (*emit)(Emitter&, std::span<const Val> args, NumClass num_class);
  /// Where the automatic tests sample the arguments, and what error they demand of `emit` in units of 2^-23 relative
  /// (or absolute below 2^-23).
  double domain_low = -4, domain_high = 4;
  double ulp = 2;
  /// What each operand gets of the result's gradient g: expressions of the language over x, y, c, the result r and g.
  /// Empty where nothing can flow (truth values, whole numbers), "0" where the result is piecewise constant.
  std::string_view grad[3] = {};
  /// Several values as one, for a reduction that lifts several: no word of the language, and no number.
  bool packs = false;
};

/// The most f32 words that a reduction's state has.
inline constexpr int kMaxStateWords = 4;

/// What is lifted at one element: one value, or as many as a reduction of the program's own has words.
struct LiftedValue {
  Val word[kMaxStateWords] = {};
};

/// How two states of a reduction of the program's own meet; compiler/ir/custom_reduction.h makes them.
class CustomCombine {
 public:
  virtual ~CustomCombine() = default;
  virtual void combine(double* into, const double* other) const = 0;
  virtual void emit_combine(Emitter&, Val* into, const Val* other) const = 0;
};

/// A commutative monoid with a lift and a finish. State is a few reals (logsumexp: max and scaled sum). The table's
/// records say what they do by functions of one lifted value; a program's own (`reduce`) lifts a whole state, and gives
/// one of its words.
struct Reduction {
  std::string_view name;
  std::string_view doc, example;
  NumClass result;  ///< class of the result; elements are brought to Real before they are lifted (a Bool is 0 or 1)
  int state_size;   ///< f32 words
  double identity[kMaxStateWords];
  // f64 meaning: fold `x` values in order, then finish with the count of elements.
  void (*lift_value)(double x, double* state);
  void (*combine_states)(double* into, const double* other);
  double (*finish_state)(const double* state, double count);
  // The same as code. Lift and combine write the state in place.
  void (*emit_lift_value)(Emitter&, Val x, Val* state);
  void (*emit_combine_states)(Emitter&, Val* into, const Val* other);
  Val (*emit_finish_state)(Emitter&, const Val* state, Val count);
  /// Optional: folds many elements at once, cheaper than one by one; an element equal to `neutral` changes nothing.
  void (*emit_lift_many)(Emitter&, std::span<const Val> elements, Val* state) = nullptr;
  double neutral = 0;
  /// What each element gets of the result's gradient g: an expression over the elements x of dimension N, r and g.
  std::string_view grad = {};
  /// Elements count by their distance from the result: beside it they must not be rounded, or a distance of nothing may
  /// become one of 2^-9 of a large element.
  bool by_distance = false;
  const CustomCombine* custom = nullptr;  ///< of a program's own reduction, whose functions above are null
  int word = 0;                           ///< the word that it gives

  /// How many values are lifted at an element.
  int arity() const { return custom != nullptr ? state_size : 1; }
  /// What messages call it.
  std::string_view label() const { return custom != nullptr ? "reduce" : name; }
  void lift(const double* x, double* state) const;
  void combine(double* into, const double* other) const;
  double finish(const double* state, double count) const;
  void emit_lift(Emitter&, const LiftedValue& x, Val* state) const;
  void emit_combine(Emitter&, Val* into, const Val* other) const;
  Val emit_finish(Emitter&, const Val* state, Val count) const;
};

/// All ops and reductions, in documentation order; `find_*` returns null for an unknown name.
std::span<const Op* const> op_table();
const Op* find_op(std::string_view name);
/// The op that makes one value of `count` (2 to kMaxStateWords), "pack2"; not in the table.
const Op* pack_op(int count);
std::span<const Reduction* const> reduction_table();
const Reduction* find_reduction(std::string_view name);

}  // namespace coda
