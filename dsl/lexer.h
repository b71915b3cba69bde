// Tokens and comments of one file (part 2 of grammar/coda.peg). Knows where a line's end ends a statement; knows no
// syntax beyond brackets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dsl/diagnostics.h"
#include "dsl/source.h"

namespace coda {

enum class TokenKind : uint8_t { Keyword, Name, Number, Integer, String, Symbol, Newline, End };

struct Token {
  TokenKind kind;
  Span span;
  std::string_view text;  ///< as in the source
};

struct Comment {
  Span span;      ///< from `//` to the end of the line, without it
  bool own_line;  ///< nothing but space stands before it on its line
};

struct Lexed {
  std::vector<Token> tokens;  ///< ends with one End token
  std::vector<Comment> comments;
  std::vector<Span> errors;  ///< where something was reported
};

/// Reports what is no token and goes on behind it.
Lexed lex(FileId file, const SourceMap& sources, Diagnostics& diagnostics);

/// A source file may not be larger: offsets and memory stay far from their limits.
inline constexpr size_t kMaxSourceBytes = size_t{16} << 20;
/// Lexer and parser stop at this many errors in one file.
inline constexpr size_t kMaxErrors = 100;

}  // namespace coda
