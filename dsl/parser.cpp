// Tokens, errors and recovery of the parser; the productions are in parse_*.cpp.
#include "dsl/parser.h"

#include <algorithm>
#include <array>

#include "dsl/productions.h"

namespace coda {
namespace {

/// Of the parser's own recursion: each level takes about a dozen stack frames.
constexpr int kMaxNesting = 200;
/// Of an expression's tree: a chain `a + b + c …` is as high as it has operators.
constexpr int kMaxHeight = 1000;

constexpr std::array<std::string_view, 5> kItemKeywords = {"kernel", "block", "fn", "grad", "import"};

bool begins_item(const Token& token) {
  return token.kind == TokenKind::Keyword &&
         std::find(kItemKeywords.begin(), kItemKeywords.end(), token.text) != kItemKeywords.end();
}

}  // namespace

std::optional<ast::Module> parse(FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  Parser parser(sources, lex(file, sources, diagnostics), diagnostics);
  ast::Module module = parser.parse_module();
  if (parser.failed()) return std::nullopt;
  return module;
}

const Token& Parser::peek(size_t ahead) const { return lexed_.tokens[std::min(at_ + ahead, lexed_.tokens.size() - 1)]; }

bool Parser::spells(const Token& token, std::string_view text) {
  return (token.kind == TokenKind::Symbol || token.kind == TokenKind::Keyword) && token.text == text;
}

bool Parser::at_item() const {
  const bool fresh_line = at_ == 0 || lexed_.tokens[at_ - 1].kind == TokenKind::Newline;
  const TokenKind next = peek(1).kind;
  return fresh_line && begins_item(peek()) && (next == TokenKind::Name || next == TokenKind::String);
}

bool Parser::at_any(std::initializer_list<std::string_view> texts) const {
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) { return at(text); });
}

Token Parser::take() {
  const Token token = peek();
  if (at_ + 1 < lexed_.tokens.size()) ++at_;
  last_end_ = token.span.end;
  return token;
}

bool Parser::take_if(std::string_view text) {
  if (!at(text)) return false;
  take();
  return true;
}

bool Parser::expect(std::string_view text) {
  if (take_if(text)) return true;
  unexpected("`" + std::string(text) + "`");
  return false;
}

std::optional<ast::Name> Parser::expect_name(std::string_view what) {
  if (at(TokenKind::Name)) {
    const Token token = take();
    return ast::Name{std::string(token.text), token.span};
  }
  if (at(TokenKind::Keyword)) {
    reject_keyword();
  } else {
    unexpected(what);
  }
  return std::nullopt;
}

void Parser::reject_keyword() {
  const bool chooses = at("where") && spells(peek(1), "(");
  report(
      DiagId::E0113, peek().span,
      {std::string(peek().text),
       chooses ? "choose elements by `select(c, x, y)`; `where` states facts of a signature" : "choose another name"});
}

std::string_view Parser::closing(std::string_view open) {
  if (open == "(") return ")";
  return open == "[" ? "]" : "}";
}

bool Parser::expect_close(const Token& open) {
  if (take_if(closing(open.text))) return true;
  if (!report_unclosed(open)) report_unseparated(open);
  return false;
}

bool Parser::report_unclosed(const Token& open) {
  const bool ended = at(TokenKind::Newline) || at(TokenKind::End) || at("{") || at("}") || begins_line();
  if (ended) report(DiagId::E0111, open.span, {std::string(open.text), std::string(closing(open.text))});
  return ended;
}

void Parser::report_unseparated(const Token& open) {
  Diagnostic& wrong = unexpected("`,` or `" + std::string(closing(open.text)) + "`");
  if (wrong.id != DiagId::E0110) return;
  wrong.notes.push_back({open.span, "`" + std::string(open.text) + "` is open since here"});
  if (at(TokenKind::Name)) wrong.way_out = "put a comma in front of `" + std::string(peek().text) + "`";
}

Span Parser::from(uint32_t begin) const { return {peek().span.file, begin, last_end_}; }

Diagnostic& Parser::report(DiagId id, Span span, std::vector<std::string> arguments) {
  failed_ = true;
  if (++errors_ > kMaxErrors) {
    at_ = lexed_.tokens.size() - 1;
    if (errors_ > kMaxErrors + 1) return suppressed_ = {};
    return diagnostics_.report(DiagId::E0134, span, {std::to_string(kMaxErrors)});
  }
  // What the lexer rejected is missing from the line, so that a second complaint about it would mislead.
  const int line = sources_.position(span.file, span.begin).line;
  for (const Span& error : lexed_.errors) {
    if (sources_.position(error.file, error.begin).line == line) return suppressed_ = {};
  }
  return diagnostics_.report(id, span, std::move(arguments));
}

