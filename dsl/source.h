// Source text: files by id, byte ranges, lines and columns. The only place that counts columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coda {

using FileId = int32_t;

/// A byte range [begin, end) of one file. A default span belongs to no file (built-in things).
struct Span {
  FileId file = -1;
  uint32_t begin = 0, end = 0;
  bool valid() const { return file >= 0; }
};
/// The smallest span that covers both; both must be of one file.
Span cover(Span a, Span b);

struct Position {
  int line = 1;    ///< from 1
  int column = 1;  ///< from 1, in code points; a tab counts as one
};

/// Owns the text of every file of a compilation. Not thread-safe while files are added.
class SourceMap {
 public:
  FileId add(std::string path, std::string text);
  const std::string& path(FileId file) const { return files_[file].path; }
  std::string_view text(FileId file) const { return files_[file].text; }
  std::string_view text(Span span) const;
  Position position(FileId file, uint32_t offset) const;
  /// The text of a line (from 1) without its line end.
  std::string_view line(FileId file, int line) const;

 private:
  struct File {
    std::string path, text;
    std::vector<uint32_t> line_starts;
  };
  std::vector<File> files_;
};

}  // namespace coda
