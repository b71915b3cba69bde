#include "tools/codac/cpp_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace coda {
namespace {

constexpr std::string_view kReserved[] = {
    "alignas",     "alignof",   "and",        "and_eq",    "asm",      "auto",         "bitand",
    "bitor",       "bool",      "break",      "case",      "catch",    "char",         "char8_t",
    "char16_t",    "char32_t",  "class",      "compl",     "concept",  "const",        "consteval",
    "constexpr",   "constinit", "const_cast", "continue",  "co_await", "co_return",    "co_yield",
    "decltype",    "default",   "delete",     "do",        "double",   "dynamic_cast", "else",
    "enum",        "explicit",  "export",     "extern",    "false",    "float",        "for",
    "friend",      "goto",      "if",         "inline",    "int",      "long",         "mutable",
    "namespace",   "new",       "noexcept",   "not",       "not_eq",   "nullptr",      "operator",
    "or",          "or_eq",     "private",    "protected", "public",   "register",     "reinterpret_cast",
    "requires",    "return",    "short",      "signed",    "sizeof",   "static",       "static_assert",
    "static_cast", "struct",    "switch",     "template",  "this",     "thread_local", "throw",
    "true",        "try",       "typedef",    "typeid",    "typename", "union",        "unsigned",
    "using",       "virtual",   "void",       "volatile",  "wchar_t",  "while",        "xor",
    "xor_eq",      "coda",      "std"};

// Macros of common headers; others are known by their look, see is_macro().
constexpr std::string_view kMacros[] = {"NULL",   "EOF",    "BUFSIZ", "WEOF",   "NFDBITS",  "NZERO",  "errno", "assert",
                                        "stdin",  "stdout", "stderr", "alloca", "offsetof", "linux",  "unix",  "i386",
                                        "major",  "minor",  "EDOM",   "ERANGE", "EINVAL",   "EILSEQ", "EINTR", "EIO",
                                        "ENOENT", "ENOMEM", "EAGAIN", "EPERM",  "EEXIST",   "EPIPE",  "EXDEV"};

// Functions and types that C's and POSIX's headers declare at the top.
constexpr std::string_view kGlobals[] = {
    "abort",    "abs",    "accept",  "access",   "acos",      "acosh",       "asin",   "asinh",   "atan",     "atan2",
    "atanh",    "bind",   "cbrt",    "ceil",     "clock",     "clone",       "close",  "connect", "copysign", "cos",
    "cosh",     "daemon", "div",     "drem",     "dup",       "ends",        "erf",    "erfc",    "exit",     "exp",
    "exp10",    "exp2",   "expm1",   "fabs",     "fdim",      "finite",      "floor",  "fma",     "fmax",     "fmin",
    "fmod",     "fork",   "free",    "frexp",    "gamma",     "getc",        "hypot",  "ilogb",   "index",    "isinf",
    "isnan",    "j0",     "j1",      "jn",       "kill",      "labs",        "ldexp",  "lgamma",  "link",     "listen",
    "log",      "log10",  "log1p",   "log2",     "logb",      "lround",      "malloc", "mktime",  "modf",     "nan",
    "nice",     "open",   "pause",   "pipe",     "pow",       "printf",      "puts",   "qsort",   "raise",    "rand",
    "random",   "read",   "realloc", "recv",     "remainder", "remove",      "rename", "rindex",  "rint",     "round",
    "scalb",    "select", "send",    "shutdown", "signal",    "significand", "sin",    "sinh",    "sleep",    "socket",
    "sqrt",     "stat",   "sync",    "system",   "tan",       "tanh",        "tgamma", "time",    "timezone", "trunc",
    "truncate", "ungetc", "unlink",  "wait",     "write",     "y0",          "y1",     "yn"};

template <typename List>
bool among(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// INT_MAX and the like: capitals with an underscore. And what is reserved to implementations: __linux__, _GNU_SOURCE.
bool is_macro(std::string_view name) {
  const auto capital = [](char c) { return !std::islower(static_cast<unsigned char>(c)); };
  const bool underscore = name.find('_') != std::string_view::npos;
  return among(kMacros, name) || name[0] == '_' || name.find("__") != std::string_view::npos ||
         (underscore && std::all_of(name.begin(), name.end(), capital));
}

bool taken(std::string_view name) { return among(kReserved, name) || is_macro(name); }

}  // namespace

std::string cpp_namespace(const std::string& name) { return taken(name) || among(kGlobals, name) ? name + "_" : name; }

std::string cpp_member(const std::string& name, std::string_view owner) {
  return taken(name) || name == owner ? name + "_" : name;
}

std::string cpp_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return out + "\"";
}

std::string cpp_comment(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\\' ? '?' : c;
  return out;
}

}  // namespace coda
