// The parser's inside: recursive descent with one function for each production of grammar/coda.peg, in its order. A
// production that returns nothing (null) has reported why; its caller skips to a place from where parsing can go on.
// Only dsl/parse*.cpp include this.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/lexer.h"
#include "dsl/source.h"

namespace coda {

class Parser {
 public:
  Parser(const SourceMap& sources, Lexed lexed, Diagnostics& diagnostics)
      : sources_(sources), lexed_(std::move(lexed)), diagnostics_(diagnostics), failed_(!lexed_.errors.empty()) {}

  bool failed() const { return failed_; }

  // Files: parse_items.cpp.
  ast::Module parse_module();

 private:
  bool parse_break();
  std::optional<int> parse_version();
  std::optional<ast::Item> parse_item();
  std::optional<ast::Import> parse_import();
  std::optional<ast::Function> parse_function();
  std::optional<ast::Parameter> parse_function_parameter();
  std::optional<std::vector<ast::Statement>> parse_function_body(const ast::Name& function);
  std::optional<ast::Routine> parse_routine();
  std::optional<ast::Grad> parse_grad();
  std::optional<ast::Grad::Wrt> parse_wrt();

  // Signatures: parse_signatures.cpp.
  std::optional<std::vector<ast::TypeParameter>> parse_type_parameters();
  std::optional<ast::TypeParameter> parse_type_parameter();
  std::optional<ast::Parameter> parse_parameter();
  std::optional<std::vector<ast::Parameter>> parse_outputs();
  std::optional<ast::Parameter> parse_output();
  std::optional<ast::TypeExpr> parse_type();
  std::optional<ast::DimAnnotation> parse_dimension();
  ast::ExprPtr parse_extent(ast::ExprPtr first = nullptr);
  ast::ExprPtr parse_extent_product();
  ast::ExprPtr parse_extent_atom();
  std::optional<ast::Name> parse_layout();
  std::optional<std::vector<ast::Fact>> parse_where();
  std::optional<ast::Fact> parse_fact();
  std::optional<std::vector<std::pair<ast::Name, ast::ExprPtr>>> parse_schedule();
  std::optional<std::pair<ast::Name, ast::ExprPtr>> parse_setting();

  // Statements: parse_statements.cpp.
  std::optional<std::vector<ast::Statement>> parse_routine_body();
  std::optional<ast::Statement> parse_statement();
  std::optional<ast::Let> parse_let();
  std::optional<std::vector<ast::Name>> parse_name_tuple();
  std::optional<ast::Assign> parse_assign();
  std::optional<ast::Result> parse_result();

  // Expressions: parse_expressions.cpp.
  ast::ExprPtr parse_expression();
  ast::ExprPtr parse_and();
  ast::ExprPtr parse_not();
  ast::ExprPtr parse_comparison();
  ast::ExprPtr parse_sum();
  ast::ExprPtr parse_product();
  ast::ExprPtr parse_prefix();
  ast::ExprPtr parse_power();
  ast::ExprPtr parse_postfix();
  std::optional<std::pair<ast::ExprPtr, ast::Name>> parse_renaming();
  ast::ExprPtr parse_primary();
  ast::ExprPtr parse_call();
  std::optional<ast::Argument> parse_argument();
  ast::ExprPtr parse_group();

  // What follows is no production.

  /// Operators of one level, left-associative.
  ast::ExprPtr parse_chain(std::initializer_list<std::string_view> operators, ast::ExprPtr (Parser::*operand)(),
                           ast::ExprPtr first = nullptr);
  ast::ExprPtr parse_number();
  /// An optional `layout`, then the rest that parameters and outputs share.
  bool parse_typed(ast::Parameter& parameter);
  /// True at `x =`, `x +=`, `(a, b) =`, `(a, b) +=`.
  bool at_assignment() const;
  /// Reports a line that begins with a binary operator.
  bool reject_leading_operator();
  /// A word of another language where a statement begins or should end; false if it is none.
  bool reject_foreign_word();
  /// Takes the end of a statement and skips what remains of it, with a complaint if the statement was sound so far.
  /// False, and reported, where an item begins though the body of `open` isn't closed.
  bool end_statement(const Token& open, bool sound);
  /// Says that something follows where the line should end.
  void reject_trailing();

