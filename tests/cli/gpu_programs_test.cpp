// Hidden: every example, and every program of the tests of code for sm_90a in every schedule, on a GPU beside the
// reference, at small ragged sizes and at those that tensor maps can address.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "compiler/codegen/sm90.h"
#include "tests/cli/gpu_cases.h"
#include "tests/cli/gpu_sizes.h"
#include "tests/codegen/example_list.h"
#include "tests/codegen/rowwise_forms.h"
#include "tests/codegen/sm90_programs.h"
#include "tests/source_root.h"

namespace coda::testing {
namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(source_root() + "/" + path).rdbuf();
  return text.str();
}

/// What the host's test runs at: the listed sizes, and each dimension empty, one and odd.
std::vector<Bindings> sizes_of(const test::Example& example) {
  std::vector<Bindings> result = {example.sizes};
  for (const auto& [name, size] : example.sizes) {
    const auto multiple = example.multiples.find(name);
    const int64_t step = multiple == example.multiples.end() ? 1 : multiple->second;
    for (const int64_t other : {int64_t{0}, step, (67 / step + 1) * step}) {
      result.push_back(example.sizes);
      result.back()[name] = other;
    }
  }
  Bindings aligned = example.sizes;
  for (auto& [name, size] : aligned) size = (size + 31) / 32 * 32;
  if (example.multiples.empty()) result.push_back(aligned);
  return result;
}

struct TopExample {
  const char *file, *routine;
  Bindings bound, sizes;
};
std::vector<TopExample> top_examples() {
  return {{"bias_gelu", "", {}, {{"M", 70}, {"N", 75}, {"K", 40}}},
          {"few_rows", "few_rows", {}, {{"M", 9}, {"N", 150}, {"K", 264}}},
          {"few_rows", "few_rows_fp8", {}, {{"M", 9}, {"N", 150}, {"K", 272}}},
          {"few_rows", "great_depth", {}, {{"M", 9}, {"N", 150}, {"K", 264}}},
          {"fp8_gemm", "fp8_gemm", {}, {{"M", 70}, {"N", 75}, {"K", 80}}},
          {"fp8_gemm", "fp8_fast", {}, {{"M", 70}, {"N", 75}, {"K", 80}}},
          {"fp8_gemm", "fp8_dx", {}, {{"M", 70}, {"N", 80}, {"K", 77}}},
          {"gate_up", "", {}, {{"M", 70}, {"F", 75}, {"K", 40}}},
          {"gemm", "", {}, {{"M", 70}, {"N", 75}, {"K", 40}}},
          {"layernorm", "", {}, {{"M", 70}, {"D", 75}}},
          {"linear_ce", "", {}, {{"M", 70}, {"D", 40}, {"V", 75}}},
          {"llama_block", "", {{"Dh", 32}, {"Hq", 2}, {"Hkv", 1}}, {{"T", 37}, {"D", 70}, {"A", 48}, {"F", 41}}},
          {"mlp_block", "", {}, {{"T", 37}, {"D", 70}, {"A", 48}, {"F", 41}}},
          {"qkv_rope", "", {{"Dh", 32}}, {{"M", 70}, {"D", 40}, {"Hq", 3}, {"Hkv", 1}}},
          {"residual", "", {}, {{"M", 70}, {"N", 75}, {"K", 40}}},
          {"rmsnorm", "", {}, {{"M", 70}, {"D", 75}}},
          {"rmsnorm_backward", "", {}, {{"M", 70}, {"D", 75}}},
          {"rope", "", {{"Dh", 32}}, {{"T", 37}, {"H", 3}}},
          {"softmax", "", {}, {{"M", 70}, {"N", 75}}},
          {"statistics", "", {}, {{"B", 3}, {"S", 37}, {"N", 75}, {"K", 40}}}};
}

}  // namespace

