// The table of schedules, its limits, and the choice by estimated cycles.
#include "compiler/codegen/sm90_schedule.h"

#include <array>
#include <catch2/catch.hpp>
#include <regex>
#include <set>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "sm90_programs.h"

namespace coda {
namespace {

int64_t tiles(const Sm90Schedule& s, int64_t rows, int64_t columns) {
  const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  return ceil_div(rows, s.tile_m) * ceil_div(columns, s.tile_n);
}

EpilogueProgram lowered(std::string_view name) {
  for (const test::Sm90Program& program : test::sm90_programs()) {
    std::string report;
    if (program.name == name) return *test::lower_text(program, report);
  }
  return {};
}

/// The best schedule of a plain product.
Sm90Schedule best(const Sm90Problem& problem) { return rank_sm90_schedules(problem, lowered("gemm_kk")).front(); }

std::string ptx_of(const std::string& text) {
  std::string report;
  const auto epilogue = test::lower_text({"k", text, {}}, report);
  INFO(report);
  REQUIRE(epilogue);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const auto result = compile_sm90(*epilogue, {}, diagnostics);
  REQUIRE(result);
  return result->ptx;
}

TEST_CASE("every schedule of the table is legal, and found by its own name") {
  std::set<std::string_view> names;
  for (const Sm90Schedule& s : sm90_schedules()) {
    INFO(s.name);
    CHECK(names.insert(s.name).second);
    CHECK(find_sm90_schedule(s.name) == &s);
    CHECK_FALSE(check_sm90_schedule(s, 0));
    // What setmaxnreg leaves must fit the register file.
    if (s.consumer_registers) {
      CHECK(kWarpgroup * (s.producer_registers + s.consumers * s.consumer_registers) <= 65536);
    }
  }
  CHECK(find_sm90_schedule("128x255") == nullptr);
}

TEST_CASE("a schedule that the hardware can't run is refused with a way out") {
  const auto refused = [](void (*change)(Sm90Schedule&)) {
    Sm90Schedule s = *find_sm90_schedule("pingpong-128x192");
    change(s);
    const auto illegal = check_sm90_schedule(s, 0);
    return illegal && !illegal->what.empty() && !illegal->way_out.empty();
  };
  CHECK(refused([](Sm90Schedule& s) { s.consumers = 1; }));
  CHECK(refused([](Sm90Schedule& s) { s.tile_n = 256; }));
  CHECK(refused([](Sm90Schedule& s) { s.tile_m = 96; }));
  CHECK(refused([](Sm90Schedule& s) { s.stages = 6; }));
  CHECK(refused([](Sm90Schedule& s) { s.cluster = 4; }));
  CHECK_FALSE(refused([](Sm90Schedule& s) { s.tile_m = 192, s.tile_n = 128; }));
}

TEST_CASE("large products take tiles whose epilogue is hidden, unless their last round is nearly empty") {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{8192, 14336, 4096},
                                {8192, 28672, 4096},
                                {8192, 6144, 4096},
                                {8192, 8192, 8192},
                                {16384, 4096, 4096}}) {
    const Sm90Schedule s = best({m, n, k});
    INFO(m << "x" << n << "x" << k << ": " << s.name);
    CHECK(s.alternate);
    const double ideal = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 2048 / 132;
    CHECK(estimate_sm90_cycles(s, {m, n, k}) < 1.07 * ideal);
  }
  // 22 columns of 192 in 4096, and 11 rounds of which the last is two thirds full.
  CHECK(best({8192, 4096, 14336}).tile_n != 192);
  CHECK(best({4096, 4096, 4096}).tile_n != 192);
}

TEST_CASE("products of few rows take tiles of few rows, and enough of them to read the weights") {
  for (const int64_t m : {1, 16, 64}) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}}) {
      const Sm90Schedule s = best({m, n, k});
      INFO(m << "x" << n << "x" << k << ": " << s.name);
      CHECK(s.tile_m <= 64);
      CHECK(s.tile_m >= m);
      CHECK(tiles(s, m, n) >= 64);
    }
  }
}

TEST_CASE("an epilogue's weight counts its operations, and a heavy one asks for tiles that hide it") {
  const auto weight = [](const char* name) { return sm90_epilogue_cycles(lowered(name)); };
  CHECK(weight("gemm_kk") > 0);
  CHECK(weight("bias_gelu") > weight("gemm_kk"));
  CHECK(weight("residual") > weight("gemm_kk"));
  CHECK(weight("linear_ce") > weight("gemm_kk"));
  CHECK(best({8192, 4096, 4096, weight("residual")}).alternate);
}

