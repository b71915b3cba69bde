#include "tests/codegen/matrix_words.h"

#include <cmath>
#include <map>

#include "compiler/ops/op.h"

namespace coda::test {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The text with other words for some.
std::string replaced(const std::string& text, const std::map<std::string, std::string>& words) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const std::string word = text.substr(at, end - at);
    const auto it = words.find(word);
    result += it == words.end() ? word : it->second;
    at = end;
  }
  return result;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return value < 0 ? "(" + std::string(text) + ")" : text;
}

/// Multiples of 2^-8 with a deviation of about 1.5, spread over an op's domain: each step is exact in f32.
std::string within(const Op& op, const std::string& operand) {
  const double unit = std::exp2(std::floor(std::log2((op.domain_high - op.domain_low) / 8)));
  const double middle = std::round((op.domain_low + op.domain_high) / 2 / unit) * unit;
  const double grain = unit / 256;
  return "min(max(" + number(middle) + " + " + number(unit) + " * " + operand + ", " +
         number(std::ceil(op.domain_low / grain) * grain) + "), " + number(std::floor(op.domain_high / grain) * grain) +
         ")";
}

std::string operand_of(const Op& op, NumClass num_class, const std::string& operand) {
  if (num_class == NumClass::Real) return within(op, operand);
  return num_class == NumClass::Int ? "to_int(8 * " + operand + ")" : operand + " > 0.5";
}

/// The classes that an op's arguments may have, with the type of its result; "" for a real one.
std::vector<std::pair<NumClass, std::string>> classes(const Op& op) {
  using enum NumClass;
  switch (op.rule) {
    case ClassRule::Real:
      return {{Real, ""}};
    case ClassRule::Int:
      return {{Int, "i64"}};
    case ClassRule::Same:
      return {{Real, ""}, {Int, "i32"}};
    case ClassRule::Compare:
      return {{Real, "bool"}, {Int, "bool"}};
    case ClassRule::Logical:
      return {{Real, "bool"}};
    case ClassRule::Select:
      return {{Real, ""}, {Int, "i32"}, {Bool, "bool"}};
    case ClassRule::ToReal:
      return {{Real, ""}, {Int, ""}, {Bool, ""}};
    case ClassRule::ToInt:
      return {{Real, "i32"}, {Int, "i64"}, {Bool, "i32"}};
  }
  return {};
}

}  // namespace

bool uses(const std::string& text, const std::string& word) { return replaced(text, {{word, ""}}) != text; }

std::vector<MatrixWord> op_words() {
  std::vector<MatrixWord> words;
  for (const Op* op : op_table()) {
    for (const auto& [num_class, type] : classes(*op)) {
      const std::string own = std::string(op->name) + std::to_string(words.size()), example(op->example);
      std::string lets;
      std::map<std::string, std::string> names;
      for (const std::string argument : {"x", "y", "c"}) {
        if (!uses(example, argument)) continue;
        names[argument] = own + argument;
        const std::string from = argument == "y" ? "u" : "z";
        lets +=
            "    let " + own + argument + " = " + (argument == "c" ? "z > u" : operand_of(*op, num_class, from)) + "\n";
      }
      std::string value = replaced(example, names);
      if (names.empty()) value += " + to_int(4 * z)";  // else of columns alone
      words.push_back({std::string(op->name), MatrixForm::Whole, lets, value, "M, N", type, true, op->ulp});
    }
  }
  return words;
}

std::vector<MatrixWord> reduction_words() {
  std::vector<MatrixWord> words;
  for (const Reduction* reduction : reduction_table()) {
    const std::string name(reduction->name), example(reduction->example);
    const bool truth = reduction->result == NumClass::Bool;
    const auto over = [&](const std::string& dims, const std::string& element) {
      return replaced(example, {{"x", element}, {"N", dims}});
    };
    // What is all true and all false in places; and products that stay near 1.
    const std::string element = truth ? "(z + 3*r + 3*c)" : name == "prod" ? "(1 + z/64)" : "z";
    const std::string type = truth ? "bool" : "";
    constexpr double kUlps = 200;
    words.push_back({name, MatrixForm::Whole, "", over("N", element), "M", type, false, kUlps});
    words.push_back({name, MatrixForm::Whole, "", over("M", element), "N", type, false, kUlps});
    words.push_back({name, MatrixForm::Whole, "", over("(M, N)", element), "", type, false, kUlps});
    words.push_back({name, MatrixForm::Blocks, "    let " + name + "_z = group(z, 16)\n",
                     replaced(example, {{"x", truth ? name + "_z" : replaced(element, {{"z", name + "_z"}})},
                                        {"over", "over"},
                                        {"N", "16"}}),
                     "M, N/16", type, false, kUlps});
    const std::string inside = over("Dh", element);
    words.push_back({name, MatrixForm::Heads, "", truth ? "select(" + inside + ", z, -z)" : "z - " + inside, "M, H, Dh",
                     "", false, kUlps});
  }
  return words;
}

}  // namespace coda::test
