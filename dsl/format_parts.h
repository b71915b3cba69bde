// The formatter's inside: comments in the order of the text, and expressions as documents. Only dsl/format*.cpp include
// this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ast.h"
#include "dsl/lexer.h"
#include "dsl/pretty.h"

namespace coda {

/// Hands out each comment once, before the first piece of syntax that follows it in the text.
class CommentFeed {
 public:
  CommentFeed() = default;
  CommentFeed(std::string_view text, std::vector<Comment> comments) : text_(text), comments_(std::move(comments)) {}

  bool pending(uint32_t offset) const { return next_ < comments_.size() && comments_[next_].span.begin < offset; }
  /// Comments inside a statement, with a line break behind; empty if there is none before `offset`.
  Doc inside(uint32_t offset);
  /// Comments between statements or items, each after a line break. A blank line before the first if `force_blank`,
  /// before any if the text has one, none if `at_start` of a body; both flags are cleared by what is printed.
  Doc between(uint32_t offset, bool& at_start, bool& force_blank);
  /// The same, and the line break before what begins at `offset`.
  Doc before_line(uint32_t offset, bool at_start, bool force_blank);

 private:
  std::string take();
  /// Whether a blank line belongs before what begins at `offset`.
  bool blank_before(uint32_t offset) const;

  std::string_view text_;
  std::vector<Comment> comments_;
  size_t next_ = 0;
  const Comment* above_ = nullptr;  ///< the comment on the line before, while lines between statements are made
};

/// What surrounds an expression; it decides on spaces around `*` and `/`.
enum class Setting : uint8_t {
  Plain,
  Argument,  ///< of a call
  Term,      ///< of a sum
  Extent,    ///< of a type, a fact or a renaming
};

/// In parentheses if it binds looser than `tightness`.
Doc expression_doc(const ast::Expr& expression, CommentFeed& comments, Setting setting = Setting::Plain,
                   int tightness = 0);
inline constexpr int kProductTightness = 6;  ///< the left side of `%`
inline constexpr int kAtomTightness = 9;     ///< its right side, and what takes `.T`

/// `a, b, c` inside brackets, filled: a line breaks where the next element doesn't fit. `begin_of` gives where an
/// element begins in the text, `doc_of` its document.
template <typename Elements, typename BeginOf, typename DocOf>
Doc list_doc(const Elements& elements, CommentFeed& comments, BeginOf begin_of, DocOf doc_of) {
  Doc list;
  bool first = true;
  for (const auto& element : elements) {
    if (!first) list.add(",");
    Doc filled;
    if (Doc above = comments.inside(begin_of(element)); !above.empty()) {
      list.add(std::move(above));
    } else if (!first) {
      filled.add(Doc::line());
    }
    filled.add(doc_of(element));
    list.add(Doc::group(std::move(filled)));
    first = false;
  }
  return Doc::align(std::move(list));
}

}  // namespace coda
