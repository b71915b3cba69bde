#include "tests/cli/statistic_programs.h"

#include <cmath>

#include "tools/codac/runner.h"

namespace coda::testing {
namespace {

constexpr int64_t kGroup = 32, kDepth = 8;

struct Form {
  const char *rows, *columns, *dimensions, *result,
      *value;  ///< of the product; of z; over what; of the result; z itself
};
Form form_of(Over over) {
  switch (over) {
    case Over::Row:
      return {"M", "N", "N", "[M]", "$"};
    case Over::Column:
      return {"M", "N", "M", "[N]", "$"};
    case Over::Everything:
      return {"M", "N", "(M, N)", "", "$"};
    case Over::Part:
      return {"B, T", "N", "T", "[B, N]", "$"};
    case Over::Group:
      return {"M", "32*G", "last(z)", "[M, G]", "group($, 32)"};
  }
  return {};
}

std::string with(std::string text, char mark, const std::string& meant) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + meant.size()))
    text.replace(at, 1, meant);
  return text;
}

/// The elements of each statistic, as places in the whole, row by row.
std::vector<std::vector<int64_t>> elements_of(Over over, const Bindings& sizes) {
  const auto size = [&](const char* name) { return sizes.contains(name) ? sizes.at(name) : 1; };
  const int64_t m = size("M"), n = over == Over::Group ? kGroup * size("G") : size("N"), b = size("B"), t = size("T");
  std::vector<std::vector<int64_t>> sets;
  const auto add = [&](int64_t begin, int64_t count, int64_t step) {
    sets.emplace_back();
    for (int64_t i = 0; i < count; ++i) sets.back().push_back(begin + i * step);
  };
  switch (over) {
    case Over::Row:
      for (int64_t i = 0; i < m; ++i) add(i * n, n, 1);
      break;
    case Over::Column:
      for (int64_t j = 0; j < n; ++j) add(j, m, n);
      break;
    case Over::Everything:
      add(0, m * n, 1);
      break;
    case Over::Part:
      for (int64_t i = 0; i < b * n; ++i) add(i / n * t * n + i % n, t, n);
      break;
    case Over::Group:
      for (int64_t i = 0; i < m * n / kGroup; ++i) add(i * kGroup, kGroup, 1);
      break;
  }
  return sets;
}

class Run {
 public:
  Run(const StatisticProgram& program, const Compilation& compilation, const Bindings& sizes)
      : program_(program), compilation_(compilation), sizes_(sizes), sets_(elements_of(program.over, sizes)) {}

  /// Enough that each kind of elements is that of a statistic once.
  int rounds() const { return sets_.size() < kKindsOfElements ? kKindsOfElements : 1; }

  std::string check(const std::shared_ptr<const Image>& image, int device, int round, int64_t& compared) {
    if (std::string wrong = fill(round); !wrong.empty()) return wrong;
    auto runner = Runner::create(image, device, arguments_);
    if (!runner) return runner.status().message();
    if (Status status = (*runner)->run(0xff); !status.ok()) return status.message();
    auto results = (*runner)->results();
    if (!results) return results.status().message();
    return compare(results->back(), round, compared);
  }

 private:
  Elements kind(size_t set, int round) const {
    return static_cast<Elements>((set + static_cast<size_t>(round)) % kKindsOfElements);
  }

  std::string fill(int round) {
    const ArgumentOptions made{.inputs = {}};
    auto inputs = InputFiles::read(made);
    if (!inputs) return inputs.status().message();
    auto arguments = inputs->make(*compilation_.program, problem_of(compilation_, sizes_), sizes_, made);
    if (!arguments) return arguments.status().message();
    arguments_ = std::move(*arguments);
    HostTensor& x = arguments_.tensors[program_.of_product ? 2 : 0];
    z_.assign(static_cast<size_t>(count(x)), 0);
    for (size_t s = 0; s < sets_.size(); ++s) {
      const auto values =
          make_elements(kind(s, round), sets_[s].size(), program_.kind.tame, static_cast<uint32_t>(s + 1000 * round));
      for (size_t i = 0; i < values.size(); ++i) z_[static_cast<size_t>(sets_[s][i])] = values[i];
    }
    for (size_t i = 0; i < z_.size(); ++i) set(x, static_cast<int64_t>(i), z_[i]);
    if (program_.of_product) add_product();
    return {};
  }

  /// Of small whole numbers, so that it is exact; nothing in every other row.
  void add_product() {
    HostTensor &a = arguments_.tensors[0], &b = arguments_.tensors[1];
    const int64_t rows = count(a) / kDepth, columns = count(b) / kDepth;
    for (int64_t i = 0; i < count(a); ++i)
      set(a, i, program_.kind.tame || i / kDepth % 2 ? 0 : static_cast<double>(i * i % 3 - 1));
    for (int64_t i = 0; i < count(b); ++i) set(b, i, static_cast<double>(i * i % 5 - 2));
    for (int64_t i = 0; i < rows * columns; ++i) {
      float product = 0;
      for (int64_t k = 0; k < kDepth; ++k)
        product += static_cast<float>(get(a, i / columns * kDepth + k) * get(b, i % columns * kDepth + k));
      z_[static_cast<size_t>(i)] += product;
    }
  }

