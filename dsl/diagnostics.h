// Diagnostics as data: each has an id from diagnostics.def, a span, a message, notes and a way out. Collected, sorted
// and rendered as text with a caret, or as JSON.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "dsl/source.h"

namespace coda {

enum class Severity : uint8_t { Error, Warning, Remark };

enum class DiagId : uint16_t {
#define CODA_DIAG(id, severity, message, way_out) id,
#include "dsl/diagnostics.def"
#undef CODA_DIAG
};

struct DiagInfo {
  DiagId id;
  std::string_view name;  ///< "E0101"
  Severity severity;
  std::string_view message, way_out;
};
std::string_view name_of(DiagId id);
const std::vector<DiagInfo>& diagnostic_table();

struct Diagnostic {
  DiagId id;
  Severity severity;
  Span span;
  std::string message, way_out;
  struct Note {
    Span span;
    std::string text;
  };
  std::vector<Note> notes;
};

class Diagnostics {
 public:
  explicit Diagnostics(const SourceMap& sources) : sources_(&sources) {}

  /// Adds a diagnostic; `{0}`, `{1}`… of its message and way out are replaced by `arguments`. The reference stays valid
  /// until the next report and serves to attach notes. An error at a span that already has the same id is dropped.
  Diagnostic& report(DiagId id, Span span, std::vector<std::string> arguments = {});

  /// None yet, over the same sources.
  Diagnostics emptied() const { return Diagnostics(*sources_); }

  /// Adds what `other`, over the same sources, has collected.
  void append(const Diagnostics& other);

  bool has_errors() const { return errors_ > 0; }
  const std::vector<Diagnostic>& all() const { return list_; }
  /// Sorted by position: `path:line:col: error[E0312]: …`, the source line, a caret range, notes, the way out.
  std::string render_text() const;
  /// An array of objects: id, severity, message, way_out, range (path, begin and end as line and column), notes.
  std::string render_json() const;

 private:
  const SourceMap* sources_;
  std::vector<Diagnostic> list_;
  Diagnostic dropped_;
  std::set<std::tuple<DiagId, FileId, uint32_t, uint32_t>> seen_;
  int errors_ = 0;
};

}  // namespace coda
