#include "compiler/epilogue/rowwise_pieces.h"

#include <algorithm>

namespace coda {

namespace {

constexpr int kDeepest = 16;
constexpr size_t kMostPieces = 64;

class Cutter {
 public:
  Cutter(Graph& graph, Reindexer& reindexer, const DimFacts& facts, std::vector<RowPiece>& pieces)
      : graph_(graph), reindexer_(reindexer), facts_(facts), pieces_(pieces) {}

  void cut(RowPiece piece, int depth) {
    if (depth < kDeepest && pieces_.size() < kMostPieces) {
      UseCollector collector(graph_, kNoNode);
      for (const OpenPut& open : collector.collect(piece.value).puts) {
        if (in_steps(piece, open, depth)) return;
        const auto dim = as_dimension(open.coordinate);
        const auto at = std::find_if(piece.dims.begin(), piece.dims.end(),
                                     [&](const NamedDim& d) { return dim && d.name == dim->name; });
        if (at == piece.dims.end()) continue;
        const std::vector<AffineMap> maps = distinct_maps(open);
        if (interleave(piece, at - piece.dims.begin(), maps, depth)) return;
        if (partition(*at, maps)) return cut_by(piece, at - piece.dims.begin(), maps, depth);
      }
    }
    pieces_.push_back(std::move(piece));
  }

 private:
  /// Elements several columns apart of what one put joins, as pairs of a block: walked as the put's groups have them.
  bool in_steps(const RowPiece& piece, const OpenPut& open, int depth) {
    const std::vector<AffineMap> maps = distinct_maps(open);
    if (maps.size() != 1 || open.coordinate.terms.size() != 1) return false;
    const std::string& name = open.coordinate.terms[0].dim.name;
    const auto at =
        std::find_if(piece.dims.begin(), piece.dims.end(), [&](const NamedDim& d) { return d.name == name; });
    if (at == piece.dims.end()) return false;
    const auto taken = [&](const std::string& other) {
      return std::any_of(piece.dims.begin(), piece.dims.end(), [&](const NamedDim& d) { return d.name == other; });
    };
    const auto digits = reindexer_.digits_in_steps(maps[0], open.coordinate, taken);
    if (!digits) return false;
    replace(piece, at - piece.dims.begin(), mixed_radix(*digits), *digits, depth);
    return true;
  }

  std::vector<AffineMap> distinct_maps(const OpenPut& open) const {
    std::vector<AffineMap> maps;
    for (const NodeId sibling : open.siblings) {
      const AffineMap& map = graph_[sibling].map;
      if (std::find(maps.begin(), maps.end(), map) == maps.end()) maps.push_back(map);
    }
    return maps;
  }

  /// Do the maps cover the dimension, each coordinate once?
  bool partition(const NamedDim& dim, const std::vector<AffineMap>& maps) const {
    Dim covered;
    for (size_t i = 0; i < maps.size(); ++i) {
      Dim count(1);
      for (const auto& term : maps[i].terms) count = count * term.dim.extent;
      covered = covered + count;
      for (size_t j = i + 1; j < maps.size(); ++j) {
        if (reindexer_.land(maps[i], maps[j]).kind != Reindexer::Landing::Kind::Outside) return false;
      }
    }
    return covered == dim.extent;
  }

  /// Maps offset + s*digit of one s and extent (`join_pairs`): neighbours in memory come from different puts, so the
  /// dimension is walked as s*i + j, whose j is known where code is made.
  bool interleave(const RowPiece& piece, ptrdiff_t at, const std::vector<AffineMap>& maps, int depth) {
    constexpr int64_t kMost = 8;
    const NamedDim dim = piece.dims[static_cast<size_t>(at)];
    std::optional<int64_t> stride;
    Dim extent;
    for (const AffineMap& map : maps) {
      if (map.terms.size() != 1 || !map.offset.constant() || !map.terms[0].stride.constant()) return false;
      if (stride && (*stride != *map.terms[0].stride.constant() || !(extent == map.terms[0].dim.extent))) return false;
      stride = map.terms[0].stride.constant();
      extent = map.terms[0].dim.extent;
      if (*map.offset.constant() < 0 || *map.offset.constant() >= *stride) return false;
    }
    if (!stride || *stride < 2 || *stride > kMost || !(extent * Dim(*stride) == dim.extent)) return false;
    NamedDim outer = reindexer_.fresh(dim), inner = reindexer_.fresh(dim);
    outer.extent = extent;
    inner.extent = Dim(*stride);
    replace(piece, at, {.offset = Dim(), .terms = {{outer, Dim(*stride)}, {inner, Dim(1)}}}, {outer, inner}, depth);
    return true;
  }

  void cut_by(const RowPiece& piece, ptrdiff_t at, const std::vector<AffineMap>& maps, int depth) {
    const NamedDim dim = piece.dims[static_cast<size_t>(at)];
    for (const AffineMap& map : maps) {
      std::vector<AffineMap::Term> terms = map.terms;
      std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) {
        return !(a.stride == b.stride) && facts_.exact_quotient(a.stride, b.stride).has_value();
      });
      Substitution rename;
      std::vector<NamedDim> digits;
      for (const auto& term : terms) {
        const bool taken = std::any_of(piece.dims.begin(), piece.dims.end(),
                                       [&](const NamedDim& d) { return d.name == term.dim.name; });
        digits.push_back(taken ? reindexer_.fresh(term.dim) : term.dim);
        rename[term.dim.name] = affine(digits.back());
      }
      replace(piece, at, substitute(map, rename), digits, depth);
    }
  }

  /// The piece with the dimension `at` running through `to`, in dimensions `digits`.
  void replace(const RowPiece& piece, ptrdiff_t at, const AffineMap& to, const std::vector<NamedDim>& digits,
               int depth) {
    RowPiece part = piece;
    const Substitution substitution{{piece.dims[static_cast<size_t>(at)].name, normalised(to)}};
    part.value = reindexer_.at(piece.value, substitution);
    for (AffineMap& map : part.index) map = substitute(map, substitution);
    part.dims.erase(part.dims.begin() + at);
    part.dims.insert(part.dims.begin() + at, digits.begin(), digits.end());
    cut(std::move(part), depth + 1);
  }

  Graph& graph_;
  Reindexer& reindexer_;
  const DimFacts& facts_;
  std::vector<RowPiece>& pieces_;
};

}  // namespace

void cut_at_joins(Graph& graph, Reindexer& reindexer, const DimFacts& facts, RowPiece whole,
                  std::vector<RowPiece>& pieces) {
  Cutter(graph, reindexer, facts, pieces).cut(std::move(whole), 0);
}

}  // namespace coda
