#include "tests/dsl/peg.h"

#include <algorithm>
#include <cctype>

namespace coda::peg {
namespace {

constexpr std::string_view kTokenKinds[] = {"KEYWORD", "NAME", "NUMBER", "INTEGER", "STRING", "SYMBOL"};

void skip_space(std::string_view& rest) {
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front()))) rest.remove_prefix(1);
}

/// `\n`, `\t`, `\\`… or the character itself.
char take_char(std::string_view& rest) {
  char c = rest.front();
  rest.remove_prefix(1);
  if (c != '\\' || rest.empty()) return c;
  c = rest.front();
  rest.remove_prefix(1);
  return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
}

/// Recognition over tokens, with memory of what each production matched where.
class Recogniser {
 public:
  Recogniser(const Grammar& grammar, const std::vector<Token>& tokens) : grammar_(grammar), tokens_(tokens) {}

  std::optional<size_t> match(const Node& node, size_t at) {
    switch (node.kind) {
      case Node::Kind::Sequence:
        for (const Node& part : node.parts) {
          const auto end = match(part, at);
          if (!end) return std::nullopt;
          at = *end;
        }
        return at;
      case Node::Kind::Choice:
        for (const Node& part : node.parts) {
          if (const auto end = match(part, at)) return end;
        }
        return std::nullopt;
      case Node::Kind::Repeat: {
        int count = 0;
        while (node.most < 0 || count < node.most) {
          const auto end = match(node.parts[0], at);
          if (!end || *end == at) break;
          at = *end;
          ++count;
        }
        return count >= node.least ? std::optional(at) : std::nullopt;
      }
      case Node::Kind::And:
        return match(node.parts[0], at) ? std::optional(at) : std::nullopt;
      case Node::Kind::Not:
        return match(node.parts[0], at) ? std::nullopt : std::optional(at);
      case Node::Kind::Literal:
        if (at < tokens_.size() && tokens_[at].kind != "STRING" && tokens_[at].text == node.text) return at + 1;
        return std::nullopt;
      case Node::Kind::Reference:
        return match_reference(node.text, at);
      case Node::Kind::Class:
        return std::nullopt;  // only in lexical productions
    }
    return std::nullopt;
  }

 private:
  std::optional<size_t> match_reference(const std::string& name, size_t at) {
    if (name == "END") return at == tokens_.size() ? std::optional(at) : std::nullopt;
    if (Grammar::is_lexical(name)) {
      return at < tokens_.size() && tokens_[at].kind == name ? std::optional(at + 1) : std::nullopt;
    }
    const auto key = std::pair(&grammar_.production(name), at);
    if (const auto known = memory_.find(key); known != memory_.end()) return known->second;
    const auto result = match(grammar_.production(name), at);
    memory_[key] = result;
    return result;
  }

  const Grammar& grammar_;
  const std::vector<Token>& tokens_;
  std::map<std::pair<const Node*, size_t>, std::optional<size_t>> memory_;
};

}  // namespace

std::unique_ptr<Grammar> Grammar::read(const std::string& text, std::string& error) {
  auto grammar = std::make_unique<Grammar>();
  for (size_t begin = 0; begin < text.size() && error.empty();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    skip_space(line);
    if (line.empty() || line.front() == '#') continue;
    const size_t arrow = line.find("<-");
    if (arrow == std::string_view::npos) {
      error = "no `<-` in: " + std::string(line);
      break;
    }
    std::string name(line.substr(0, arrow));
    while (!name.empty() && name.back() == ' ') name.pop_back();
    line.remove_prefix(arrow + 2);
    Node node = grammar->parse_choice(line, error);
    if (error.empty() && !line.empty()) error = "left over: " + std::string(line);
    if (!grammar->productions_.emplace(name, std::move(node)).second) error = "defined twice: " + name;
    grammar->order_.push_back(name);
  }
  if (!error.empty()) return nullptr;
  grammar->joins_next_ = grammar->literals("JOINS_NEXT");
  grammar->joins_previous_ = grammar->literals("JOINS_PREVIOUS");
  return grammar;
}

bool Grammar::is_lexical(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return std::islower(static_cast<unsigned char>(c)); });
}

std::set<std::string> Grammar::literals(const std::string& name) const {
  std::set<std::string> found;
  const Node& node = production(name);
  for (const Node& part : node.kind == Node::Kind::Choice ? node.parts : std::vector<Node>{node}) {
    if (part.kind == Node::Kind::Literal) found.insert(part.text);
  }
  return found;
}

Node Grammar::parse_choice(std::string_view& rest, std::string& error) const {
  Node choice{Node::Kind::Choice, {}, {}};
  while (error.empty()) {
    choice.parts.push_back(parse_sequence(rest, error));
    if (rest.empty() || rest.front() != '/') break;
    rest.remove_prefix(1);
  }
  return choice.parts.size() == 1 ? choice.parts[0] : choice;
}

Node Grammar::parse_sequence(std::string_view& rest, std::string& error) const {
  Node sequence{Node::Kind::Sequence, {}, {}};
  skip_space(rest);
  while (error.empty() && !rest.empty() && rest.front() != '/' && rest.front() != ')') {
    const char look = rest.front();
    if (look == '&' || look == '!') {
      rest.remove_prefix(1);
      sequence.parts.push_back({look == '&' ? Node::Kind::And : Node::Kind::Not, {parse_suffix(rest, error)}, {}});
    } else {
      sequence.parts.push_back(parse_suffix(rest, error));
    }
    skip_space(rest);
  }
  return sequence.parts.size() == 1 ? sequence.parts[0] : sequence;
}