TEST_CASE("a program is offered the schedules that hold its column groups, narrowed to them") {
  const EpilogueProgram heads = lowered("qkv_rope");  // a head of 128 columns in one tile
  for (const Sm90Schedule& s : rank_sm90_schedules({}, heads)) CHECK(s.tile_n % 128 == 0);
  // A tile of 192 is one of 128 here, and no longer the best.
  CHECK(rank_sm90_schedules({8192, 6144, 4096}, heads).front().name != "pingpong-128x192");
  const EpilogueProgram n_major = lowered("gemm_kn");
  for (const Sm90Schedule& s : rank_sm90_schedules({16, 6144, 4096}, n_major)) CHECK(s.tile_n % 64 == 0);
}

TEST_CASE("a schedule's estimate grows with each extent") {
  for (const Sm90Schedule& s : sm90_schedules()) {
    INFO(s.name);
    double before = 0;
    for (int64_t size = 256; size <= 16384; size *= 2) {
      const double cycles = estimate_sm90_cycles(s, {size, size, size});
      CHECK(cycles >= before);
      CHECK(estimate_sm90_cycles(s, {size, size, size, 60}) >= cycles);
      before = cycles;
    }
    CHECK(estimate_sm90_cycles(s, {}) > 0);
  }
}

TEST_CASE("operands that the product can't take are refused, not read as others") {
  std::string report;
  const auto epilogue = test::lower_text(
      {"k", "kernel k(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) {\n  y = x @ w.T\n}\n", {}}, report);
  REQUIRE(epilogue);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  CHECK_FALSE(compile_sm90(*epilogue, {}, diagnostics));
  REQUIRE(diagnostics.has_errors());
  CHECK(diagnostics.all()[0].message.find("`x` and `w` are f32") != std::string::npos);
}

struct Multiplication {
  int columns, registers, depth;
  int64_t a, b;  ///< descriptor offsets, in 16 bytes
  bool clears;
};

/// Every wgmma of a kernel's code, in order.
std::vector<Multiplication> multiplications(const std::string& ptx) {
  static const std::regex pattern(
      "add\\.s64 a, %rd[0-9]+, ([0-9]+); add\\.s64 b, %rd[0-9]+, ([0-9]+);\\s+wgmma\\.mma_async\\.sync\\.aligned\\.m64n"
      "([0-9]+)k([0-9]+)\\.f32\\.e[45]m[32]\\.e[45]m[32] \\{([^}]*)\\}, a, b, (pz?), 1, 1;");
  std::vector<Multiplication> found;
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), pattern), end; at != end; ++at) {
    const std::string registers = (*at)[5];
    found.push_back({std::stoi((*at)[3]), static_cast<int>(std::count(registers.begin(), registers.end(), '%')),
                     std::stoi((*at)[4]), std::stoll((*at)[1]), std::stoll((*at)[2]), (*at)[6] == "pz"});
  }
  return found;
}

TEST_CASE("sums of 8-bit products are promoted piece by piece, and the pieces cover the tile") {
  const EpilogueProgram fp8 = lowered("fp8");
  for (const char* name : {"128x256", "128x128", "64x128", "16x64"}) {
    INFO(name);
    SourceMap sources;
    Diagnostics diagnostics(sources);
    Sm90Options options;
    options.schedule = name;
    const auto result = compile_sm90(fp8, options, diagnostics);
    REQUIRE(result);
    const Sm90Schedule& s = *find_sm90_schedule(name);
    const std::vector<Multiplication> all = multiplications(result->ptx);
    // Each 64 rows and 128 columns: four steps of 32 elements along the rows' 128 bytes, the first from nothing.
    const int pieces = s.row_blocks() * ((s.tile_n + 127) / 128);
    REQUIRE(all.size() == static_cast<size_t>(4 * pieces));
    std::set<std::pair<int64_t, int64_t>> places;
    for (size_t i = 0; i < all.size(); ++i) {
      const int64_t step = static_cast<int64_t>(i % 4) * 2;
      CHECK(all[i].clears == (i % 4 == 0));
      CHECK(all[i].depth == 32);
      CHECK(all[i].registers == all[i].columns / 2);
      const int64_t row = (all[i].a - step) / 8, column = (all[i].b - step) / 8;  // a row is 128 bytes
      CHECK((row % 64 == 0 && column % 8 == 0 && column + all[i].columns <= s.tile_n));
      if (i % 4 == 0) places.insert({row, column});
    }
    CHECK(places.size() == static_cast<size_t>(pieces));
    int64_t area = 0;
    for (size_t i = 0; i < all.size(); i += 4) area += 64 * all[i].columns;
    CHECK(area == int64_t{64} * s.row_blocks() * s.tile_n);
  }
}