TEST_CASE("examples on a GPU", "[.gpu]") {
  std::vector<GpuCase> cases;
  for (const TopExample& one : top_examples()) {
    std::vector<Bindings> sizes = {one.sizes, aligned_sizes(one.sizes)};
    for (const auto& [name, value] : one.sizes) {
      sizes.push_back(one.sizes);
      sizes.back()[name] = 1;
      // Without a depth a block's plan has means of nothing where the source has sums of nothing.
      if (one.sizes.contains("A") && name != "T") continue;
      sizes.push_back(aligned_sizes(one.sizes));
      sizes.back()[name] = 0;
    }
    cases.push_back(
        {one.file, read(std::string("examples/") + one.file + ".coda"), one.bound, sizes, {}, "", one.routine});
  }
  // Its weights are multiplied by a gain before the product, so that nothing scales them for its depth.
  cases.push_back({.name = "models/attention.coda",
                   .text = read("examples/models/attention.coda"),
                   .bound = {},
                   .sizes = {{{"B", 2}, {"T", 37}, {"D", 40}, {"H", 2}}, {{"B", 1}, {"T", 130}, {"D", 64}, {"H", 1}}},
                   .inputs = {"wqkv=normal(0, 0.1)"},
                   .apart = 0x1p-8});
  for (const test::Example& example : test::listed_examples()) {
    const bool is_there =
        std::any_of(cases.begin(), cases.end(), [&](const auto& c) { return c.name == example.file; });
    if (example.host_only || is_there) continue;
    // Statistics of what is rounded to a narrow type inside show each tie that falls otherwise: there, exact numbers.
    const bool rounds = example.text.find(": f16 =") != std::string::npos;
    const std::vector<std::string> inputs =
        rounds ? whole_inputs(example.text, example.bound, 1) : std::vector<std::string>{};
    cases.push_back(
        {example.file, example.text, example.bound, sizes_of(example), inputs, "", "", example.loose ? 4.0 : 1.0});
  }
  run_gpu_cases(cases);
}

TEST_CASE("kernels without a product on a GPU", "[.gpu]") {
  std::vector<GpuCase> cases;
  for (const test::RowwiseForm& form : test::rowwise_forms()) {
    std::vector<Bindings> sizes = {form.moderate, aligned_sizes(form.moderate)};
    for (const auto& [name, value] : form.moderate) {
      for (const int64_t other : {0, 1, 131}) {
        sizes.push_back(form.moderate);
        sizes.back()[name] = other;
      }
      // Several passes over long rows, few of them.
      sizes.push_back(form.moderate);
      for (auto& [other, size] : sizes.back()) size = other == name ? 1032 : std::min<int64_t>(size, 5);
    }
    cases.push_back({form.name, form.text, form.bound, sizes, {}, ""});
  }
  run_gpu_cases(cases);
}

TEST_CASE("reductions of blocks of columns on a GPU", "[.gpu]") {
  std::vector<GpuCase> cases;
  for (const int block : {4, 8, 16, 32, 64}) {
    const std::string b = std::to_string(block);
    // What a block's lanes read, of which one lane stores the result.
    const std::string text =
        "kernel blocks(a: f16[M, K], b: f16[N, K], c: f16[M, N], v: bf16[N], s: f32[M])\n    -> (m: f32[M, N/" + b +
        "], t: bf16[M, N/" + b + "]) where N % " + b + " == 0 {\n  let z = group(s * (a @ b.T) + c * v, " + b +
        ")\n  m = absmax(z, over = " + b + ")\n  t = sum(z * z, over = " + b + ")\n}\n";
    for (const char* schedule : {"64x64", "16x64", "128x256", "pingpong-64x256"}) {
      std::vector<Bindings> sizes;
      for (const int64_t m : {1, 70, 128}) {
        for (const int64_t n : {block, 3 * block, 320}) sizes.push_back({{"M", m}, {"N", n}, {"K", 40}});
      }
      cases.push_back({"blocks of " + b, text, {}, sizes, {}, schedule});
    }
  }
  run_gpu_cases(cases);
}