Node Grammar::parse_suffix(std::string_view& rest, std::string& error) const {
  Node node = parse_atom(rest, error);
  while (!rest.empty() && (rest.front() == '?' || rest.front() == '*' || rest.front() == '+')) {
    const char suffix = rest.front();
    rest.remove_prefix(1);
    node = {Node::Kind::Repeat, {std::move(node)}, {}, suffix == '+' ? 1 : 0, suffix == '?' ? 1 : -1};
  }
  return node;
}

Node Grammar::parse_atom(std::string_view& rest, std::string& error) const {
  if (rest.empty()) {
    error = "an expression is missing";
    return {};
  }
  const char first = rest.front();
  if (first == '(') {
    rest.remove_prefix(1);
    Node inner = parse_choice(rest, error);
    if (rest.empty()) {
      error = "`)` is missing";
    } else {
      rest.remove_prefix(1);
    }
    return inner;
  }
  if (first == '\'') {
    rest.remove_prefix(1);
    std::string text;
    while (!rest.empty() && rest.front() != '\'') text += take_char(rest);
    if (!rest.empty()) rest.remove_prefix(1);
    return {Node::Kind::Literal, {}, text};
  }
  if (first == '[') {
    rest.remove_prefix(1);
    const bool negated = !rest.empty() && rest.front() == '^';
    if (negated) rest.remove_prefix(1);
    std::string members(256, negated ? '1' : '0');
    while (!rest.empty() && rest.front() != ']') {
      const auto low = static_cast<unsigned char>(take_char(rest));
      unsigned char high = low;
      if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
        rest.remove_prefix(1);
        high = static_cast<unsigned char>(take_char(rest));
      }
      for (int c = low; c <= high; ++c) members[static_cast<size_t>(c)] = negated ? '0' : '1';
    }
    if (!rest.empty()) rest.remove_prefix(1);
    return {Node::Kind::Class, {}, members};
  }
  std::string name;
  while (!rest.empty() && (std::isalnum(static_cast<unsigned char>(rest.front())) || rest.front() == '_')) {
    name += rest.front();
    rest.remove_prefix(1);
  }
  if (name.empty()) error = "unexpected: " + std::string(rest);
  return {Node::Kind::Reference, {}, name};
}

std::optional<size_t> Grammar::match_text(const Node& node, std::string_view text, size_t at) const {
  switch (node.kind) {
    case Node::Kind::Sequence:
      for (const Node& part : node.parts) {
        const auto end = match_text(part, text, at);
        if (!end) return std::nullopt;
        at = *end;
      }
      return at;
    case Node::Kind::Choice:
      for (const Node& part : node.parts) {
        if (const auto end = match_text(part, text, at)) return end;
      }
      return std::nullopt;
    case Node::Kind::Repeat: {
      int count = 0;
      while (node.most < 0 || count < node.most) {
        const auto end = match_text(node.parts[0], text, at);
        if (!end || *end == at) break;
        at = *end;
        ++count;
      }
      return count >= node.least ? std::optional(at) : std::nullopt;
    }
    case Node::Kind::And:
      return match_text(node.parts[0], text, at) ? std::optional(at) : std::nullopt;
    case Node::Kind::Not:
      return match_text(node.parts[0], text, at) ? std::nullopt : std::optional(at);
    case Node::Kind::Literal:
      return text.substr(at).starts_with(node.text) ? std::optional(at + node.text.size()) : std::nullopt;
    case Node::Kind::Class:
      if (at < text.size() && node.text[static_cast<unsigned char>(text[at])] == '1') return at + 1;
      return std::nullopt;
    case Node::Kind::Reference:
      return match_text(production(node.text), text, at);
  }
  return std::nullopt;
}

std::optional<std::vector<Token>> Grammar::raw_tokens(std::string_view text) const {
  std::vector<Token> tokens;
  size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (at < text.size()) {
    if (const auto end = match_text(production("SPACE"), text, at)) {
      at = *end;
      continue;
    }
    if (const auto end = match_text(production("NEWLINE"), text, at)) {
      tokens.push_back({"NEWLINE", "\n"});
      at = *end;
      continue;
    }
    const size_t before = tokens.size();
    for (const std::string_view kind : kTokenKinds) {
      if (const auto end = match_text(production(std::string(kind)), text, at)) {
        tokens.push_back({std::string(kind), std::string(text.substr(at, *end - at))});
        at = *end;
        break;
      }
    }
    if (tokens.size() == before) return std::nullopt;
  }
  return tokens;
}

std::vector<Token> Grammar::significant(const std::vector<Token>& raw) const {
  std::vector<Token> tokens;
  std::vector<char> open;
  bool line_ended = false;
  for (const Token& token : raw) {
    if (token.kind == "NEWLINE") {
      line_ended = true;
      continue;
    }
    const bool word = token.kind == "KEYWORD" || token.kind == "SYMBOL";
    if (line_ended && !tokens.empty()) {
      const Token& last = tokens.back();
      const bool joined = ((last.kind == "KEYWORD" || last.kind == "SYMBOL") && joins_next_.count(last.text)) ||
                          (word && joins_previous_.count(token.text));
      const bool inside = !open.empty() && open.back() != '{';
      if (!joined && !inside) tokens.push_back({"NEWLINE", "\n"});
    }
    line_ended = false;
    if (token.kind == "SYMBOL") {
      const char c = token.text[0];
      if (c == '(' || c == '[' || c == '{') open.push_back(c);
      if ((c == ')' || c == ']' || c == '}') && !open.empty()) open.pop_back();
    }
    tokens.push_back(token);
  }
  return tokens;
}

bool Grammar::accepts(std::string_view text) const {
  const auto raw = raw_tokens(text);
  if (!raw) return false;
  const std::vector<Token> tokens = significant(*raw);
  return Recogniser(*this, tokens).match(production(order_.front()), 0).has_value();
}

}  // namespace coda::peg
