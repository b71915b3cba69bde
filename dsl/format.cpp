#include "dsl/format.h"

#include "dsl/format_parts.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"
#include "dsl/pretty.h"

namespace coda {
namespace {

using namespace ast;  // NOLINT: reads nothing but its nodes

constexpr int kWidth = 120;

class Formatter {
 public:
  explicit Formatter(CommentFeed comments) : comments_(std::move(comments)) {}

  Doc module(const Module& module, uint32_t begin, uint32_t end) {
    Doc doc;
    bool at_start = true, previous_is_long = false;
    if (module.language_version) {
      doc.add(comments_.before_line(begin, at_start, false));
      doc.add(Doc::text("coda " + std::to_string(*module.language_version)));
      at_start = false;
    }
    for (const Item& item : module.items) {
      const uint32_t item_begin = std::visit([](const auto& node) { return node.span.begin; }, item);
      const bool is_long = is_long_item(item);
      doc.add(comments_.before_line(item_begin, at_start, is_long || previous_is_long));
      doc.add(std::visit([&](const auto& node) { return print(node); }, item));
      at_start = false;
      previous_is_long = is_long;
    }
    bool force_blank = false;
    return std::move(doc.add(comments_.between(end, at_start, force_blank)));
  }

 private:
  /// Long items have blank lines around them.
  static bool is_long_item(const Item& item) {
    const Function* function = std::get_if<Function>(&item);
    return std::holds_alternative<Routine>(item) || (function && function->body.size() > 1);
  }

  Doc print(const Import& import) { return Doc::text("import \"" + import.path + "\""); }

  Doc print(const Grad& grad) {
    Doc doc = Doc::text("grad " + grad.name.text + " wrt (");
    const auto begin = [](const Grad::Wrt& wrt) { return wrt.parameter.span.begin; };
    doc.add(list_doc(grad.wrt, comments_, begin, [&](const Grad::Wrt& wrt) {
      Doc element = Doc::text(wrt.parameter.text);
      if (wrt.type) element.add(": ").add(type(*wrt.type));
      if (wrt.accumulate) element.add(" +=");
      return element;
    }));
    return std::move(doc.add(")"));
  }

  Doc print(const Function& function) {
    Doc doc = Doc::text("fn " + function.name.text + "(");
    doc.add(parameters(function.parameters)).add(")");
    if (function.body.size() > 1) return std::move(doc.add(body(function.body, function.span.end - 1)));
    const Expr& value = *std::get<Result>(function.body.front()).value;
    doc.add(" =");
    Doc filled;
    if (Doc above = comments_.inside(value.span.begin); !above.empty()) {
      filled.add(std::move(above));
    } else {
      filled.add(Doc::line());
    }
    filled.add(expression_doc(value, comments_));
    return std::move(doc.add(Doc::indent(Doc::group(std::move(filled)))));
  }

  Doc print(const Routine& routine) {
    Doc doc = Doc::text(routine.kind == RoutineKind::Kernel ? "kernel " : "block ");
    doc.add(Doc::text(routine.name.text));
    if (!routine.type_parameters.empty()) doc.add("[").add(type_parameters(routine.type_parameters)).add("]");
    doc.add("(").add(parameters(routine.parameters)).add(")");
    if (!routine.outputs.empty()) {
      Doc arrow;
      arrow.add(Doc::line()).add("-> (").add(parameters(routine.outputs)).add(")");
      doc.add(Doc::indent(Doc::group(std::move(arrow))));
    }
    if (!routine.facts.empty()) {
      doc.add(clause_break(first_leaf(*routine.facts.front().left).span.begin)).add("where ");
      const auto begin = [](const Fact& fact) { return fact.left->span.begin; };
      doc.add(list_doc(routine.facts, comments_, begin, [&](const Fact& fact) { return print(fact); }));
    }
    if (!routine.schedule.empty()) {
      doc.add(clause_break(routine.schedule.front().first.span.begin)).add("schedule { ");
      const auto begin = [](const auto& setting) { return setting.first.span.begin; };
      doc.add(list_doc(routine.schedule, comments_, begin, [&](const auto& setting) {
        Doc element = Doc::text(setting.first.text + " = ");
        return std::move(element.add(expression_doc(*setting.second, comments_)));
      }));
      doc.add(" }");
    }
    return std::move(doc.add(body(routine.body, routine.span.end - 1)));
  }

  /// A clause begins a line; comments before it go above.
  Doc clause_break(uint32_t begin) {
    Doc above = comments_.inside(begin);
    return above.empty() ? Doc::hard_line() : above;
  }

  /// Without the parentheses before it, which may go.
  static const Expr& first_leaf(const Expr& extent) {
    const Binary* binary = std::get_if<Binary>(&extent.node);
    return binary ? first_leaf(*binary->left) : extent;
  }