  /// Elements up to the closing bracket of `open` (already taken), separated by commas, the last comma optional. An
  /// element that fails is skipped. False if the bracket's end wasn't found.
  template <typename Element>
  bool parse_list(const Token& open, Element element);

  // Tokens: parser.cpp.
  const Token& peek(size_t ahead = 0) const;
  bool at(std::string_view text) const { return spells(peek(), text); }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_item() const;  ///< at the keyword of an item, at the start of a line
  bool at_any(std::initializer_list<std::string_view> texts) const;
  static bool spells(const Token& token, std::string_view text);
  Token take();
  bool take_if(std::string_view text);
  bool expect(std::string_view text);
  std::optional<ast::Name> expect_name(std::string_view what);
  /// Takes the closing bracket of `open`.
  bool expect_close(const Token& open);
  /// Reports that `open` has no end, if what comes next can only mean that.
  bool report_unclosed(const Token& open);
  void report_unseparated(const Token& open);
  static std::string_view closing(std::string_view open);
  Span from(uint32_t begin) const;  ///< to the end of the last token taken

  // Errors and recovery: parser.cpp.
  Diagnostic& report(DiagId id, Span span, std::vector<std::string> arguments = {});
  /// Says that the current token isn't what was expected, in the words that fit it best.
  Diagnostic& unexpected(std::string_view expected);
  void reject_keyword();
  /// What follows a `.` behind `value` and isn't `T`.
  void reject_member(Span value);
  /// Dimensions where a type should begin.
  void reject_bare_dimensions();
  /// Is there an `as` before the bracket closes?
  bool renames_ahead() const;
  static std::string describe(const Token& token);
  void skip_statement();
  void skip_element();  ///< to the comma or bracket that ends it
  bool begins_line() const;
  int line_of(size_t index) const;
  void skip_item();

  // Trees.
  /// Null, and reported, if the tree would be too high.
  template <typename Node>
  ast::ExprPtr make(Span span, Node node, int height_of_children = 0);
  ast::ExprPtr make_binary(const Token& op, ast::ExprPtr left, ast::ExprPtr right);
  ast::ExprPtr checked(ast::ExprPtr expression);
  std::string doc_above(const Token& first) const;

  /// Bounds the recursion of the parser itself.
  struct Nesting {
    explicit Nesting(Parser& parser) : parser(parser) { ++parser.nesting_; }
    ~Nesting() { --parser.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool too_deep() const;
    Parser& parser;
  };

  const SourceMap& sources_;
  Lexed lexed_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  uint32_t last_end_ = 0;
  size_t statement_ = 0;  ///< the first token of the statement being read
  int nesting_ = 0;
  size_t errors_ = 0;
  bool failed_;
  Diagnostic suppressed_;
};

template <typename Element>
bool Parser::parse_list(const Token& open, Element element) {
  const std::string_view close = closing(open.text);
  while (!take_if(close)) {
    bool sound = element();
    if (sound && !at(",") && !at(close)) {
      if (report_unclosed(open)) return false;
      report_unseparated(open);
      sound = false;
    }
    if (!sound) skip_element();
    if (!at(",") && !at(close)) return false;
    take_if(",");
  }
  return true;
}

template <typename Node>
ast::ExprPtr Parser::make(Span span, Node node, int height_of_children) {
  auto expression = std::make_unique<ast::Expr>();
  expression->span = span;
  expression->height = height_of_children + 1;
  expression->node = std::move(node);
  return checked(std::move(expression));
}

}  // namespace coda
