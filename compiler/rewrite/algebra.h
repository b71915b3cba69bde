// The normal form that makes laws short, as constructors over the tensor IR: products are flat, a factor that lacks a
// summed dimension stands outside its sum, unrelated sums are taken apart, a dimension that one factor owns is summed
// on that factor, sums of sums are one, index maps go down to inputs and contractions. Exact over the reals. A wide sum
// is an anchor: it stays one value for all its users. Each of these is a law of the table: it can be dropped, and is
// logged.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/epilogue/dim_facts.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/of_nothing.h"
#include "compiler/ops/algebraic.h"
#include "compiler/rewrite/law.h"
#include "compiler/rewrite/sizes.h"

namespace coda {

struct Term {
  double coefficient = 1;
  NodeId node = kNoNode;
};

class Algebra {
 public:
  /// `dropped`: a law to do without.
  Algebra(Graph& graph, const SizeHints& sizes, const DimFacts& facts, const Law* dropped = nullptr)
      : graph_(graph), sizes_(sizes), facts_(facts), dropped_(dropped), of_nothing_(graph) {}

  /// Sum over `over` of the product of `factors`.
  NodeId product(std::vector<NodeId> factors, std::vector<NamedDim> over = {}, Span span = {});
  NodeId linear(const std::vector<Term>& terms, Span span = {});
  NodeId apply(const Op* op, std::vector<NodeId> args, Span span = {});
  NodeId view(NodeId x, const NamedDim& dim, const AffineMap& map, Span span = {});
  NodeId put(NodeId x, const NamedDim& dim, const AffineMap& map, Span span = {});

  /// The node with `args` in place of its arguments, in normal form.
  NodeId rebuild(const Node& node, std::vector<NodeId> args);
  /// `root` with nodes replaced, everything above them in normal form again.
  NodeId substitute(NodeId root, const std::map<NodeId, NodeId>& replacements);
  /// A sum of `contraction` is taken of it as it stands: it is computed anyway.
  void keep_whole(NodeId contraction) { whole_.insert(contraction); }
  /// `contraction` is computed anyway: a sum of it is no other matrix multiplication.
  void keep_shared(NodeId contraction) { shared_.insert(contraction); }
  /// The types that values have as written (none: computed), and that in which computed ones are kept. Without them no
  /// law asks what an operand is rounded to.
  using WrittenType = std::function<std::optional<DType>(NodeId)>;
  void know_types(WrittenType written, DType storage) {
    written_ = std::move(written);
    storage_ = storage;
  }
  /// The normal form of `root` of another graph; `memo` maps what was done already.
  NodeId import(const Graph& source, NodeId root, std::map<NodeId, NodeId>& memo);

  /// The terms of a Sum, or the node itself.
  std::vector<Term> terms(NodeId node) const;
  /// The factors of a product without a sum, or the node itself.
  std::vector<NodeId> factors(NodeId node) const;

  /// Never below 0 (above 0) for any values of the inputs, where no extent is 0 and nothing overflows.
  bool not_negative(NodeId node) const { return sign(node) >= Sign::NonNegative; }
  bool positive(NodeId node) const { return sign(node) == Sign::Positive; }

  /// Whether factors may be taken past a sum, or another reduction, over `over`: none of them is made infinite or no
  /// number (`positive`: or not above 0) by what empties one of these dimensions. Where that is so at other sizes than
  /// those of the plan only, they may, and the plan is for extents of at least 1: `not_empty()`.
  bool may_pass(const std::vector<NodeId>& factors, const std::vector<NamedDim>& over, bool positive = false);
  const std::vector<Dim>& not_empty() const { return not_empty_; }

  bool wide(NodeId node) const { return sizes_.wide(graph_[node]); }
  /// Does one factor have all the dimensions? Then the contraction is a reduction of a product of one shape.
  bool covering(const Node& contraction) const;
  /// A contraction that needs a matrix multiplication.
  bool is_gemm(NodeId node) const;

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const SizeHints& sizes() const { return sizes_; }

  bool on(const Law& law) const { return &law != dropped_; }
  /// Logs that `law` made `witness`; gives it back.
  NodeId note(const Law& law, NodeId witness, std::vector<std::pair<const char*, NodeId>> bindings, Span span);
  const std::vector<LawEntry>& log() const { return log_; }

  /// What the text calls a value: for reports, never for meaning. What laws make of it keeps the name.
  void name(NodeId node, const std::string& name) { names_.try_emplace(node, name); }
  const std::map<NodeId, std::string>& names() const { return names_; }

 private:
  enum class Sign : uint8_t { Unknown, NonNegative, Positive };

  void carry_name(NodeId before, NodeId after);
  NodeId scaled(double coefficient, NodeId node, Span span);
  NodeId summed(std::vector<NodeId> factors, std::vector<NamedDim> over, Span span);
  /// A sum over connected factors that all have a summed dimension.
  NodeId connected(std::vector<NodeId> factors, const std::vector<NamedDim>& over, Span span);
  bool has_gemm(NodeId value) const;
  bool keeps_in_range(NodeId factor, const std::vector<NodeId>& summed) const;
  void cancel(std::vector<NodeId>& factors, Span span);
  NodeId put_view(const Node& put, const NamedDim& dim, const AffineMap& map, Span span);
  Sign sign(NodeId node) const;
  Sign sign_of(const Node& node) const;

  Graph& graph_;
  const SizeHints& sizes_;
  const DimFacts& facts_;
  const Law* dropped_;
  std::vector<LawEntry> log_;
  std::set<std::pair<const Law*, NodeId>> logged_;
  std::set<NodeId> whole_, shared_;
  WrittenType written_;
  DType storage_ = DType::F32;
  std::map<NodeId, std::string> names_;
  mutable std::map<NodeId, Sign> signs_;
  OfNothing of_nothing_;
  std::vector<Dim> not_empty_;
};

/// The nodes below `roots`, arguments first, each once.
std::vector<NodeId> topological(const Graph& graph, const std::vector<NodeId>& roots);

// Sets of named dimensions, kept sorted by name.
std::vector<NamedDim> all_dims(const Graph& graph, const std::vector<NodeId>& nodes);
std::vector<NamedDim> intersection(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b);
std::vector<NamedDim> difference(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b);
std::vector<NamedDim> set_union(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b);
bool subset(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b);
inline bool meet(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b) { return !intersection(a, b).empty(); }

}  // namespace coda
