// The readable dump of an epilogue program.
#include <algorithm>
#include <set>
#include <sstream>

#include "compiler/epilogue/affine.h"
#include "compiler/epilogue/epilogue.h"

namespace coda {

namespace {

class Dumper {
 public:
  explicit Dumper(const EpilogueProgram& epilogue) : e_(epilogue), graph_(epilogue.program.graph) {}

  std::string run() {
    text_ << "epilogue " << e_.program.name << "\n";
    text_ << "  rows " << dims(e_.rows);
    if (e_.batch > 0) text_ << ", of which the batch " << dims({e_.rows.begin(), e_.rows.begin() + e_.batch});
    if (e_.kept > 0) text_ << ", of it kept " << dims({e_.rows.begin(), e_.rows.begin() + e_.kept});
    if (e_.is_rowwise()) {
      text_ << ", no product\n";
    } else {
      text_ << ", column " << e_.column.name << " = " << e_.column.extent.text() << ", depth " << e_.depth.text()
            << "\n";
      for (const GemmTerm& term : e_.earlier) {
        text_ << "  first a product of depth " << term.depth.text();
        if (term.scale != kNoNode) text_ << ", then times %" << use(term.scale);
        text_ << "\n";
        operand("a", term.a);
        operand("b", term.b);
      }
      if (!e_.earlier.empty()) text_ << "  last\n";
      operand("a", e_.a);
      operand("b", e_.b);
    }
    for (size_t i = 0; i < e_.regions.size(); ++i) region(i, e_.regions[i]);
    for (const auto& store : e_.stores) {
      text_ << "  store " << target(store.param, store.index) << " = %" << use(store.value) << " in region "
            << store.region << " where " << columns(store.columns) << "\n";
    }
    for (const auto& statistic : e_.statistics) describe(statistic);
    for (const auto& store : e_.finish_stores) {
      text_ << "  finish " << scope(store.scope) << " " << target(store.param, store.index) << " = %"
            << use(store.value);
      if (store.region >= 0) text_ << " in region " << store.region << " where " << columns(store.columns);
      text_ << "\n";
    }
    if (!e_.is_rowwise()) use(e_.accumulator);
    text_ << "  nodes\n";
    for (const NodeId id : nodes_) node(id);
    for (const auto& law : e_.laws) text_ << "  law " << law.law << ": " << law.detail << "\n";
    return text_.str();
  }

 private:
  const std::string& name(int param) const { return e_.program.params[static_cast<size_t>(param)].name; }

  static std::string dims(const std::vector<NamedDim>& list) {
    std::string text = "[";
    for (const auto& dim : list) text += (text.size() > 1 ? ", " : "") + dim.name;
    return text + "]";
  }
  static const char* scope(StatScope s) {
    return s == StatScope::Row ? "row" : s == StatScope::Column ? "column" : "all";
  }

  void operand(const char* role, const GemmOperand& operand) {
    text_ << "  " << role << " = " << name(operand.param) << ", outer axes";
    for (const int axis : operand.outer_axes) text_ << " " << axis;
    if (!operand.batch_axes.empty()) text_ << ", batch axes";
    for (const int axis : operand.batch_axes) text_ << " " << axis;
    text_ << ", depth axis";
    for (const int axis : operand.outer_depth_axes) text_ << " " << axis;
    text_ << " " << operand.depth_axis;
    if (operand.gathered()) text_ << ", gathered by " << name(operand.index_param);
    text_ << ", " << info(e_.operand_dtype(operand)).name << "\n";
  }

  void region(size_t index, const Region& region) {
    text_ << "  region " << index << ": " << region.extent.text() << " columns from";
    for (const auto& segment : region.segments) text_ << " " << segment.text() << ",";
    text_ << " granule " << region.granule << "\n";
  }

  std::string target(int param, const std::vector<AffineMap>& index) const {
    std::string text = name(param) + "[";
    for (size_t i = 0; i < index.size(); ++i) text += (i ? ", " : "") + formula(index[i]);
    return text + "]";
  }

  static std::string columns(const ColumnSpace& space) {
    std::string text = "c = " + std::to_string(space.phase);
    for (const auto& digit : space.digits) {
      text += " + " + digit.stride.text() + "*(" + digit.dim.name +
              (digit.offset.is_zero() ? "" : " - (" + digit.offset.text() + ")") + " < " + digit.extent.text() + ")";
    }
    return text;
  }

  void describe(const Statistic& statistic) {
    text_ << "  statistic " << scope(statistic.scope) << " %" << use(statistic.node) << " = "
          << statistic.reduction->name << " of " << statistic.count.text() << "\n";
    for (const auto& part : statistic.parts) {
      text_ << "    part %" << use(part.body) << " in region " << part.region << " where " << columns(part.columns)
            << "\n";
    }
  }

  /// Notes a node and what is below it, arguments first.
  NodeId use(NodeId id) {
    if (!seen_.insert(id).second) return id;
    for (const NodeId arg : graph_[id].args) use(arg);
    nodes_.push_back(id);
    return id;
  }

  void node(NodeId id) {
    const Node& n = graph_[id];
    text_ << "    %" << id << " " << dims(n.dims) << " = ";
    switch (n.kind) {
      case NodeKind::Input:
        text_ << name(n.param);
        break;
      case NodeKind::Constant:
        text_ << n.value;
        break;
      case NodeKind::Index:
        text_ << "index " << n.dim.name;
        break;
      case NodeKind::Extent:
        text_ << "extent " << n.map.offset.text();
        break;
      case NodeKind::Contract:
        text_ << (n.over.empty() ? "product" : "contract over " + dims(n.over));
        break;
      case NodeKind::Sum:
        text_ << "sum";
        for (const double c : n.coefficients) text_ << " " << c;
        break;
      case NodeKind::Apply:
        text_ << n.op->name;
        break;
      case NodeKind::View:
        text_ << "view " << n.dim.name << " = " << formula(n.map);
        break;
      case NodeKind::Put:
        text_ << "put " << n.dim.name << " = " << formula(n.map);
        break;
      case NodeKind::Reduce:
        text_ << n.reduction->name << " over " << dims(n.over);
        break;
      case NodeKind::Gather:
        text_ << "gather " << n.dim.name;
        break;
      case NodeKind::Cast:
        text_ << "cast " << info(n.dtype).name;
        break;
    }
    for (const NodeId arg : n.args) text_ << " %" << arg;
    if (id == e_.accumulator) text_ << "  (the accumulator)";
    text_ << "\n";
  }

  const EpilogueProgram& e_;
  const Graph& graph_;
  std::ostringstream text_;
  std::set<NodeId> seen_;
  std::vector<NodeId> nodes_;
};

}  // namespace

std::string to_text(const EpilogueProgram& epilogue) { return Dumper(epilogue).run(); }

}  // namespace coda