TEST_CASE("consumers that take turns do not promote their sums") {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Sm90Options options;
  options.schedule = "pingpong-64x256";
  CHECK_FALSE(compile_sm90(lowered("fp8"), options, diagnostics));
}

TEST_CASE("without promotion the tensor cores sum all of the depth") {
  const std::string text =
      "kernel k(x: e4m3[M, K], w: e5m2[N, K]) -> (y: bf16[M, N])\nschedule { promote = 0 } {\n  y = x @ w.T\n}\n";
  const std::string ptx = ptx_of(text);
  CHECK(ptx.find(".e4m3.e5m2 ") != std::string::npos);
  const std::vector<Multiplication> all = multiplications(ptx);
  // The first stage's first step of each 64 rows, outside of the loop.
  const auto clears = std::count_if(all.begin(), all.end(), [](const Multiplication& m) { return m.clears; });
  CHECK(all.size() == 8 * static_cast<size_t>(clears));
}

TEST_CASE("the tile of a promoted product leaves registers for the sums that are not promoted yet") {
  const EpilogueProgram fp8 = lowered("fp8");
  const auto names = sm90_schedules_for(fp8, {});
  CHECK(std::find(names.begin(), names.end(), "pingpong-128x192") == names.end());
  CHECK(names.front() == "128x256");
  Sm90Schedule s = *find_sm90_schedule("pingpong-128x192");
  s.promote = 1;
  CHECK(check_sm90_schedule(s, 0));
  s.promote = 2;
  CHECK(check_sm90_schedule(s, 0));
  // Half the bytes, twice the rate.
  CHECK(estimate_sm90_cycles(*find_sm90_schedule("128x256"), {8192, 8192, 8192, 16, 132, 1}) <
        0.6 * estimate_sm90_cycles(*find_sm90_schedule("128x256"), {8192, 8192, 8192}));
}

TEST_CASE("a split depth is for tiles whose consumers share them, and is worth it where tiles are few") {
  const auto named = [](const char* name, int split) {
    Sm90Schedule s = *find_sm90_schedule(name);
    s.split = split;
    return s;
  };
  CHECK_FALSE(check_sm90_schedule(named("16x64", 4), 16));
  CHECK_FALSE(check_sm90_schedule(named("128x256", 2), 32));
  CHECK(check_sm90_schedule(named("16x64", 65), 16));
  CHECK(check_sm90_schedule(named("16x64", -1), 16));
  CHECK(check_sm90_schedule(named("pingpong-128x192", 2), 32));
  CHECK(best_sm90_split(named("16x64", 1), {16, 2048, 16384}) > 1);
  CHECK(best_sm90_split(named("128x256", 1), {512, 1024, 16384}) > 1);
  CHECK(best_sm90_split(named("128x256", 1), {8192, 8192, 8192}) == 1);
  CHECK(best_sm90_split(named("pingpong-128x192", 1), {512, 1024, 16384}) == 1);
  for (const std::string& name : sm90_schedules_for(lowered("split"), {})) {
    CHECK_FALSE(find_sm90_schedule(name)->alternate);
  }
}

TEST_CASE("a last round of tiles that is not full may be shared") {
  const auto named = [](const char* name, int tail) {
    Sm90Schedule s = *find_sm90_schedule(name);
    s.tail = tail;
    return s;
  };
  CHECK_FALSE(check_sm90_schedule(named("128x256", 1), 32));
  CHECK(check_sm90_schedule(named("128x256", 2), 32));
  CHECK(check_sm90_schedule(named("pingpong-128x192", 1), 32));
  Sm90Schedule both = named("128x256", 1);
  both.split = 2;
  CHECK(check_sm90_schedule(both, 32));
  // 1024 tiles are 7.76 rounds of 132; 1056 are 8, and 100 none.
  const auto gain = [&](const Sm90Problem& problem) {
    return estimate_sm90_cycles(named("128x256x1", 0), problem) / estimate_sm90_cycles(named("128x256x1", 1), problem);
  };
  CHECK(gain({8192, 4096, 14336}) > 1.015);
  CHECK(gain({8448, 4096, 14336}) == 1);
  CHECK(gain({1280, 2560, 14336}) == 1);
  const auto offers = sm90_candidates(lowered("residual"), {.rows = 8192, .columns = 4096, .depth = 14336});
  CHECK(std::any_of(offers.begin(), offers.end(), [](const Sm90Candidate& offer) { return offer.tail == 1; }));
  for (const std::string& name : sm90_schedules_for(lowered("tail"), {})) {
    CHECK_FALSE(find_sm90_schedule(name)->alternate);
  }
}