std::string Parser::describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::Newline:
      return "the end of the line";
    case TokenKind::End:
      return "the end of the file";
    case TokenKind::Keyword:
      return "the keyword `" + std::string(token.text) + "`";
    case TokenKind::String:
      return "a string";
    default:
      return "`" + std::string(token.text) + "`";
  }
}

Diagnostic& Parser::unexpected(std::string_view expected) {
  const Token& token = peek();
  if (at("%")) return report(DiagId::E0127, token.span);
  if (at("=")) {
    // `y =` at the start of a line was meant as a statement: the line before it ends too early.
    if (at_ >= 2 && line_of(at_ - 1) != line_of(at_ - 2) && lexed_.tokens[at_ - 2].kind == TokenKind::Symbol) {
      const Token& joint = lexed_.tokens[at_ - 2];
      return report(DiagId::E0137, joint.span, {std::string(joint.text)});
    }
    return report(DiagId::E0129, token.span);
  }
  return report(DiagId::E0110, token.span, {std::string(expected), describe(token)});
}

int Parser::line_of(size_t index) const {
  const Span span = lexed_.tokens[index].span;
  return sources_.position(span.file, span.begin).line;
}

bool Parser::begins_line() const {
  if (at_ == 0) return true;
  // Not by line numbers: this is asked for every token that is skipped.
  const Span here = peek().span;
  return sources_.text({here.file, lexed_.tokens[at_ - 1].span.end, here.begin}).find('\n') != std::string_view::npos;
}

void Parser::skip_statement() {
  const auto column = [&](size_t index) {
    const Span span = lexed_.tokens[index].span;
    return sources_.position(span.file, span.begin).column;
  };
  const int indentation = column(statement_);
  while (!at(TokenKind::Newline) && !at(TokenKind::End) && !at("}")) {
    // Inside an open bracket no line end is a token; there the indentation tells where the next statement begins.
    if (at_ > statement_ && begins_line() && column(at_) <= indentation) return;
    take();
  }
}

void Parser::skip_element() {
  int depth = 0;
  while (!at(TokenKind::Newline) && !at(TokenKind::End) && !at("{") && !at("}")) {
    if (depth == 0 && at_any({",", ")", "]"})) return;
    if (at_any({"(", "["})) ++depth;
    if (at_any({")", "]"})) --depth;
    take();
  }
}

void Parser::skip_item() {
  while (!at(TokenKind::End) && !at_item()) take();
}

ast::ExprPtr Parser::checked(ast::ExprPtr expression) {
  if (expression->height <= kMaxHeight) return expression;
  report(DiagId::E0123, expression->span, {std::to_string(kMaxHeight)});
  return nullptr;
}

ast::ExprPtr Parser::make_binary(const Token& op, ast::ExprPtr left, ast::ExprPtr right) {
  const Span span = cover(left->span, right->span);
  const int height = std::max(left->height, right->height);
  return make(span, ast::Binary{std::string(op.text), op.span, std::move(left), std::move(right)}, height);
}

bool Parser::Nesting::too_deep() const {
  if (parser.nesting_ <= kMaxNesting) return false;
  parser.report(DiagId::E0123, parser.peek().span, {std::to_string(kMaxNesting)});
  return true;
}

std::string Parser::doc_above(const Token& first) const {
  std::vector<std::string_view> lines;
  int line = sources_.position(first.span.file, first.span.begin).line;
  const auto& comments = lexed_.comments;
  auto above = std::lower_bound(comments.begin(), comments.end(), first.span.begin,
                                [](const Comment& comment, uint32_t offset) { return comment.span.begin < offset; });
  while (above != comments.begin()) {
    --above;
    if (!above->own_line || sources_.position(above->span.file, above->span.begin).line != line - 1) break;
    --line;
    std::string_view text = sources_.text(above->span).substr(2);
    if (text.starts_with(' ')) text.remove_prefix(1);
    lines.push_back(text);
  }
  std::string doc;
  for (auto text = lines.rbegin(); text != lines.rend(); ++text) {
    if (!doc.empty()) doc += '\n';
    doc += *text;
  }
  return doc;
}

}  // namespace coda
