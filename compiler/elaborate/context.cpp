#include "compiler/elaborate/context.h"

#include <algorithm>

namespace coda {

namespace {

/// Do the first and the last character belong together as parentheses around all of it?
bool is_bracketed(const std::string& text) {
  if (text.size() < 3 || text.front() != '(' || text.back() != ')') return false;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return false;
  }
  return true;
}

}  // namespace

Diagnostic& Context::report(DiagId id, Span span, std::vector<std::string> arguments) {
  // The last frame whose call stands in a file of the user's: what is wrong inside the prelude is wrong with this call.
  size_t shown = frames.size();
  if (!frames.empty() && frames.back().callee->is_prelude) {
    shown = frames.size() - 1;
    while (shown > 0 && frames[shown].caller->is_prelude) --shown;
  }
  const Span at = shown < frames.size() ? frames[shown].call : span;
  Diagnostic& diagnostic = diagnostics.report(id, at, std::move(arguments));
  failed = failed || diagnostic.severity == Severity::Error;
  if (shown < frames.size()) {
    diagnostic.notes.push_back({span, "inside `" + frames[shown].function->name.text + "`, here"});
  }
  constexpr size_t kMostCallsShown = 6;
  for (size_t i = std::min(shown, kMostCallsShown); i-- > 0;) {
    diagnostic.notes.push_back({frames[i].call, "in this call of `" + frames[i].function->name.text + "`"});
  }
  return diagnostic;
}

Value Context::fail(DiagId id, Span span, std::vector<std::string> arguments) {
  report(id, span, std::move(arguments));
  return Value::poison(span);
}

std::string Context::quoted(Span span, const std::string& otherwise) const {
  constexpr uint32_t kLongestQuote = 40;
  if (!span.valid() || span.end <= span.begin || span.end - span.begin > kLongestQuote) return otherwise;
  std::string text(sources.text(span));
  if (text.find('\n') != std::string::npos) return otherwise;
  while (is_bracketed(text)) text = text.substr(1, text.size() - 2);
  return text;
}

std::optional<DType> Context::find_type(const Scope& scope, const std::string& name) const {
  const auto it = types.find(name);
  if (scope.is_routine && it != types.end()) return it->second;
  return dtype_from_name(name);
}

bool Context::reads_inout(NodeId node) {
  for (NodeId id = static_cast<NodeId>(reads_inout_.size()); id <= node; ++id) {
    const Node& n = program.graph[id];
    const bool own = n.kind == NodeKind::Input && program.params[n.param].role == Param::Role::InOut;
    const bool inherited =
        std::any_of(n.args.begin(), n.args.end(), [&](NodeId arg) { return reads_inout_[arg] != 0; });
    reads_inout_.push_back(own || inherited);
  }
  return reads_inout_[node] != 0;
}

}  // namespace coda
