#include <algorithm>

#include "tests/dsl/peg.h"

namespace coda::peg {
namespace {

constexpr int kUnbounded = 1 << 20;
/// Deeper derivations take the shortest way to an end.
constexpr int kDepth = 28;

/// Spellings of the token classes. Names that mean something to the compiler are as good as others to the parser.
const std::map<std::string, std::vector<std::string>> kSpellings = {
    {"NAME",
     {"x", "w", "rstd", "M", "K", "Dh", "T", "coda", "bf16", "f32", "silu", "halves", "over", "_a1", "scheduled"}},
    {"INTEGER", {"0", "1", "2", "64", "007"}},
    {"NUMBER", {"0.5", "1e-6", "2.5E+3", "1e9"}},
    {"STRING", {"\"norms.coda\"", "\"\"", "\"// not a comment\""}},
    {"NEWLINE", {"\n"}}};

}  // namespace

Generator::Generator(const Grammar& grammar, uint32_t seed) : grammar_(grammar), random_(seed) {
  // Least fixed point: how deep a derivation of each production is at least.
  for (const std::string& name : grammar.order()) cost_[name] = Grammar::is_lexical(name) ? 0 : kUnbounded;
  cost_["END"] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string& name : grammar.order()) {
      if (Grammar::is_lexical(name)) continue;
      const int now = cost(grammar.production(name)) + 1;
      if (now < cost_[name]) {
        cost_[name] = now;
        changed = true;
      }
    }
  }
}

int Generator::cost(const Node& node) const {
  switch (node.kind) {
    case Node::Kind::Sequence: {
      int most = 0;
      for (const Node& part : node.parts) most = std::max(most, cost(part));
      return most;
    }
    case Node::Kind::Choice: {
      int least = kUnbounded;
      for (const Node& part : node.parts) least = std::min(least, cost(part));
      return least;
    }
    case Node::Kind::Repeat:
      return node.least == 0 ? 0 : cost(node.parts[0]);
    case Node::Kind::Reference:
      return cost_.at(node.text);
    default:
      return 0;
  }
}

void Generator::derive(const Node& node, int depth) {
  switch (node.kind) {
    case Node::Kind::Sequence:
      for (const Node& part : node.parts) derive(part, depth);
      return;
    case Node::Kind::Choice: {
      std::vector<const Node*> possible;
      for (const Node& part : node.parts) {
        if (depth + cost(part) <= kDepth || cost(part) == cost(node)) possible.push_back(&part);
      }
      derive(*possible[pick(possible.size())], depth);
      return;
    }
    case Node::Kind::Repeat: {
      const bool room = depth + cost(node.parts[0]) <= kDepth;
      int count = node.least;
      // What an expression is made of is nested often enough; a list is more telling with several elements.
      while (room && (node.most < 0 || count < node.most) && pick(3) == 0) ++count;
      for (int i = 0; i < count; ++i) derive(node.parts[0], depth);
      return;
    }
    case Node::Kind::Literal:
      tokens_.push_back({"SYMBOL", node.text});
      return;
    case Node::Kind::Reference:
      if (const auto known = kSpellings.find(node.text); known != kSpellings.end()) {
        tokens_.push_back({node.text, known->second[pick(known->second.size())]});
      } else if (node.text != "END") {
        used_.insert(node.text);
        derive(grammar_.production(node.text), depth + 1);
      }
      return;
    default:
      return;  // look-ahead is checked by recognising the result
  }
}

std::string Generator::program() {
  while (true) {
    tokens_.clear();
    derive(grammar_.production(grammar_.order().front()), 0);
    std::string text = spell(tokens_, grammar_, random_);
    if (grammar_.accepts(text)) return text;
  }
}

std::string spell(const std::vector<Token>& tokens, const Grammar& grammar, std::mt19937& random) {
  const auto chance = [&](int in) { return std::uniform_int_distribution<int>(1, in)(random) == 1; };
  const auto joins = grammar.literals("JOINS_NEXT");
  std::string text;
  int brackets = 0;
  for (const Token& token : tokens) {
    text += token.text;
    if (token.text == "(" || token.text == "[") ++brackets;
    if ((token.text == ")" || token.text == "]") && brackets > 0) --brackets;
    if (brackets > 0 || (token.kind == "SYMBOL" && joins.count(token.text))) {
      if (chance(12)) text += " // a comment";
      if (text.ends_with("comment") || chance(12)) text += chance(2) ? "\r\n" : "\n";
    } else if (token.kind == "NEWLINE" && chance(8)) {
      text += "// a line of its own\n\n";
    }
    text += chance(6) ? "\t" : " ";
  }
  return text;
}

}  // namespace coda::peg
