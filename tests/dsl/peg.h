// A small interpreter of grammar/coda.peg: it recognises programs and makes random ones, independently of the parser.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coda::peg {

/// A parsing expression.
struct Node {
  enum class Kind { Sequence, Choice, Repeat, And, Not, Literal, Class, Reference } kind;
  std::vector<Node> parts;
  std::string text;          ///< Literal, Reference: as spelled; Class: the 256-entry membership as '0' and '1'
  int least = 0, most = -1;  ///< Repeat; most < 0: no limit
};

struct Token {
  std::string kind;  ///< name of the lexical production
  std::string text;
};

class Grammar {
 public:
  /// Null, with a message in `error`, if the text isn't a grammar.
  static std::unique_ptr<Grammar> read(const std::string& text, std::string& error);

  /// Names of the productions in order. Those in capitals are lexical.
  const std::vector<std::string>& order() const { return order_; }
  const Node& production(const std::string& name) const { return productions_.at(name); }
  static bool is_lexical(const std::string& name);
  /// The literals of a production that is a choice of literals.
  std::set<std::string> literals(const std::string& name) const;

  /// Tokens without space and comments but with every line end; nothing if the text has something else in it.
  std::optional<std::vector<Token>> raw_tokens(std::string_view text) const;
  /// Drops the line ends that are no tokens.
  std::vector<Token> significant(const std::vector<Token>& raw) const;
  bool accepts(std::string_view text) const;

 private:
  friend class Generator;
  Node parse_choice(std::string_view& rest, std::string& error) const;
  Node parse_sequence(std::string_view& rest, std::string& error) const;
  Node parse_suffix(std::string_view& rest, std::string& error) const;
  Node parse_atom(std::string_view& rest, std::string& error) const;
  std::optional<size_t> match_text(const Node& node, std::string_view text, size_t at) const;

  std::vector<std::string> order_;
  std::map<std::string, Node> productions_;
  std::set<std::string> joins_next_, joins_previous_;
};

/// Random derivations.
class Generator {
 public:
  Generator(const Grammar& grammar, uint32_t seed);
  /// A program that the grammar accepts.
  std::string program();
  const std::set<std::string>& used() const { return used_; }

 private:
  void derive(const Node& node, int depth);
  int cost(const Node& node) const;
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  const Grammar& grammar_;
  std::mt19937 random_;
  std::map<std::string, int> cost_;  ///< least depth of a derivation
  std::vector<Token> tokens_;
  std::set<std::string> used_;
};

/// Tokens to text, with random space, line ends and comments where they mean nothing.
std::string spell(const std::vector<Token>& tokens, const Grammar& grammar, std::mt19937& random);

}  // namespace coda::peg
