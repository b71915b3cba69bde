// Productions of a file and its items.
#include "dsl/foreign_words.h"
#include "dsl/productions.h"

namespace coda {

using namespace ast;  // NOLINT: the productions make nothing but its nodes

Module Parser::parse_module() {
  Module module;
  if (at(TokenKind::Name) && peek().text == "coda") {
    module.language_version = parse_version();
    if (!module.language_version || !parse_break()) skip_item();
  }
  while (!at(TokenKind::End)) {
    if (auto item = parse_item()) {
      module.items.emplace_back(std::move(*item));
      if (parse_break()) continue;
    }
    skip_item();
  }
  return module;
}

bool Parser::parse_break() {
  if (at(TokenKind::Newline)) {
    take();
    return true;
  }
  if (at(TokenKind::End)) return true;
  reject_trailing();
  return false;
}

std::optional<int> Parser::parse_version() {
  take();
  if (!at(TokenKind::Integer)) {
    unexpected("the version, as `coda 1`");
    return std::nullopt;
  }
  const Token version = take();
  if (version.text == "1") return 1;
  report(DiagId::E0125, version.span, {std::string(version.text)});
  return std::nullopt;
}

std::optional<Item> Parser::parse_item() {
  if (at("import")) return parse_import();
  if (at("fn")) return parse_function();
  if (at_any({"kernel", "block"})) return parse_routine();
  if (at("grad")) return parse_grad();
  const std::string instead(at(TokenKind::Name) ? instead_of_statement(peek().text) : "");
  report(DiagId::E0114, peek().span,
         {describe(peek()), instead.empty() ? "put statements inside the `{ }` of one of these" : instead});
  return std::nullopt;
}

std::optional<Import> Parser::parse_import() {
  const Token first = take();
  if (!at(TokenKind::String)) {
    unexpected("the path of a file, as `\"norms.coda\"`");
    return std::nullopt;
  }
  const std::string_view quoted = take().text;
  if (quoted.size() < 2) return std::nullopt;  // the lexer reported that it isn't closed
  return Import{std::string(quoted.substr(1, quoted.size() - 2)), from(first.span.begin)};
}

std::optional<Function> Parser::parse_function() {
  const Token first = take();
  Function function;
  function.doc = doc_above(first);
  auto name = expect_name("the name of the function");
  if (!name) return std::nullopt;
  function.name = std::move(*name);
  const Token open = peek();
  const bool parameters = expect("(") && parse_list(open, [&] {
                            auto parameter = parse_function_parameter();
                            if (parameter) function.parameters.push_back(std::move(*parameter));
                            return parameter.has_value();
                          });
  if (!parameters) return std::nullopt;
  if (at("{")) {
    auto body = parse_function_body(function.name);
    if (!body) return std::nullopt;
    function.body = std::move(*body);
  } else if (take_if("=")) {
    ExprPtr value = parse_expression();
    if (!value) return std::nullopt;
    const Span span = value->span;
    function.body.emplace_back(Result{std::move(value), span});
  } else {
    unexpected("`=` or `{`");
    return std::nullopt;
  }
  function.span = from(first.span.begin);
  return function;
}

std::optional<Parameter> Parser::parse_function_parameter() {
  auto name = expect_name("a parameter");
  if (!name) return std::nullopt;
  Parameter parameter;
  parameter.name = std::move(*name);
  if (at(":")) {
    report(DiagId::E0121, parameter.name.span, {parameter.name.text});
    take();
    if (!parse_type()) return std::nullopt;
  }
  if (take_if("=")) {
    parameter.default_value = parse_expression();
    if (!parameter.default_value) return std::nullopt;
  }
  parameter.span = from(parameter.name.span.begin);
  return parameter;
}

std::optional<std::vector<Statement>> Parser::parse_function_body(const Name& function) {
  const Token open = take();
  std::vector<Statement> body;
  bool has_result = false, broken = false;
  while (!at("}") && !at(TokenKind::End)) {
    const auto value = [&]() -> bool {
      if (at("let")) {
        auto let = parse_let();
        if (let) body.emplace_back(std::move(*let));
        return let.has_value();
      }
      if (at_assignment()) {
        report(DiagId::E0120, peek().span, {at("(") ? "(…)" : std::string(peek().text)});
        return false;
      }
      auto result = parse_result();
      if (!result) return false;
      if (at(TokenKind::Newline)) {
        report(DiagId::E0131, result->span);
        return false;
      }
      has_result = true;
      body.emplace_back(std::move(*result));
      return true;
    };
    statement_ = at_;
    const bool sound = value();
    if (!sound) broken = true;
    if (!end_statement(open, sound)) return std::nullopt;
  }
  if (!has_result && !broken && at("}")) report(DiagId::E0119, peek().span, {function.text});
  if (!expect_close(open)) return std::nullopt;
  return body;
}

std::optional<Routine> Parser::parse_routine() {
  const Token first = take();
  Routine routine;
  routine.doc = doc_above(first);
  routine.kind = first.text == "kernel" ? RoutineKind::Kernel : RoutineKind::Block;
  auto name = expect_name("the name of the " + std::string(first.text));
  if (!name) return std::nullopt;
  routine.name = std::move(*name);
  if (at("[")) {
    auto type_parameters = parse_type_parameters();
    if (!type_parameters) return std::nullopt;
    routine.type_parameters = std::move(*type_parameters);
  }
  const Token open = peek();
  const bool parameters = expect("(") && parse_list(open, [&] {
                            auto parameter = parse_parameter();
                            if (parameter) routine.parameters.push_back(std::move(*parameter));
                            return parameter.has_value();
                          });
  if (!parameters) return std::nullopt;
  if (at("->")) {
    auto outputs = parse_outputs();
    if (!outputs) return std::nullopt;
    routine.outputs = std::move(*outputs);
  }
  if (at("where")) {
    auto facts = parse_where();
    if (!facts) return std::nullopt;
    routine.facts = std::move(*facts);
  }
  if (at("schedule")) {
    auto schedule = parse_schedule();
    if (!schedule) return std::nullopt;
    routine.schedule = std::move(*schedule);
  }
  auto body = parse_routine_body();
  if (!body) return std::nullopt;
  routine.body = std::move(*body);
  routine.span = from(first.span.begin);
  return routine;
}

std::optional<Grad> Parser::parse_grad() {
  const Token first = take();
  auto name = expect_name("the name of a block or kernel");
  if (!name || !expect("wrt")) return std::nullopt;
  Grad grad;
  grad.name = std::move(*name);
  const Token open = peek();
  if (!expect("(")) return std::nullopt;
  if (at(")")) {
    unexpected("a parameter");
    return std::nullopt;
  }
  const bool complete = parse_list(open, [&] {
    auto wrt = parse_wrt();
    if (wrt) grad.wrt.push_back(std::move(*wrt));
    return wrt.has_value();
  });
  if (!complete) return std::nullopt;
  grad.span = from(first.span.begin);
  return grad;
}

std::optional<Grad::Wrt> Parser::parse_wrt() {
  auto name = expect_name("a parameter");
  if (!name) return std::nullopt;
  Grad::Wrt wrt;
  wrt.parameter = std::move(*name);
  if (take_if(":")) {
    wrt.type = parse_type();
    if (!wrt.type) return std::nullopt;
  }
  wrt.accumulate = take_if("+=");
  return wrt;
}

}  // namespace coda
