#include "dsl/diagnostics.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "dsl/utf8.h"

namespace coda {
namespace {

std::string_view severity_name(Severity severity) {
  static constexpr std::string_view kNames[] = {"error", "warning", "remark"};
  return kNames[static_cast<size_t>(severity)];
}

const DiagInfo& info_of(DiagId id) { return diagnostic_table()[static_cast<size_t>(id)]; }

/// Replaces `{0}`, `{1}`… by the arguments; a brace that names no argument stays as it is.
std::string fill(std::string_view pattern, const std::vector<std::string>& arguments) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{' && i + 2 < pattern.size() && pattern[i + 2] == '}') {
      const size_t index = static_cast<size_t>(pattern[i + 1] - '0');
      if (index < arguments.size()) {
        out += arguments[index];
        i += 2;
        continue;
      }
    }
    out += pattern[i];
  }
  return out;
}

/// A source line as a terminal may show it: a control character could move the cursor or hide text.
std::string printable(std::string_view text) {
  std::string out(text);
  while (const auto bad = first_invalid_utf8(out)) out[*bad] = '?';
  for (char& c : out) {
    if (c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)) c = '?';
  }
  return out;
}

/// A source line longer than this is shown in part.
constexpr int kExcerptColumns = 140;
constexpr int kExcerptBefore = 60;  ///< columns kept before the caret then

/// The byte `columns` code points after `at`, or before it; at most the line's end or beginning.
size_t move(std::string_view line, size_t at, int columns) {
  for (; columns > 0 && at < line.size(); --columns) {
    do ++at;
    while (at < line.size() && is_utf8_continuation(line[at]));
  }
  for (; columns < 0 && at > 0; ++columns) {
    do --at;
    while (at > 0 && is_utf8_continuation(line[at]));
  }
  return at;
}

/// The source line and below it `^~~~` under the part of the span that lies on that line.
void render_excerpt(std::ostream& out, const SourceMap& sources, Span span) {
  const Position begin = sources.position(span.file, span.begin);
  const Position end = sources.position(span.file, span.end);
  const std::string_view whole = sources.line(span.file, begin.line);
  const int first = begin.column > kExcerptColumns ? begin.column - kExcerptBefore : 1;
  const auto line_start = static_cast<size_t>(whole.data() - sources.text(span.file).data());
  const size_t offset = std::min<size_t>(span.begin, sources.text(span.file).size());
  const size_t caret = std::max(offset, line_start) - line_start, on_line = std::min(caret, whole.size());
  const int beyond = static_cast<int>(caret - on_line);  // on the line's end
  const size_t from = first == 1 ? 0 : move(whole, on_line, first - begin.column + beyond);
  const size_t to = move(whole, from, kExcerptColumns);
  const std::string shown = printable(whole.substr(from, to - from));
  const std::string number = std::to_string(begin.line);
  out << "  " << number << " | " << (from > 0 ? "…" : "") << shown << (to < whole.size() ? "…" : "") << '\n';
  out << "  " << std::string(number.size(), ' ') << " | " << (from > 0 ? " " : "");

  // Tabs are kept, so that the caret stands right whatever their width.
  int column = first;
  for (const char c : shown) {
    if (is_utf8_continuation(c)) continue;
    if (column < begin.column) out << (c == '\t' ? '\t' : ' ');
    ++column;
  }
  const int stop = end.line == begin.line ? std::min(end.column, column) : column;
  out << '^' << std::string(static_cast<size_t>(std::max(0, stop - begin.column - 1)), '~') << '\n';
}

void render_location(std::ostream& out, const SourceMap& sources, Span span) {
  if (!span.valid()) return;
  const Position at = sources.position(span.file, span.begin);
  out << sources.path(span.file) << ':' << at.line << ':' << at.column << ": ";
}

nlohmann::json to_json(const SourceMap& sources, Span span) {
  if (!span.valid()) return nullptr;
  const auto point = [&](uint32_t offset) {
    const Position at = sources.position(span.file, offset);
    return nlohmann::json{{"line", at.line}, {"column", at.column}};
  };
  return {{"path", sources.path(span.file)}, {"begin", point(span.begin)}, {"end", point(span.end)}};
}

std::vector<const Diagnostic*> in_order(const std::vector<Diagnostic>& list) {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& diagnostic : list) sorted.push_back(&diagnostic);
  const auto key = [](const Diagnostic* d) { return std::tuple(d->span.file, d->span.begin, d->span.end); };
  std::stable_sort(sorted.begin(), sorted.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  return sorted;
}

}  // namespace

const std::vector<DiagInfo>& diagnostic_table() {
  static const std::vector<DiagInfo> table = {
#define CODA_DIAG(id, severity, message, way_out) {DiagId::id, #id, Severity::severity, message, way_out},
#include "dsl/diagnostics.def"
#undef CODA_DIAG
  };
  return table;
}

std::string_view name_of(DiagId id) { return info_of(id).name; }

Diagnostic& Diagnostics::report(DiagId id, Span span, std::vector<std::string> arguments) {
  const DiagInfo& info = info_of(id);
  Diagnostic diagnostic{id, info.severity, span, fill(info.message, arguments), fill(info.way_out, arguments), {}};
  if (!seen_.insert({id, span.file, span.begin, span.end}).second) {
    dropped_ = std::move(diagnostic);
    return dropped_;
  }
  if (info.severity == Severity::Error) ++errors_;
  list_.push_back(std::move(diagnostic));
  return list_.back();
}

void Diagnostics::append(const Diagnostics& other) {
  for (const Diagnostic& diagnostic : other.list_) {
    const Span& span = diagnostic.span;
    if (!seen_.insert({diagnostic.id, span.file, span.begin, span.end}).second) continue;
    if (diagnostic.severity == Severity::Error) ++errors_;
    list_.push_back(diagnostic);
  }
}

std::string Diagnostics::render_text() const {
  std::ostringstream out;
  for (const Diagnostic* diagnostic : in_order(list_)) {
    render_location(out, *sources_, diagnostic->span);
    out << severity_name(diagnostic->severity) << '[' << name_of(diagnostic->id) << "]: " << diagnostic->message
        << '\n';
    if (diagnostic->span.valid()) render_excerpt(out, *sources_, diagnostic->span);
    for (const Diagnostic::Note& note : diagnostic->notes) {
      render_location(out, *sources_, note.span);
      out << "note: " << note.text << '\n';
      if (note.span.valid()) render_excerpt(out, *sources_, note.span);
    }
    if (!diagnostic->way_out.empty()) out << "  help: " << diagnostic->way_out << '\n';
  }
  return out.str();
}

std::string Diagnostics::render_json() const {
  nlohmann::json array = nlohmann::json::array();
  for (const Diagnostic* diagnostic : in_order(list_)) {
    nlohmann::json notes = nlohmann::json::array();
    for (const Diagnostic::Note& note : diagnostic->notes) {
      notes.push_back({{"text", note.text}, {"range", to_json(*sources_, note.span)}});
    }
    array.push_back({{"id", name_of(diagnostic->id)},
                     {"severity", severity_name(diagnostic->severity)},
                     {"message", diagnostic->message},
                     {"way_out", diagnostic->way_out},
                     {"range", to_json(*sources_, diagnostic->span)},
                     {"notes", std::move(notes)}});
  }
  // Invalid UTF-8 in a quoted piece of source must not throw.
  return array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace coda
