#include "tests/codegen/language_matrix.h"

#include <algorithm>
#include <map>

#include "tests/codegen/matrix_words.h"

namespace coda::test {
namespace {

constexpr size_t kWordsPerKernel = 6;
constexpr const char* kTypes[] = {"bf16", "f16", "f32", "e4m3"};

struct Layout {
  const char *name, *x, *w;
  bool x_rows_first, w_rows_first;
};
constexpr Layout kLayouts[] = {{"kk", "x", "w.T", true, true},
                               {"kn", "x", "w", true, false},
                               {"mk", "x.T", "w.T", false, true},
                               {"mn", "x.T", "w", false, false}};

struct Form {
  const char *columns, *last, *facts, *z;
  Bindings bound;
  std::vector<Bindings> sizes;
};
Form form_of(MatrixForm form) {
  switch (form) {
    case MatrixForm::Whole:
      return {
          "N", "N",
          "",  "product",
          {},  {{{"M", 1}, {"N", 1}, {"K", 1}}, {{"M", 37}, {"N", 67}, {"K", 21}}, {{"M", 131}, {"N", 10}, {"K", 40}}}};
    case MatrixForm::Blocks:
      return {"N",       "N", " where N % 16 == 0",
              "product", {},  {{{"M", 1}, {"N", 16}, {"K", 3}}, {{"M", 37}, {"N", 80}, {"K", 21}}}};
    case MatrixForm::Gated:
      return {"2*F",
              "F",
              "",
              "product",
              {},
              {{{"M", 1}, {"F", 1}, {"K", 1}}, {{"M", 37}, {"F", 35}, {"K", 21}}, {{"M", 131}, {"F", 6}, {"K", 40}}}};
    case MatrixForm::Heads:
      return {"H*Dh",       "Dh",
              "",           "group(product, Dh)",
              {{"Dh", 16}}, {{{"M", 1}, {"H", 1}, {"K", 1}}, {{"M", 37}, {"H", 5}, {"K", 21}}}};
  }
  return {};
}

std::string kernel_text(const std::vector<MatrixWord>& words, const Form& form, const Layout& layout, size_t type) {
  std::string outputs, body;
  for (size_t i = 0; i < words.size(); ++i) {
    const MatrixWord& word = words[i];
    const std::string name = "o" + std::to_string(i);
    const std::string own = word.type.empty() ? kTypes[(i + type) % std::size(kTypes)] : word.type;
    outputs += (i == 0 ? "" : ", ") + name + ": " + own + (word.dims.empty() ? "" : "[" + word.dims + "]");
    body += word.lets + "    " + name + " = " + word.value + "\n";
  }
  const std::string operand = kTypes[type], columns = form.columns;
  std::string params = "x: " + operand + (layout.x_rows_first ? "[M, K]" : "[K, M]") + ", w: " + operand + "[" +
                       (layout.w_rows_first ? columns + ", K" : "K, " + columns) + "]";
  std::string lets =
      "    let product = (" + std::string(layout.x) + " @ " + layout.w + ") / 256\n    let z = " + form.z + "\n";
  const auto scaled = [&](const std::string& name, const std::string& dims, const std::string& own) {
    if (!uses(body, name)) return;
    params += ", " + name + "_in: " + own + "[" + dims + "]";
    lets += "    let " + name + " = " + name + "_in / 4\n";
  };
  scaled("u", "M, N", operand);
  scaled("r", "M", "f32");
  scaled("c", form.last, operand);
  const auto given = [&](const std::string& name, const std::string& own) {
    if (uses(body, name)) params += ", " + name + ": " + own;
  };
  given("t", "i32[M]");
  given("all_cos", "f32[M, Dh/2]");
  given("all_sin", "f32[M, Dh/2]");
  given("few_cos", "f32[M, Dh/4]");
  given("few_sin", "f32[M, Dh/4]");
  return "kernel cell(" + params + ")\n    -> (" + outputs + ")" + form.facts + " {\n" + lets + body + "}\n";
}

/// Words of one form, a kernel's worth at a time, in each layout with each type.
void add_kernels(const std::string& what, const std::vector<MatrixWord>& all, std::vector<MatrixKernel>& kernels) {
  std::map<std::pair<MatrixForm, bool>, std::vector<MatrixWord>> alike;
  for (const MatrixWord& word : all) alike[{word.form, word.relative}].push_back(word);
  int number = 0;
  for (const auto& [key, words] : alike) {
    for (size_t first = 0; first < words.size(); first += kWordsPerKernel) {
      const size_t end = std::min(words.size(), first + kWordsPerKernel);
      const std::vector<MatrixWord> own(words.begin() + static_cast<ptrdiff_t>(first),
                                        words.begin() + static_cast<ptrdiff_t>(end));
      const Form form = form_of(key.first);
      double ulps = 0;
      for (const MatrixWord& word : own) ulps = std::max(ulps, word.ulps);
      const std::string name = what + " " + std::to_string(number++);
      for (const Layout& layout : kLayouts) {
        for (size_t type = 0; type < std::size(kTypes); ++type) {
          kernels.push_back({name + ", " + layout.name + ", " + kTypes[type], kTypes[type],
                             kernel_text(own, form, layout, type), form.bound, form.sizes, key.second, ulps});
        }
      }
    }
  }
}

}  // namespace

std::vector<MatrixKernel> language_matrix() {
  std::vector<MatrixKernel> kernels;
  add_kernels("ops", op_words(), kernels);
  add_kernels("reductions", reduction_words(), kernels);
  add_kernels("functions", prelude_words(), kernels);
  return kernels;
}

std::vector<std::string> language_matrix_words() {
  std::vector<std::string> names;
  for (const auto& words : {op_words(), reduction_words(), prelude_words()}) {
    for (const MatrixWord& word : words) names.push_back(word.name);
  }
  return names;
}

}  // namespace coda::test
