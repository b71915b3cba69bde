// Comments and expressions of the formatter.
#include <string_view>

#include "dsl/format.h"
#include "dsl/format_parts.h"

namespace coda {
namespace {

using namespace ast;  // NOLINT: reads nothing but its nodes

/// Operators of one row chain with one another; rows of one tightness do not (`(a @ b) * c` keeps its parentheses,
/// though it would read the same without).
struct OperatorRow {
  std::initializer_list<std::string_view> spellings;
  int tightness;
  bool chains, spaced;
};
const OperatorRow kOperators[] = {
    {{"or"}, 1, true, true},
    {{"and"}, 2, true, true},
    {{"==", "!=", "<=", "<", ">=", ">"}, 4, false, true},
    {{"+", "-"}, 5, true, true},
    {{"*", "/"}, kProductTightness, true, true},
    {{"@"}, kProductTightness, true, true},
    {{"**"}, 8, false, false},
};
constexpr int kNotTightness = 3, kMinusTightness = 7;

const OperatorRow& row_of(std::string_view op) {
  for (const OperatorRow& row : kOperators) {
    for (const std::string_view spelling : row.spellings) {
      if (spelling == op) return row;
    }
  }
  return kOperators[0];
}

const Binary* as_binary(const Expr& expression) { return std::get_if<Binary>(&expression.node); }

int tightness_of(const Expr& expression) {
  if (const Binary* binary = as_binary(expression)) return row_of(binary->op).tightness;
  if (const Unary* unary = std::get_if<Unary>(&expression.node)) {
    return unary->op == "-" ? kMinusTightness : kNotTightness;
  }
  return kAtomTightness;
}

bool is_simple(const Expr& expression) {
  return std::holds_alternative<NameRef>(expression.node) || std::holds_alternative<NumberLit>(expression.node);
}

/// One expression at a time; `visit` per kind of node.
struct ExpressionPrinter {
  CommentFeed& comments;
  Setting setting;

  Doc operator()(const NumberLit& number) const { return Doc::text(number.spelling); }
  Doc operator()(const BoolLit& literal) const { return Doc::text(literal.value ? "true" : "false"); }
  Doc operator()(const StringLit& literal) const { return Doc::text("\"" + literal.value + "\""); }
  Doc operator()(const NameRef& name) const { return Doc::text(name.name); }

  Doc operator()(const Unary& unary) const {
    Doc doc = Doc::text(unary.op == "-" ? "-" : "not ");
    const int tightness = unary.op == "-" ? kMinusTightness : kNotTightness;
    doc.add(comments.inside(unary.operand->span.begin));
    return std::move(doc.add(expression_doc(*unary.operand, comments, Setting::Plain, tightness)));
  }

  Doc operator()(const Binary& binary) const {
    const OperatorRow& row = row_of(binary.op);
    std::vector<const Binary*> chain{&binary};
    while (row.chains) {
      const Binary* left = as_binary(*chain.back()->left);
      if (!left || &row_of(left->op) != &row) break;
      chain.push_back(left);
    }
    const bool product = row.tightness == kProductTightness && row.spellings.size() == 2;
    const bool tight = !row.spaced || (product && packs(chain));
    const Setting inner = setting == Setting::Extent                 ? setting
                          : row.tightness == 5 || (product && tight) ? Setting::Term
                                                                     : Setting::Plain;
    // A chain associates to the left; `**` and comparisons take no operand of their own row without parentheses.
    Doc doc = operand(*chain.back()->left, inner, row.chains ? row.tightness : row.tightness + 1, row);
    for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
      const Expr& right = *(*link)->right;
      doc.add(Doc::text(tight ? (*link)->op : " " + (*link)->op));
      Doc filled;
      if (Doc above = comments.inside(right.span.begin); !above.empty()) {
        doc.add(std::move(above));
      } else if (!tight) {
        filled.add(Doc::line());
      }
      const int tightness = (*link)->op == "**" ? kMinusTightness : row.tightness + 1;
      filled.add(operand(right, inner, tightness, row));
      doc.add(Doc::group(std::move(filled)));
    }
    return doc;
  }

  Doc operator()(const Call& call) const {
    Doc doc = Doc::text(call.callee.text + "(");
    const auto begin = [](const Argument& argument) {
      return argument.keyword ? argument.keyword->span.begin : argument.value->span.begin;
    };
    doc.add(list_doc(call.arguments, comments, begin, [&](const Argument& argument) {
      Doc value;
      if (argument.keyword) value.add(Doc::text(argument.keyword->text + " = "));
      return std::move(value.add(expression_doc(*argument.value, comments, Setting::Argument)));
    }));
    return std::move(doc.add(")"));
  }