  Doc type_parameters(const std::vector<TypeParameter>& list) {
    const auto begin = [](const TypeParameter& parameter) { return parameter.name.span.begin; };
    return list_doc(list, comments_, begin, [](const TypeParameter& parameter) {
      std::string text = parameter.name.text + ":";
      for (size_t i = 0; i < parameter.choices.size(); ++i) text += (i ? " | " : " ") + parameter.choices[i].text;
      return Doc::text(std::move(text));
    });
  }

  Doc parameters(const std::vector<Parameter>& list) {
    const auto begin = [](const Parameter& parameter) { return parameter.span.begin; };
    return list_doc(list, comments_, begin, [&](const Parameter& parameter) {
      Doc doc;
      if (parameter.is_inout) doc.add("inout ");
      if (parameter.is_const) doc.add("const ");
      doc.add(Doc::text(parameter.name.text));
      if (parameter.type) doc.add(": ").add(type(*parameter.type));
      if (parameter.layout) doc.add(Doc::text(" layout " + parameter.layout->text));
      if (parameter.default_value) doc.add(" = ").add(expression_doc(*parameter.default_value, comments_));
      return doc;
    });
  }

  Doc type(const TypeExpr& type) {
    Doc doc = Doc::text(type.element.text);
    if (!type.is_tensor) return doc;
    doc.add("[");
    const auto begin = [](const DimAnnotation& dimension) { return dimension.extent->span.begin; };
    doc.add(list_doc(type.dims, comments_, begin, [&](const DimAnnotation& dimension) {
      Doc extent = expression_doc(*dimension.extent, comments_, Setting::Extent);
      if (dimension.alias) extent.add(Doc::text(" as " + dimension.alias->text));
      return extent;
    }));
    return std::move(doc.add("]"));
  }

  Doc print(const Fact& fact) {
    Doc doc = expression_doc(*fact.left, comments_, Setting::Extent, fact.modulus ? kProductTightness : 0);
    if (fact.modulus) {
      doc.add(" % ").add(expression_doc(*fact.modulus, comments_, Setting::Extent, kAtomTightness));
    }
    doc.add(Doc::text(" " + fact.relation + " "));
    return std::move(doc.add(expression_doc(*fact.right, comments_, Setting::Extent)));
  }

  Doc body(const std::vector<Statement>& statements, uint32_t end) {
    if (statements.empty() && !comments_.pending(end)) return Doc::text(" {}");
    Doc inner;
    bool at_start = true, force_blank = false;
    for (const Statement& statement : statements) {
      const uint32_t begin = std::visit([](const auto& node) { return node.span.begin; }, statement);
      inner.add(comments_.before_line(begin, at_start, false));
      inner.add(std::visit([&](const auto& node) { return print(node); }, statement));
      at_start = false;
    }
    inner.add(comments_.between(end, at_start, force_blank));
    Doc doc = Doc::text(" {");
    return std::move(doc.add(Doc::indent(std::move(inner))).add(Doc::hard_line()).add("}"));
  }

  static Doc names(const std::vector<Name>& names) {
    if (names.size() == 1) return Doc::text(names.front().text);
    std::string text = "(";
    for (size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + names[i].text;
    return Doc::text(text + ")");
  }

  Doc print(const Let& let) {
    Doc doc = Doc::text("let ");
    doc.add(names(let.names));
    if (let.type) doc.add(": ").add(type(*let.type));
    return std::move(doc.add(" = ").add(Doc::indent(expression_doc(*let.value, comments_))));
  }

  Doc print(const Assign& assign) {
    Doc doc = names(assign.targets);
    doc.add(assign.accumulate ? " += " : " = ");
    return std::move(doc.add(Doc::indent(expression_doc(*assign.value, comments_))));
  }

  Doc print(const Result& result) {
    // A line that begins with `-` is refused.
    const bool leading_minus = format(*result.value).front() == '-';
    Doc value = expression_doc(*result.value, comments_);
    if (!leading_minus) return Doc::indent(std::move(value));
    Doc doc = Doc::text("(");
    return std::move(doc.add(Doc::align(std::move(value))).add(")"));
  }

  CommentFeed comments_;
};

}  // namespace

std::optional<std::string> format(FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  const std::optional<Module> module = parse(file, sources, diagnostics);
  if (!module) return std::nullopt;
  Lexed lexed = lex(file, sources, diagnostics);
  const uint32_t begin = lexed.tokens.front().span.begin, end = lexed.tokens.back().span.end;
  Formatter formatter(CommentFeed(sources.text(file), std::move(lexed.comments)));
  std::string text = formatter.module(*module, begin, end).render(kWidth);
  // Everything begins with a line break, also the first thing.
  const size_t first = text.find_first_not_of('\n');
  return first == std::string::npos ? std::string() : text.substr(first);
}

}  // namespace coda
