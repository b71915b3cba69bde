#include "dsl/source.h"

#include <algorithm>
#include <utility>

#include "dsl/utf8.h"

namespace coda {

Span cover(Span a, Span b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

FileId SourceMap::add(std::string path, std::string text) {
  File file{std::move(path), std::move(text), {0}};
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
  files_.push_back(std::move(file));
  return static_cast<FileId>(files_.size() - 1);
}

std::string_view SourceMap::text(Span span) const {
  if (!span.valid()) return {};
  const std::string_view all = text(span.file);
  const size_t begin = std::min<size_t>(span.begin, all.size());
  const size_t end = std::clamp<size_t>(span.end, begin, all.size());
  return all.substr(begin, end - begin);
}

Position SourceMap::position(FileId file, uint32_t offset) const {
  const File& source = files_[file];
  offset = std::min(offset, static_cast<uint32_t>(source.text.size()));
  const auto& starts = source.line_starts;
  const auto next = std::upper_bound(starts.begin(), starts.end(), offset);
  const std::string_view before = std::string_view(source.text).substr(*(next - 1), offset - *(next - 1));
  return {static_cast<int>(next - starts.begin()), 1 + static_cast<int>(count_code_points(before))};
}

std::string_view SourceMap::line(FileId file, int line) const {
  const File& source = files_[file];
  if (line < 1 || line > static_cast<int>(source.line_starts.size())) return {};
  const uint32_t begin = source.line_starts[line - 1];
  std::string_view rest = std::string_view(source.text).substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

}  // namespace coda