TEST_CASE("one column of each row on a GPU", "[.gpu]") {
  // Rows want columns inside and outside of the tensor, also such as only all 64 bits tell from those inside.
  const std::pair<const char*, std::string> programs[] = {
      {"picked columns",
       "kernel picks(a: bf16[M, K], b: bf16[N, K], t: i64[M], u: f32[N], s: f32[M], c: bf16[M, N])\n"
       "    -> (y: bf16[M, N], lse: f32[M], p: f32[M], q: f32[M], far: f32[M]) {\n  let z = a @ b.T\n  y = z\n"
       "  lse = logsumexp(z, over = N)\n  p = gather(z, N = t)\n  q = gather(s * z + u * c, N = t + 1)\n"
       "  far = gather(z, N = t * 4294967296)\n}\n"},
      {"picked columns of a batch",
       "kernel picks(a: f16[B, M, K], b: f16[B, K, N], t: i32[B, M], u: f32[B, N])\n"
       "    -> (d: f32[B, M], m: f32[B, M]) {\n  let z = a @ b + u\n  d = max(z, over = N) - gather(z, N = t)\n"
       "  m = max(z, over = N)\n}\n"}};
  std::vector<GpuCase> cases;
  for (const auto& [name, text] : programs) {
    const bool is_batch = text.find("f16[B") != std::string::npos;
    for (const int64_t columns : {1, 7, 64, 150, 320}) {
      std::vector<Bindings> sizes;
      for (const int64_t rows : {1, 70, 128}) {
        sizes.push_back({{"M", rows}, {"N", columns}, {"K", 40}});
        if (is_batch) sizes.back()["B"] = 2;
      }
      const std::vector<std::string> inputs = {"t=integers(-2, " + std::to_string(columns + 2) + ")"};
      for (const char* schedule : {"", "64x64", "16x64", "128x256", "pingpong-128x192"})
        cases.push_back({name, text, {}, sizes, inputs, schedule});
    }
  }
  run_gpu_cases(cases);
}

TEST_CASE("regions that share one code on a GPU", "[.gpu]") {
  // Outputs and what is read lie as each region's width has it: aligned in some regions and not in the others.
  const std::string head = "kernel twins(a: bf16[M, K], b: bf16[P + Q + R, K]";
  const std::string cut = "  let (c, d, e) = split(a @ b.T, P, Q, R)\n";
  const std::string outputs = ") -> (p: bf16[M, P], q: bf16[M, Q], r: bf16[M, R]) {\n";
  const std::pair<const char*, std::string> programs[] = {
      {"bare twins", head + outputs + cut + "  p = c\n  q = d\n  r = e\n}\n"},
      {"twins with vectors", head + ", u: f32[P], v: f32[Q], w: f32[R], s: f32[M], f: f32, g: f32, h: f32" + outputs +
                                 cut + "  p = f * s * silu(c + u)\n  q = g * s * silu(d + v)\n" +
                                 "  r = h * s * silu(e + w)\n}\n"},
      {"twins with tiles", head + ", t: f32[M, P], u: f32[M, Q], v: f32[M, R]" + outputs + cut +
                               "  p = select(index(P) < 9, c, t)\n  q = select(index(Q) < 9, d, u)\n" +
                               "  r = select(index(R) < 9, e, v)\n}\n"}};
  std::vector<GpuCase> cases;
  for (const auto& [name, text] : programs) {
    std::vector<Bindings> sizes;
    constexpr int64_t kWidths[][3] = {{64, 30, 128}, {31, 256, 64}, {128, 0, 7}, {0, 72, 72}, {130, 8, 264}};
    for (const auto& widths : kWidths) {
      for (const int64_t m : {128, 71}) {
        sizes.push_back({{"M", m}, {"P", widths[0]}, {"Q", widths[1]}, {"R", widths[2]}, {"K", 72}});
      }
    }
    for (const char* schedule : {"", "64x64", "128x256", "pingpong-64x256"})
      cases.push_back({name, text, {}, sizes, {}, schedule});
  }
  run_gpu_cases(cases);
}

TEST_CASE("products of every layout in tiles of whole groups on a GPU", "[.gpu]") {
  // What a stage is copied of depends on each product's layout, and on tiles that are no whole blocks of 64 columns.
  std::vector<GpuCase> cases;
  for (const bool first_by_depth : {false, true}) {
    for (const bool second_by_depth : {false, true}) {
      for (const int group : {8, 10, 16, 20, 24, 40, 96}) {
        const std::string text =
            std::string("kernel mixed(x: bf16[M, K], w: bf16[") + (first_by_depth ? "H*Dh, K" : "K, H*Dh") +
            "], a: bf16[R, M], b: bf16[" + (second_by_depth ? "H*Dh, R" : "R, H*Dh") +
            "])\n    -> (y: bf16[M, H, Dh], s: f32[M, H]) {\n  let z = group(x @ w" + (first_by_depth ? ".T" : "") +
            " + a.T @ b" + (second_by_depth ? ".T" : "") + ", Dh)\n  y = z\n  s = max(z, over = Dh)\n}\n";
        const std::vector<Bindings> sizes = {{{"M", 96}, {"K", 72}, {"R", 40}, {"H", 16}},
                                             {{"M", 70}, {"K", 41}, {"R", 9}, {"H", 7}}};
        for (const char* schedule : {"64x64", "128x128", "128x256", "pingpong-128x192"})
          cases.push_back({"groups of " + std::to_string(group), text, {{"Dh", group}}, sizes, {}, schedule});
      }
    }
  }
  run_gpu_cases(cases);
}

