// Documents that know where they may break, and their layout within a width (after Wadler's "A prettier printer").
#pragma once

#include <string>
#include <vector>

namespace coda {

class Doc {
 public:
  Doc() : Doc(Kind::Concat) {}

  static Doc text(std::string text);
  /// `  // …` behind what is on the line: takes no part in the question whether the line fits.
  static Doc trailing_comment(std::string text);
  static Doc comment(std::string text);
  static Doc line() { return Doc(Kind::Line); }           ///< a space, or a line break
  static Doc soft_line() { return Doc(Kind::SoftLine); }  ///< nothing, or a line break
  static Doc hard_line() { return Doc(Kind::HardLine); }
  static Doc blank_line() { return Doc(Kind::BlankLine); }  ///< only before a hard line: leaves a line empty
  /// Broken as a whole or not at all.
  static Doc group(Doc inner) { return wrap(Kind::Group, std::move(inner)); }
  /// Breaks inside return to four columns right of the surrounding indentation.
  static Doc indent(Doc inner) { return wrap(Kind::Indent, std::move(inner)); }
  /// Breaks inside return to the column where this begins.
  static Doc align(Doc inner) { return wrap(Kind::Align, std::move(inner)); }

  /// Puts `part` behind what is here.
  Doc& add(Doc part);
  Doc& add(const char* part) { return add(text(part)); }
  bool empty() const { return kind_ == Kind::Concat && parts_.empty(); }

  /// Ends with a line break. Trailing comments of neighbouring lines are put below one another.
  std::string render(int width) const;

 private:
  enum class Kind : unsigned char {
    Text,
    TrailingComment,
    Comment,
    Line,
    SoftLine,
    HardLine,
    BlankLine,
    Group,
    Indent,
    Align,
    Concat
  };
  explicit Doc(Kind kind) : kind_(kind) {}
  static Doc wrap(Kind kind, Doc inner);

  friend class DocLayout;
  Kind kind_;
  std::string text_;
  std::vector<Doc> parts_;
};

}  // namespace coda
