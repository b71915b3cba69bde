#include "dsl/pretty.h"

#include <algorithm>
#include <utility>

#include "dsl/utf8.h"

namespace coda {
namespace {

constexpr int kIndent = 4;
/// Trailing comments are aligned with one another where their code ends within so many columns.
constexpr int kAlignReach = 24;

int columns(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !is_utf8_continuation(c); }));
}

}  // namespace

Doc Doc::text(std::string text) {
  Doc doc(Kind::Text);
  doc.text_ = std::move(text);
  return doc;
}

Doc Doc::trailing_comment(std::string text) {
  Doc doc(Kind::TrailingComment);
  doc.text_ = std::move(text);
  return doc;
}

Doc Doc::comment(std::string text) {
  Doc doc(Kind::Comment);
  doc.text_ = std::move(text);
  return doc;
}

Doc Doc::wrap(Kind kind, Doc inner) {
  Doc doc(kind);
  doc.parts_.push_back(std::move(inner));
  return doc;
}

Doc& Doc::add(Doc part) {
  if (part.empty()) return *this;
  if (kind_ != Kind::Concat) {
    Doc first = std::exchange(*this, Doc());
    parts_.push_back(std::move(first));
  }
  parts_.push_back(std::move(part));
  return *this;
}

/// One run of the layout algorithm over an explicit stack.
class DocLayout {
 public:
  explicit DocLayout(int width) : width_(width) {}

  std::string run(const Doc& doc) {
    pending_.push_back({0, false, &doc});
    while (!pending_.empty()) {
      const Entry entry = pending_.back();
      pending_.pop_back();
      step(entry);
    }
    flush_line();
    align_comments();
    std::string out;
    for (const Line& line : lines_) out += line.code + line.comment + '\n';
    return out;
  }

 private:
  using Kind = Doc::Kind;
  struct Entry {
    int indent;
    bool flat;
    const Doc* doc;
  };
  struct Line {
    std::string code, comment;
  };

  void step(const Entry& entry) {
    const Doc& doc = *entry.doc;
    switch (doc.kind_) {
      case Kind::Text:
      case Kind::Comment:
        put(doc.text_);
        break;
      case Kind::TrailingComment:
        // What stood behind code may have lost it to an earlier comment: then it gets a line of its own.
        if (!current_.comment.empty()) new_line(entry.indent);
        if (current_.code.empty()) {
          put(doc.text_);
        } else {
          current_.comment = "  " + doc.text_;
        }
        break;
      case Kind::Line:
      case Kind::SoftLine:
        if (!entry.flat) {
          new_line(entry.indent);
        } else if (doc.kind_ == Kind::Line) {
          put(" ");
        }
        break;
      case Kind::HardLine:
        new_line(entry.indent);
        break;
      case Kind::BlankLine:
        new_line(0);
        break;
      case Kind::Group:
        pending_.push_back({entry.indent, entry.flat || fits(entry), &doc.parts_.front()});
        break;
      case Kind::Indent:
        pending_.push_back({entry.indent + kIndent, entry.flat, &doc.parts_.front()});
        break;
      case Kind::Align:
        pending_.push_back({column_, entry.flat, &doc.parts_.front()});
        break;
      case Kind::Concat:
        push_parts(pending_, entry);
        break;
    }
  }

  static void push_parts(std::vector<Entry>& stack, const Entry& entry) {
    const auto& parts = entry.doc->parts_;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) stack.push_back({entry.indent, entry.flat, &*part});
  }

  /// Whether the group laid out flat, and what follows it up to the next possible break, fits on the line.
  bool fits(const Entry& group) const {
    int left = width_ - column_;
    size_t rest = pending_.size();
    std::vector<Entry> stack{{0, true, &group.doc->parts_.front()}};
    while (left >= 0) {
      if (stack.empty()) {
        if (rest == 0) return true;
        stack.push_back(pending_[--rest]);
      }
      const Entry entry = stack.back();
      stack.pop_back();
      const Doc& doc = *entry.doc;
      switch (doc.kind_) {
        case Kind::Text:
          left -= columns(doc.text_);
          break;
        case Kind::Comment:
          return !entry.flat;
        case Kind::TrailingComment:
          break;
        case Kind::Line:
        case Kind::SoftLine:
          if (!entry.flat) return true;
          if (doc.kind_ == Kind::Line) --left;
          break;
        case Kind::HardLine:
        case Kind::BlankLine:
          return !entry.flat;
        case Kind::Group:
        case Kind::Indent:
        case Kind::Align:
          stack.push_back({0, entry.flat, &doc.parts_.front()});
          break;
        case Kind::Concat:
          push_parts(stack, entry);
          break;
      }
    }
    return false;
  }

  void put(const std::string& text) {
    // The indentation is written late, so that empty lines carry none.
    if (current_.code.empty()) current_.code.assign(static_cast<size_t>(column_), ' ');
    current_.code += text;
    column_ += columns(text);
  }

  void flush_line() {
    while (current_.code.ends_with(' ')) current_.code.pop_back();
    lines_.push_back(std::move(current_));
    current_ = {};
  }

  void new_line(int indent) {
    flush_line();
    column_ = indent;
  }

  void align_comments() {
    const auto code_width = [&](size_t i) { return columns(lines_[i].code); };
    for (size_t begin = 0; begin < lines_.size();) {
      size_t end = begin;
      int low = 0, high = 0;
      for (; end < lines_.size() && !lines_[end].comment.empty(); ++end) {
        const int width = code_width(end);
        const int new_low = end == begin ? width : std::min(low, width);
        const int new_high = std::max(high, width);
        if (new_high - new_low > kAlignReach) break;
        low = new_low;
        high = new_high;
      }
      for (size_t i = begin; i < end; ++i) {
        lines_[i].comment.insert(0, static_cast<size_t>(high - code_width(i)), ' ');
      }
      begin = std::max(end, begin + 1);
    }
  }

  int width_;
  int column_ = 0;
  std::vector<Entry> pending_;
  std::vector<Line> lines_;
  Line current_;
};

std::string Doc::render(int width) const { return DocLayout(width).run(*this); }

}  // namespace coda
