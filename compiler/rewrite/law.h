// Laws as records: what each says, when it holds, what it does to roundings, and random programs to test it on. The
// table (laws.cpp) is the only list; a law without a case that makes it fire fails tests/plan.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

class LawContext;

enum class LawKind : uint8_t {
  Identity,  ///< the IR itself makes both sides one node
  Normal,    ///< the constructors of the normal form apply it wherever it holds
  Directed,  ///< applied where its conditions hold
  Choice,    ///< applied or not (or one way of several): whichever makes the faster plan
  Planner,   ///< what the planner does with factors, statistics and stored values
};

/// What a law does beside the real numbers. Every law is exact over the reals, for finite values that do not overflow.
enum class Exactness : uint8_t {
  Reals,    ///< reorders f32 arithmetic: last bits
  Elastic,  ///< also moves or drops the rounding of an operand or of a stored value
};

/// A random program on which the law fires, at small sizes. An Identity's program gives its outputs in pairs of equals.
struct LawCase {
  std::string text;
  Bindings sizes;  ///< at which both sides are evaluated
  Bindings hints;  ///< Planner and Choice: at which it is planned; empty: large ones
  /// Instead of text, for what the front end never writes but other passes do.
  std::optional<Program> program = {};
};

/// Random choices of a case, from a printed seed.
class CaseRandom {
 public:
  explicit CaseRandom(uint32_t seed) : random_(seed) {}
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::string pick(std::initializer_list<const char*> words);
  /// Values for the symbols, each 1 to 6.
  Bindings sizes(std::initializer_list<const char*> symbols);

 private:
  std::mt19937 random_;
};

/// One way to write a node.
struct Alternative {
  NodeId node = kNoNode;
  std::vector<NodeId> folded;  ///< contractions whose factors with only summed dimensions must go to the weights
};

struct Law {
  std::string_view name, equation, conditions;
  LawKind kind;
  Exactness exactness;
  LawCase (*random_case)(CaseRandom&);
  /// Directed and Choice: the ways to write a node, the preferred one first; the node itself among them means that it
  /// may stay. Empty where the law does not apply.
  std::vector<Alternative> (*alternatives)(LawContext&, NodeId) = nullptr;
  /// Why no plan does without it; empty where it can be left out.
  std::string_view inherent = {};
};

/// Every law, in the order in which they are tried.
std::span<const Law* const> law_table();
const Law* find_law(std::string_view name);

// Records that code refers to.
extern const Law kFactorOut, kSeparateSums, kLinearReduction, kNestedSums, kSumOfJoin, kSumOfConstant, kSumOverOne,
    kQuotient, kLinearOp, kCancel, kLikeTerms, kMapInward, kMapOfMap, kPieceOfJoin, kFactorOfReduction;
extern const Law kMoments, kDistribute, kDistributeToHit, kReassociate, kBinarise, kExponentialRatio, kHomogeneous;
extern const Law kPlaceEarly, kColumnFactor, kSplitReduction, kAccumulatorInput, kRecompute, kPairing, kRegions,
    kOnePass;

/// A law at work: `witness` is the value that shows it, so that a log can be cut down to what a plan contains.
struct LawEntry {
  const Law* law = nullptr;
  NodeId witness = kNoNode;
  std::vector<std::pair<const char*, NodeId>> bindings;  ///< what the equation's letters stand for
  Span span;
};

}  // namespace coda
