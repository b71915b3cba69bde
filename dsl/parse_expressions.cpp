// Productions of expressions, from the loosest to the tightest operator.
#include <algorithm>
#include <charconv>
#include <system_error>

#include "dsl/foreign_words.h"
#include "dsl/productions.h"

namespace coda {

using namespace ast;  // NOLINT: the productions make nothing but its nodes

ExprPtr Parser::parse_expression() {
  const Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  return parse_chain({"or"}, &Parser::parse_and);
}

ExprPtr Parser::parse_and() { return parse_chain({"and"}, &Parser::parse_not); }

ExprPtr Parser::parse_not() {
  if (!at("not")) return parse_comparison();
  const Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  const Token op = take();
  ExprPtr operand = parse_not();
  if (!operand) return nullptr;
  const Span span = cover(op.span, operand->span);
  const int height = operand->height;
  return make(span, Unary{"not", std::move(operand)}, height);
}

ExprPtr Parser::parse_comparison() {
  static constexpr auto kComparisons = {"==", "!=", "<=", "<", ">=", ">"};
  ExprPtr left = parse_sum();
  const auto compares = [&] {
    return std::any_of(kComparisons.begin(), kComparisons.end(), [&](const char* text) { return at(text); });
  };
  if (!left || !compares()) return left;
  const Token op = take();
  ExprPtr right = parse_sum();
  if (!right) return nullptr;
  if (compares()) {
    report(DiagId::E0117, peek().span);
    return nullptr;
  }
  return make_binary(op, std::move(left), std::move(right));
}

ExprPtr Parser::parse_sum() { return parse_chain({"+", "-"}, &Parser::parse_product); }

ExprPtr Parser::parse_product() { return parse_chain({"*", "/", "@"}, &Parser::parse_prefix); }

ExprPtr Parser::parse_prefix() {
  if (!at("-")) return parse_power();
  const Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  const Token op = take();
  ExprPtr operand = parse_prefix();
  if (!operand) return nullptr;
  const Span span = cover(op.span, operand->span);
  const int height = operand->height;
  return make(span, Unary{"-", std::move(operand)}, height);
}

ExprPtr Parser::parse_power() {
  ExprPtr base = parse_postfix();
  if (!base || !at("**")) return base;
  const Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  const Token op = take();
  ExprPtr exponent = parse_prefix();
  if (!exponent) return nullptr;
  return make_binary(op, std::move(base), std::move(exponent));
}

ExprPtr Parser::parse_postfix() {
  ExprPtr operand = parse_primary();
  while (operand && at_any({".", "["})) {
    const Token open = take();
    const uint32_t begin = operand->span.begin;
    const int height = operand->height;
    if (open.text == ".") {
      if (!at(TokenKind::Name) || peek().text != "T") {
        reject_member(operand->span);
        return nullptr;
      }
      take();
      operand = make(from(begin), Transpose{std::move(operand)}, height);
      continue;
    }
    Rename rename{std::move(operand), {}};
    if (!renames_ahead()) {
      report(DiagId::E0136, from(open.span.begin));
      return nullptr;
    }
    bool renamed = true;
    const bool complete = parse_list(open, [&] {
      auto renaming = parse_renaming();
      if (renaming) rename.renames.push_back(std::move(*renaming));
      renamed = renamed && renaming.has_value();
      return renaming.has_value();
    });
    if (!complete || !renamed) return nullptr;
    operand = make(from(begin), std::move(rename), height);
  }
  return operand;
}

void Parser::reject_member(Span value) {
  constexpr uint32_t kLongest = 30;
  const bool is_name = at(TokenKind::Name) || at(TokenKind::Keyword);
  const std::string text(value.end - value.begin > kLongest ? "" : sources_.text(value));
  report(DiagId::E0124, peek().span,
         {describe(peek()), instead_of_member(text, is_name ? std::string(peek().text) : "", spells(peek(1), "("))});
}

bool Parser::renames_ahead() const {
  for (size_t ahead = 0;; ++ahead) {
    const Token& token = peek(ahead);
    if (spells(token, "as")) return true;
    if (spells(token, "]") || token.kind == TokenKind::Newline || token.kind == TokenKind::End) return false;
  }
}

std::optional<std::pair<ExprPtr, Name>> Parser::parse_renaming() {
  ExprPtr extent = parse_extent();
  if (!extent) return std::nullopt;
  if (!take_if("as")) {
    report(DiagId::E0136, peek().span);
    return std::nullopt;
  }
  auto name = expect_name("a name for the dimension");
  if (!name) return std::nullopt;
  return std::pair(std::move(extent), std::move(*name));
}

ExprPtr Parser::parse_primary() {
  if (at(TokenKind::Number) || at(TokenKind::Integer)) return parse_number();
  if (at(TokenKind::String)) {
    const Token token = take();
    if (token.text.size() < 2) return nullptr;  // the lexer reported that it isn't closed
    return make(token.span, StringLit{std::string(token.text.substr(1, token.text.size() - 2))});
  }
  if (at_any({"true", "false"})) {
    const Token token = take();
    return make(token.span, BoolLit{token.text == "true"});
  }
  if (at(TokenKind::Name)) {
    if (spells(peek(1), "(")) return parse_call();
    const Token token = take();
    return make(token.span, NameRef{std::string(token.text)});
  }
  if (at("(")) return parse_group();
  if (at(TokenKind::Keyword)) {
    reject_keyword();
  } else {
    unexpected("an expression");
  }
  return nullptr;
}

ExprPtr Parser::parse_call() {
  const Token name = take();
  const Token open = take();
  Call call;
  call.callee = {std::string(name.text), name.span};
  int height = 0;
  bool sound = true;
  const bool complete = parse_list(open, [&] {
    auto argument = parse_argument();
    if (argument) {
      height = std::max(height, argument->value->height);
      call.arguments.push_back(std::move(*argument));
    } else {
      sound = false;
    }
    return argument.has_value();
  });
  if (!complete || !sound) return nullptr;
  return make(from(name.span.begin), std::move(call), height);
}

std::optional<Argument> Parser::parse_argument() {
  Argument argument;
  if (at(TokenKind::Name) && spells(peek(1), "=")) {
    argument.keyword = expect_name("a keyword");
    take();
  }
  argument.value = parse_expression();
  if (!argument.value) return std::nullopt;
  return argument;
}

ExprPtr Parser::parse_group() {
  const Token open = take();
  if (at(")")) {
    const Token close = take();
    report(DiagId::E0133, cover(open.span, close.span));
    return nullptr;
  }
  Tuple tuple;
  int height = 0;
  do {
    ExprPtr element = parse_expression();
    if (!element) return nullptr;
    height = std::max(height, element->height);
    tuple.elements.push_back(std::move(element));
  } while (take_if(","));
  if (!expect_close(open)) return nullptr;
  if (tuple.elements.size() > 1) return make(from(open.span.begin), std::move(tuple), height);
  ExprPtr inner = std::move(tuple.elements.front());
  inner->span = from(open.span.begin);
  return inner;
}

ExprPtr Parser::parse_chain(std::initializer_list<std::string_view> operators, ExprPtr (Parser::*operand)(),
                            ExprPtr first) {
  ExprPtr left = first ? std::move(first) : (this->*operand)();
  while (left && at_any(operators)) {
    const Token op = take();
    ExprPtr right = (this->*operand)();
    if (!right) return nullptr;
    left = make_binary(op, std::move(left), std::move(right));
  }
  return left;
}

ExprPtr Parser::parse_number() {
  const Token token = take();
  const char *begin = token.text.data(), *end = begin + token.text.size();
  NumberLit number;
  number.spelling = token.text;
  number.is_integer = token.kind == TokenKind::Integer;
  auto error = std::from_chars(begin, end, number.value).ec;
  if (number.is_integer && error == std::errc()) error = std::from_chars(begin, end, number.integer).ec;
  if (error != std::errc()) {
    report(DiagId::E0107, token.span, {number.spelling, number.is_integer ? "an i64" : "a double"});
    return nullptr;
  }
  return make(token.span, std::move(number));
}

}  // namespace coda
