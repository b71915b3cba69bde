#include "runtime/jit/messages.h"

#include <algorithm>
#include <tuple>

namespace coda {

namespace {

ProgramMessage::Range range_of(const SourceMap& sources, Span span) {
  if (!span.valid()) return {};
  const Position begin = sources.position(span.file, span.begin), end = sources.position(span.file, span.end);
  return {sources.path(span.file), begin.line, begin.column, end.line, end.column};
}

ProgramMessage::Severity severity_of(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return ProgramMessage::Severity::Error;
    case Severity::Warning:
      return ProgramMessage::Severity::Warning;
    case Severity::Remark:
      break;
  }
  return ProgramMessage::Severity::Remark;
}

}  // namespace

std::vector<ProgramMessage> to_messages(const Diagnostics& diagnostics, const SourceMap& sources) {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& diagnostic : diagnostics.all()) sorted.push_back(&diagnostic);
  const auto key = [](const Diagnostic* d) { return std::tuple(d->span.file, d->span.begin, d->span.end); };
  std::stable_sort(sorted.begin(), sorted.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  std::vector<ProgramMessage> messages;
  for (const Diagnostic* diagnostic : sorted) {
    ProgramMessage& message = messages.emplace_back();
    message.severity = severity_of(diagnostic->severity);
    message.id = name_of(diagnostic->id);
    message.text = diagnostic->message;
    message.way_out = diagnostic->way_out;
    message.range = range_of(sources, diagnostic->span);
    for (const Diagnostic::Note& note : diagnostic->notes) {
      message.notes.push_back({range_of(sources, note.span), note.text});
    }
  }
  return messages;
}

}  // namespace coda