  Doc operator()(const Rename& rename) const {
    Doc doc = expression_doc(*rename.operand, comments, Setting::Plain, kAtomTightness);
    doc.add("[");
    const auto begin = [](const auto& renaming) { return renaming.first->span.begin; };
    doc.add(list_doc(rename.renames, comments, begin, [&](const auto& renaming) {
      Doc renamed = expression_doc(*renaming.first, comments, Setting::Extent);
      return std::move(renamed.add(Doc::text(" as " + renaming.second.text)));
    }));
    return std::move(doc.add("]"));
  }

  Doc operator()(const Transpose& transpose) const {
    return std::move(expression_doc(*transpose.operand, comments, Setting::Plain, kAtomTightness).add(".T"));
  }

  Doc operator()(const Tuple& tuple) const {
    Doc doc = Doc::text("(");
    const auto begin = [](const ExprPtr& element) { return element->span.begin; };
    doc.add(list_doc(tuple.elements, comments, begin,
                     [&](const ExprPtr& element) { return expression_doc(*element, comments, Setting::Argument); }));
    return std::move(doc.add(")"));
  }

 private:
  /// Whether a product is written without spaces: `a*b + c`, `f(x*x)`, `2*F`.
  bool packs(const std::vector<const Binary*>& chain) const {
    if (setting == Setting::Extent || setting == Setting::Term) return true;
    if (setting != Setting::Argument || !is_simple(*chain.back()->left)) return false;
    for (const Binary* link : chain) {
      if (!is_simple(*link->right)) return false;
    }
    return true;
  }

  Doc operand(const Expr& expression, Setting inner, int tightness, const OperatorRow& row) const {
    const Binary* binary = as_binary(expression);
    const bool other_row = binary && row_of(binary->op).tightness == row.tightness && &row_of(binary->op) != &row;
    return expression_doc(expression, comments, inner, other_row ? tightness + 1 : tightness);
  }
};

}  // namespace

Doc expression_doc(const Expr& expression, CommentFeed& comments, Setting setting, int tightness) {
  Doc doc = comments.inside(expression.span.begin);
  const bool parenthesised = tightness_of(expression) < tightness;
  Doc inner = std::visit(ExpressionPrinter{comments, setting}, expression.node);
  if (!parenthesised) return std::move(doc.add(std::move(inner)));
  return std::move(doc.add("(").add(Doc::align(std::move(inner))).add(")"));
}

std::string format(const Expr& expression) {
  CommentFeed none;
  std::string line = expression_doc(expression, none).render(1 << 30);
  line.pop_back();
  return line;
}

std::string CommentFeed::take() {
  const Span span = comments_[next_++].span;
  std::string text(text_.substr(span.begin, span.end - span.begin));
  while (text.ends_with(' ') || text.ends_with('\t')) text.pop_back();
  return text;
}

Doc CommentFeed::inside(uint32_t offset) {
  Doc doc;
  if (!pending(offset)) return doc;
  while (pending(offset)) {
    if (doc.empty() && !comments_[next_].own_line) {
      doc.add(Doc::trailing_comment(take()));
    } else {
      doc.add(Doc::hard_line()).add(Doc::comment(take()));
    }
  }
  return std::move(doc.add(Doc::hard_line()));
}

Doc CommentFeed::between(uint32_t offset, bool& at_start, bool& force_blank) {
  Doc doc;
  above_ = nullptr;
  while (pending(offset)) {
    const Comment& comment = comments_[next_];
    if (doc.empty() && !comment.own_line) {
      doc.add(Doc::trailing_comment(take()));
      continue;
    }
    if (!at_start && (force_blank || blank_before(comment.span.begin))) doc.add(Doc::blank_line());
    at_start = force_blank = false;
    doc.add(Doc::hard_line()).add(Doc::comment(take()));
    above_ = &comment;
  }
  return doc;
}

Doc CommentFeed::before_line(uint32_t offset, bool at_start, bool force_blank) {
  Doc doc = between(offset, at_start, force_blank);
  if (!at_start && (force_blank || blank_before(offset))) doc.add(Doc::blank_line());
  return std::move(doc.add(Doc::hard_line()));
}

bool CommentFeed::blank_before(uint32_t offset) const {
  int breaks = 0;
  while (offset > 0) {
    const char c = text_[offset - 1];
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') break;
    if (c == '\n') ++breaks;
    --offset;
  }
  // A comment that has lost its place must not become the documentation of what it now stands above.
  const bool displaced = above_ && (offset <= above_->span.begin || offset > above_->span.end);
  return breaks > 1 || displaced;
}

}  // namespace coda