TEST_CASE("the workspace of a split depth holds every part of every tile") {
  std::string report;
  const auto epilogue =
      test::lower_text({"k",
                        "kernel k(x: bf16[M, K], w: bf16[A + 2*F, K]) -> (y: bf16[M, A], z: bf16[M, F])\n"
                        "schedule { split = 3 } {\n  let (a, b, c) = split(x @ w.T, A, F, F)\n"
                        "  y = a\n  z = b * c\n}\n",
                        {}},
                       report);
  INFO(report);
  REQUIRE(epilogue);
  for (const char* name : {"16x64", "32x128", "64x256", "128x128", "128x256"}) {
    SourceMap sources;
    Diagnostics diagnostics(sources);
    Sm90Options options;
    options.schedule = name;
    const auto result = compile_sm90(*epilogue, options, diagnostics);
    INFO(name);
    REQUIRE(result);
    const KernelImage& image = result->image;
    const Sm90Schedule& s = *find_sm90_schedule(name);
    CHECK(image.split == 3);
    REQUIRE(image.workspaces.size() == 2);
    CHECK_FALSE(image.workspaces[0].zeroed);
    CHECK(image.workspaces[1].zeroed);
    for (const Bindings& sizes : {Bindings{{"M", 1}, {"A", 1}, {"F", 1}},
                                  {{"M", 300}, {"A", 257}, {"F", 65}},
                                  {{"M", 129}, {"A", 0}, {"F", 512}},
                                  {{"M", 64}, {"A", 1000}, {"F", 0}}}) {
      const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
      int64_t columns = 0;
      for (size_t r = 0; r < image.region_columns.size(); ++r) {
        columns += ceil_div(*image.region_columns[r].evaluate(sizes), image.tile_columns / image.region_segments[r]);
      }
      const int64_t tiles = columns * ceil_div(*image.rows.evaluate(sizes), s.tile_m * s.cluster) * s.cluster;
      const auto bytes = [&](const WorkspaceSpec& spec) {
        return *spec.bytes.evaluate(sizes) + spec.tile_bytes * ceil_div(*spec.rows.evaluate(sizes), spec.tile_rows) *
                                                 ceil_div(*spec.columns.evaluate(sizes), spec.tile_columns);
      };
      // Of each part: whole instructions of 64 rows, in f32.
      const int64_t part = int64_t{4} * std::max(s.tile_m, 64) * image.tile_columns;
      CHECK(bytes(image.workspaces[0]) >= 3 * tiles * part);
      CHECK(bytes(image.workspaces[1]) >= 4 * tiles * s.sharers());
    }
  }
}

TEST_CASE("approximate functions are for kernels that store 16 bits or fewer") {
  const std::string head = "kernel k(x: bf16[M, K], w: bf16[N, K]) -> (";
  const std::string narrow = ptx_of(head + "y: bf16[M, N]) {\n  y = tanh(x @ w.T)\n}\n");
  CHECK(narrow.find("tanh.approx") != std::string::npos);
  const std::string sigmoid = ptx_of(head + "y: f16[M, N]) {\n  y = sigmoid(x @ w.T)\n}\n");
  CHECK(sigmoid.find("ex2.approx.ftz") != std::string::npos);
  const std::string wide = ptx_of(head + "y: f32[M, N]) {\n  y = tanh(x @ w.T)\n}\n");
  CHECK(wide.find("tanh.approx") == std::string::npos);
  CHECK(wide.find("ex2.approx.f32") != std::string::npos);
  const std::string mixed = ptx_of(head +
                                   "y: bf16[M, N], s: f32[M]) {\n  let z = tanh(x @ w.T)\n  y = z\n"
                                   "  s = sum(z, over = N)\n}\n");
  CHECK(mixed.find("tanh.approx") == std::string::npos);
}

}  // namespace
}  // namespace coda