TEST_CASE("heads of every size on a GPU", "[.gpu]") {
  struct Form {
    const char *operands, *batch, *product;
    Bindings more;
  };
  const Form forms[] = {
      {"a: bf16[M, K], b: bf16[H*Dh, K]", "", "a @ b.T", {}},
      {"a: bf16[M, K], b: bf16[K, H*Dh]", "", "a @ b", {}},
      {"a: f16[T, K], row: i32[M], b: f16[H*Dh, K]", "", "gather(a, T = row) @ b.T", {{"T", 9}}},
      {"a: f16[B, M, K], b: f16[B, H*Dh, K]", "B, ", "a @ b.T", {{"B", 3}}},
      {"a: bf16[M, K], b: bf16[H*Dh, K], d: bf16[M, R], e: bf16[R, H*Dh]", "", "a @ b.T + d @ e", {{"R", 24}}}};
  std::vector<GpuCase> cases;
  for (const int64_t head : {2, 3, 4, 5, 6, 7, 10, 12, 14, 15, 20, 22, 24, 28, 30, 31, 38, 40, 44, 52, 60, 62}) {
    for (const Form& form : forms) {
      // What is half a head away, what all of a head is, and what is summed down its columns.
      const std::string half = head % 2 == 0 ? "  let (lo, hi) = halves(n)\n  y = join_halves(-hi, lo) + c\n"
                                             : "  y = select(index(Dh) == argmax(n, over = Dh), n, c)\n";
      const std::string batch = form.batch;
      const std::string text = "kernel heads(" + std::string(form.operands) + ", c: f16[" + batch +
                               "M, H, Dh])\n    -> (y: bf16[" + batch + "M, H, Dh], m: f32[" + batch +
                               "M, H], t: f32[" + batch + "H, Dh]) {\n  let z = group(" + form.product +
                               ", Dh)\n  let n = z * rsqrt(mean(z*z, over = Dh) + 1)\n" + half +
                               "  m = absmax(z, over = Dh)\n  t = sum(n, over = M)\n}\n";
      std::vector<Bindings> sizes;
      for (const int64_t heads : {1, 5}) {
        sizes.push_back({{"M", 70}, {"H", heads}, {"K", heads == 1 ? 37 : 64}});
        sizes.back().insert(form.more.begin(), form.more.end());
      }
      const auto inputs = head % 2 == 0 ? std::vector<std::string>{} : whole_inputs(text, {{"Dh", head}}, 1);
      cases.push_back({"heads of " + std::to_string(head) + ", " + form.product + ", " + batch,
                       text,
                       {{"Dh", head}},
                       sizes,
                       inputs,
                       ""});
    }
  }
  run_gpu_cases(cases);
}

TEST_CASE("programs in every schedule on a GPU", "[.gpu]") {
  std::vector<GpuCase> cases;
  for (const test::Sm90Program& program : test::sm90_programs()) {
    std::string report;
    const auto lowered = test::lower_text(program, report);
    INFO(report);
    REQUIRE(lowered);
    Bindings bound = program.bound;
    // Heads are few, and no structure needs to know how many.
    const Bindings few = {{"B", 3}, {"H", 3}, {"Hq", 2}, {"Hkv", 1}};
    for (const auto& [symbol, size] : few) bound.erase(symbol);
    Bindings ragged;
    for (const std::string& symbol : open_symbols(program.text, bound)) {
      constexpr int64_t kRagged[] = {150, 77, 131, 203, 93};
      const auto found = few.find(symbol);
      ragged[symbol] = found != few.end() ? found->second : kRagged[ragged.size() % std::size(kRagged)];
    }
    std::vector<Bindings> sizes = {ragged, aligned_sizes(ragged, {"B", "H", "Hq", "Hkv"})};
    for (Bindings& one : sizes) one = fitting_sizes(program.text, bound, one);
    const auto inputs = program.ties ? whole_inputs(program.text, bound, 1) : std::vector<std::string>{};
    for (const std::string& schedule : sm90_schedules_for(*lowered, {})) {
      cases.push_back({program.name, program.text, bound, sizes, inputs, schedule});
    }
  }
  run_gpu_cases(cases);
}

}  // namespace coda::testing
