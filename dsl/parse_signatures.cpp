// Productions of signatures: parameters, types, extents, facts, schedules.
#include "dsl/productions.h"

namespace coda {

using namespace ast;  // NOLINT: the productions make nothing but its nodes

std::optional<std::vector<TypeParameter>> Parser::parse_type_parameters() {
  const Token open = take();
  std::vector<TypeParameter> list;
  if (at("]")) {
    unexpected("a type parameter, as `T: bf16 | f16`");
    return std::nullopt;
  }
  const bool complete = parse_list(open, [&] {
    auto parameter = parse_type_parameter();
    if (parameter) list.push_back(std::move(*parameter));
    return parameter.has_value();
  });
  if (!complete) return std::nullopt;
  return list;
}

std::optional<TypeParameter> Parser::parse_type_parameter() {
  auto name = expect_name("a type parameter");
  if (!name || !expect(":")) return std::nullopt;
  TypeParameter parameter{std::move(*name), {}};
  do {
    auto choice = expect_name("an element type");
    if (!choice) return std::nullopt;
    parameter.choices.push_back(std::move(*choice));
  } while (take_if("|"));
  return parameter;
}

std::optional<Parameter> Parser::parse_parameter() {
  const uint32_t begin = peek().span.begin;
  Parameter parameter;
  parameter.is_inout = at("inout");
  parameter.is_const = at("const");
  if (parameter.is_inout || parameter.is_const) take();
  if (!parse_typed(parameter)) return std::nullopt;
  if (take_if("=")) {
    parameter.default_value = parse_expression();
    if (!parameter.default_value) return std::nullopt;
  }
  parameter.span = from(begin);
  return parameter;
}

std::optional<std::vector<Parameter>> Parser::parse_outputs() {
  take();
  std::vector<Parameter> outputs;
  const Token open = peek();
  if (at(TokenKind::Name)) {
    const uint32_t begin = peek().span.begin;
    if (!parse_type()) return std::nullopt;
    const bool named = take_if(":");
    if (named && !parse_type()) return std::nullopt;
    report(DiagId::E0140, from(begin), {(named ? "" : "y: ") + std::string(sources_.text(from(begin)))});
    return std::nullopt;
  }
  if (!expect("(")) return std::nullopt;
  if (at(")")) {
    unexpected("an output");
    return std::nullopt;
  }
  const bool complete = parse_list(open, [&] {
    auto output = parse_output();
    if (output) outputs.push_back(std::move(*output));
    return output.has_value();
  });
  if (!complete) return std::nullopt;
  return outputs;
}

std::optional<Parameter> Parser::parse_output() {
  Parameter output;
  if (!parse_typed(output)) return std::nullopt;
  output.span = from(output.name.span.begin);
  return output;
}

bool Parser::parse_typed(Parameter& parameter) {
  auto name = expect_name("a parameter");
  if (!name) return false;
  parameter.name = std::move(*name);
  if (!take_if(":")) {
    report(DiagId::E0122, parameter.name.span, {parameter.name.text});
    return false;
  }
  parameter.type = parse_type();
  if (!parameter.type) return false;
  if (at("layout")) {
    parameter.layout = parse_layout();
    if (!parameter.layout) return false;
  }
  return true;
}

std::optional<TypeExpr> Parser::parse_type() {
  if (at("[")) {
    reject_bare_dimensions();
    return std::nullopt;
  }
  auto element = expect_name("an element type");
  if (!element) return std::nullopt;
  TypeExpr type;
  type.element = std::move(*element);
  if (at("[")) {
    const Token open = take();
    type.is_tensor = true;
    if (at("]")) {
      const Token close = take();
      report(DiagId::E0128, cover(open.span, close.span), {type.element.text});
      return std::nullopt;
    }
    const bool complete = parse_list(open, [&] {
      auto dimension = parse_dimension();
      if (dimension) type.dims.push_back(std::move(*dimension));
      return dimension.has_value();
    });
    if (!complete) return std::nullopt;
  }
  type.span = from(type.element.span.begin);
  return type;
}

void Parser::reject_bare_dimensions() {
  size_t ahead = 1;
  while (!spells(peek(ahead), "]") && peek(ahead).kind != TokenKind::Newline && peek(ahead).kind != TokenKind::End)
    ++ahead;
  const bool closed = spells(peek(ahead), "]");
  const Span span{peek().span.file, peek().span.begin, closed ? peek(ahead).span.end : peek().span.end};
  report(DiagId::E0139, span, {closed ? std::string(sources_.text(span)) : "[M, K]"});
}

std::optional<DimAnnotation> Parser::parse_dimension() {
  DimAnnotation dimension;
  dimension.extent = parse_extent();
  if (!dimension.extent) return std::nullopt;
  if (take_if("as")) {
    dimension.alias = expect_name("a name for the dimension");
    if (!dimension.alias) return std::nullopt;
  }
  return dimension;
}

ExprPtr Parser::parse_extent(ExprPtr first) {
  return parse_chain({"+", "-"}, &Parser::parse_extent_product, std::move(first));
}

ExprPtr Parser::parse_extent_product() { return parse_chain({"*", "/"}, &Parser::parse_extent_atom); }

ExprPtr Parser::parse_extent_atom() {
  const Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  if (at(TokenKind::Integer)) return parse_number();
  if (at(TokenKind::Name)) {
    const Token name = take();
    return make(name.span, NameRef{std::string(name.text)});
  }
  if (at("(")) {
    const Token open = take();
    ExprPtr inner = parse_extent();
    if (!inner || !expect_close(open)) return nullptr;
    inner->span = from(open.span.begin);
    return inner;
  }
  const bool ended = at(TokenKind::Newline) || at(TokenKind::End) || at_any({",", ")", "]", "{", "}"});
  if (ended) {
    unexpected("an extent");
  } else {
    report(DiagId::E0126, peek().span, {describe(peek())});
  }
  return nullptr;
}

std::optional<Name> Parser::parse_layout() {
  take();
  return expect_name("the name of a layout");
}

std::optional<std::vector<Fact>> Parser::parse_where() {
  take();
  std::vector<Fact> facts;
  bool complete = true;
  do {
    auto fact = parse_fact();
    if (fact) {
      facts.push_back(std::move(*fact));
    } else {
      complete = false;
      skip_element();
    }
  } while (take_if(","));
  // Facts that failed are reported; the body can still be read.
  if (!complete && !at_any({"{", "schedule"})) return std::nullopt;
  return facts;
}

std::optional<Fact> Parser::parse_fact() {
  Fact fact;
  fact.left = parse_extent_product();
  if (!fact.left) return std::nullopt;
  if (take_if("%")) {
    fact.modulus = parse_extent_atom();
    if (!fact.modulus || !expect("==")) return std::nullopt;
    fact.relation = "==";
  } else {
    fact.left = parse_extent(std::move(fact.left));
    if (!fact.left) return std::nullopt;
    if (at("%")) {
      report(DiagId::E0130, fact.left->span);
      return std::nullopt;
    }
    if (!at_any({"=", "==", "!=", "<=", "<", ">=", ">"})) {
      unexpected("a comparison");
      return std::nullopt;
    }
    fact.relation = take().text;
  }
  fact.right = parse_extent();
  if (!fact.right) return std::nullopt;
  fact.span = cover(fact.left->span, fact.right->span);
  return fact;
}

std::optional<std::vector<std::pair<Name, ExprPtr>>> Parser::parse_schedule() {
  take();
  std::vector<std::pair<Name, ExprPtr>> settings;
  const Token open = peek();
  if (!expect("{")) return std::nullopt;
  while (!at("}") && !at(TokenKind::End)) {
    auto setting = parse_setting();
    if (!setting) {
      while (!at(TokenKind::Newline) && !at(TokenKind::End) && !at_any({",", "{", "}"})) take();
    } else {
      settings.push_back(std::move(*setting));
    }
    if (!take_if(",")) {
      if (!at(TokenKind::Newline)) break;
      take();
    }
  }
  if (!expect_close(open)) return std::nullopt;
  return settings;
}

std::optional<std::pair<Name, ExprPtr>> Parser::parse_setting() {
  auto name = expect_name("a setting, as `tile_n = 256`");
  if (!name || !expect("=")) return std::nullopt;
  ExprPtr value = parse_expression();
  if (!value) return std::nullopt;
  return std::pair(std::move(*name), std::move(value));
}

}  // namespace coda
