// Productions of statements.
#include "dsl/foreign_words.h"
#include "dsl/productions.h"

namespace coda {

using namespace ast;  // NOLINT: the productions make nothing but its nodes

std::optional<std::vector<Statement>> Parser::parse_routine_body() {
  const Token open = peek();
  if (!expect("{")) return std::nullopt;
  std::vector<Statement> body;
  while (!at("}") && !at(TokenKind::End)) {
    statement_ = at_;
    auto statement = parse_statement();
    const bool sound = statement.has_value();
    if (sound) body.emplace_back(std::move(*statement));
    if (!end_statement(open, sound)) return std::nullopt;
  }
  if (!expect_close(open)) return std::nullopt;
  return body;
}

std::optional<Statement> Parser::parse_statement() {
  if (at("let")) return parse_let();
  if (at_assignment()) return parse_assign();
  if (reject_leading_operator()) return std::nullopt;
  if (reject_foreign_word()) return std::nullopt;
  const ExprPtr stray = parse_expression();
  if (!stray) return std::nullopt;
  if (at_any({"=", "+="})) {
    report(DiagId::E0135, stray->span);
    return std::nullopt;
  }
  const auto* compared = std::get_if<Binary>(&stray->node);
  const auto* target = compared != nullptr ? std::get_if<NameRef>(&compared->left->node) : nullptr;
  const bool stores = target != nullptr && compared->op == "==";
  report(DiagId::E0118, stray->span,
         {stores ? "to store it in `" + target->name + "`, write one `=`"
                 : "store it in an output as `y = …`, or name it with `let`"});
  return std::nullopt;
}

std::optional<Let> Parser::parse_let() {
  const Token first = take();
  Let let;
  if (at("(")) {
    auto names = parse_name_tuple();
    if (!names) return std::nullopt;
    let.names = std::move(*names);
    if (at(":")) {
      report(DiagId::E0132, from(first.span.begin));
      return std::nullopt;
    }
  } else {
    auto name = expect_name("a name");
    if (!name) return std::nullopt;
    let.names.push_back(std::move(*name));
    if (at(",")) {
      unexpected("`=`").way_out = "put the names of parts in parentheses, as `let (a, b) = halves(z)`";
      return std::nullopt;
    }
    if (take_if(":")) {
      let.type = parse_type();
      if (!let.type) return std::nullopt;
    }
  }
  if (!expect("=")) return std::nullopt;
  let.value = parse_expression();
  if (!let.value) return std::nullopt;
  let.span = from(first.span.begin);
  return let;
}

std::optional<std::vector<Name>> Parser::parse_name_tuple() {
  const Token open = take();
  std::vector<Name> names;
  if (at(")")) {
    unexpected("a name");
    return std::nullopt;
  }
  const bool complete = parse_list(open, [&] {
    auto name = expect_name("a name");
    if (name) names.push_back(std::move(*name));
    return name.has_value();
  });
  if (!complete) return std::nullopt;
  return names;
}

std::optional<Assign> Parser::parse_assign() {
  const uint32_t begin = peek().span.begin;
  Assign assign;
  if (at("(")) {
    auto names = parse_name_tuple();
    if (!names) return std::nullopt;
    assign.targets = std::move(*names);
  } else {
    auto name = expect_name("a name");
    if (!name) return std::nullopt;
    assign.targets.push_back(std::move(*name));
  }
  assign.accumulate = take().text == "+=";
  assign.value = parse_expression();
  if (!assign.value) return std::nullopt;
  assign.span = from(begin);
  return assign;
}

std::optional<Result> Parser::parse_result() {
  if (reject_leading_operator()) return std::nullopt;
  ExprPtr value = parse_expression();
  if (!value) return std::nullopt;
  const Span span = value->span;
  return Result{std::move(value), span};
}

bool Parser::at_assignment() const {
  size_t ahead = 1;
  if (at("(")) {
    // A tuple of names, however malformed, up to its bracket.
    while (!spells(peek(ahead), ")")) {
      const Token& token = peek(ahead);
      if (token.kind != TokenKind::Name && !spells(token, ",")) return false;
      ++ahead;
    }
    ++ahead;
  } else if (!at(TokenKind::Name)) {
    return false;
  }
  return spells(peek(ahead), "=") || spells(peek(ahead), "+=");
}

bool Parser::end_statement(const Token& open, bool sound) {
  const bool ended = at(TokenKind::Newline) || at("}") || at(TokenKind::End);
  if (!ended && sound) reject_trailing();
  skip_statement();
  if (at(TokenKind::Newline)) take();
  if (!at_item()) return true;
  report(DiagId::E0111, open.span, {"{", "}"});
  return false;
}

void Parser::reject_trailing() {
  if (at_any({")", "]", "}"})) {
    const std::string close(peek().text);
    report(DiagId::E0112, peek().span, {close, close == ")" ? "(" : close == "]" ? "[" : "{"});
  } else if (!reject_foreign_word()) {
    unexpected("the end of the line");
  }
}

bool Parser::reject_foreign_word() {
  const std::string instead(at(TokenKind::Name) ? instead_of_statement(peek().text) : "");
  if (instead.empty()) return false;
  report(DiagId::E0138, peek().span, {std::string(peek().text), instead});
  return true;
}

bool Parser::reject_leading_operator() {
  if (at("-")) {
    report(DiagId::E0116, peek().span);
    return true;
  }
  if (!at_any({"+", "*", "/", "@", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or"})) return false;
  report(DiagId::E0115, peek().span, {std::string(peek().text)});
  return true;
}

}  // namespace coda