  std::string compare(const HostTensor& result, int round, int64_t& compared) const {
    for (size_t s = 0; s < sets_.size(); ++s) {
      std::vector<float> x;
      for (const int64_t at : sets_[s]) x.push_back(z_[static_cast<size_t>(at)]);
      std::vector<long double> want, allowed;
      program_.kind.value(x, want, allowed);
      for (size_t i = 0; i < want.size(); ++i, ++compared) {
        const int64_t at = program_.kind.fed_back ? sets_[s][i] : static_cast<int64_t>(s);
        const double got = get(result, at);
        const bool same = std::isnan(want[i]) ? std::isnan(got) : got == static_cast<float>(want[i]);
        if (same || std::fabs(got - want[i]) <= allowed[i]) continue;
        std::string where = "element " + std::to_string(at) + " of a set of kind " +
                            std::to_string(static_cast<int>(kind(s, round))) + " is " + std::to_string(got) + ", not " +
                            std::to_string(want[i]) + " give or take " + std::to_string(allowed[i]) + ", at";
        for (const auto& [name, value] : sizes_) where += " " + name + "=" + std::to_string(value);
        return where;
      }
    }
    return {};
  }

  const StatisticProgram& program_;
  const Compilation& compilation_;
  const Bindings& sizes_;
  std::vector<std::vector<int64_t>> sets_;
  Arguments arguments_;
  std::vector<float> z_;
};

}  // namespace

std::string StatisticProgram::text() const {
  const Form form = form_of(over);
  const std::string whole = std::string("[") + form.rows + ", " + form.columns + "]";
  const std::string operands =
      of_product ? std::string("a: bf16[") + form.rows + ", K], b: bf16[" + form.columns + ", K], " : "";
  const std::string result = with(kind.expression, '@', form.dimensions);
  const std::string before = kind.before.empty() ? "" : with(kind.before, '@', form.dimensions) + "\n  ";
  return kind.functions + "kernel f(" + operands + "x: f32" + whole +
         ") -> (r: " + std::string(info(kind.result).name) + (kind.fed_back ? whole : form.result) + ")" +
         (bounded() ? " where N = 64" : "") +
         " {\n  let z = " + with(form.value, '$', of_product ? "a @ b.T + x" : "x") + "\n  " + before +
         "r = " + (kind.fed_back && over == Over::Group ? "flatten(" + result + ")" : result) + "\n}\n";
}

std::vector<Bindings> StatisticProgram::sizes() const {
  std::vector<Bindings> all;
  switch (over) {
    case Over::Part:
      all = {{{"B", 3}, {"T", 37}, {"N", 75}}, {{"B", 2}, {"T", 1}, {"N", 33}},  {{"B", 3}, {"T", 0}, {"N", 5}},
             {{"B", 0}, {"T", 5}, {"N", 5}},   {{"B", 1}, {"T", 300}, {"N", 1}}, {{"B", 2}, {"T", 64}, {"N", 64}}};
      break;
    case Over::Group:
      all = {{{"M", 37}, {"G", 3}},
             {{"M", 1}, {"G", 1}},
             {{"M", 130}, {"G", 2}},
             {{"M", 0}, {"G", 2}},
             {{"M", 3}, {"G", 0}}};
      break;
    default:
      all = {{{"M", 37}, {"N", 75}}, {{"M", 1}, {"N", 131}}, {{"M", 130}, {"N", 1}},  {{"M", 0}, {"N", 5}},
             {{"M", 5}, {"N", 0}},   {{"M", 64}, {"N", 64}}, {{"M", 3}, {"N", 1032}}, {{"M", 1032}, {"N", 3}}};
  }
  for (Bindings& sizes : all) {
    if (bounded()) sizes["N"] = 64;
    if (of_product) sizes["K"] = kDepth;
  }
  return all;
}

std::vector<StatisticProgram> statistic_programs() {
  std::vector<StatisticProgram> programs;
  for (const StatisticKind& kind : statistic_kinds()) {
    for (const Over over : kOvers) {
      if (kind.one_dimension && over == Over::Everything) continue;
      if (kind.fed_back && over != Over::Row && over != Over::Group) continue;
      for (const bool of_product : {false, true}) programs.push_back({kind, over, of_product});
    }
  }
  return programs;
}

StatisticRuns run_statistic(const StatisticProgram& program, const std::string& target) {
  StatisticRuns runs;
  const CompileRequest request{.path = "statistic.coda", .text = program.text(), .target = target};
  Compilation compilation = compile(request);
  if (!compilation.ok()) {
    runs.wrong = compilation.diagnostics->render_text();
    return runs;
  }
  runs.compiled = true;
  const auto image = std::make_shared<Image>(*compilation.take_image());
  for (const Bindings& sizes : program.sizes()) {
    Run run(program, compilation, sizes);
    for (int round = 0; round < run.rounds() && runs.wrong.empty(); ++round)
      runs.wrong = run.check(image, target == "host" ? kHostDevice : 0, round, runs.values);
  }
  return runs;
}

}  // namespace coda::testing
