#include "row_forms.h"

namespace coda::test {
namespace {

RowForm row_form(int row_dims, int summed_dims, bool x_turned, bool w_turned) {
  static constexpr const char* kRows[] = {"S", "B, S", "A, B, S"};
  static constexpr const char* kSummed[] = {"K", "H, K"};
  const std::string rows = kRows[row_dims - 1], summed = kSummed[summed_dims - 1];
  const std::string x = x_turned ? summed + ", " + rows : rows + ", " + summed;
  const std::string w = w_turned ? summed + ", N" : "N, " + summed;
  RowForm form;
  form.row_dims = row_dims;
  form.summed_dims = summed_dims;
  form.layout = std::string(x_turned ? "t" : "n") + (w_turned ? "n" : "t");
  form.name = "rows" + std::to_string(row_dims) + "_sums" + std::to_string(summed_dims) + "_" + form.layout;
  form.text = "kernel " + form.name + "(x: bf16[" + x + "], w: bf16[" + w + "], t: bf16[" + rows +
              ", N], inner: f32[S], outer: f32[" + rows.substr(0, 1) + "], c: bf16[N])\n    -> (y: bf16[" + rows +
              ", N], turned: f32[N, " + rows + "], row: f32[" + rows +
              "], column: f32[N]) {\n    let z = inner * sum(x * w, over = (" + summed +
              ")) + 2 * t + outer * c\n    y = z\n    turned = z - t\n    row = max(z, over = N)\n    column = sum(z, "
              "over = (" +
              rows + "))\n}\n";
  const std::vector<Bindings> sizes = {
      {{"A", 2}, {"B", 2}, {"S", 9}, {"H", 3}, {"K", 18}, {"N", 35}},
      {{"A", 3}, {"B", 5}, {"S", 23}, {"H", 2}, {"K", 75}, {"N", 131}},
      {{"A", 2}, {"B", 3}, {"S", 40}, {"H", 3}, {"K", 64}, {"N", 136}},
      {{"A", 1}, {"B", 130}, {"S", 1}, {"H", 1}, {"K", 8}, {"N", 1}},
  };
  for (const Bindings& all : sizes) {
    Bindings own;
    for (const auto& [symbol, value] : all) {
      if (form.text.find("[" + symbol) != std::string::npos || form.text.find(", " + symbol) != std::string::npos) {
        own[symbol] = value;
      }
    }
    form.sizes.push_back(own);
  }
  return form;
}

}  // namespace

std::vector<RowForm> row_forms() {
  std::vector<RowForm> forms;
  for (int rows = 1; rows <= 3; ++rows) {
    for (int summed = 1; summed <= 2; ++summed) {
      for (const bool x_turned : {false, true}) {
        for (const bool w_turned : {false, true}) forms.push_back(row_form(rows, summed, x_turned, w_turned));
      }
    }
  }
  return forms;
}

}  // namespace coda::test
