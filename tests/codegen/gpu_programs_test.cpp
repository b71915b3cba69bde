// Hidden: writes programs that a GPU's results are to be compared of, random ones and one of each row form, into the
// folder $CODA_WRITE with a list for tools/gpu_random.sh. $CODA_RANDOM_KERNELS=FIRST:COUNT chooses the random ones.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "dsl/diagnostics.h"
#include "random_kernel.h"
#include "row_forms.h"
#include "sm90_programs.h"

namespace coda::test {
namespace {

/// Beside the one that is best by the estimate, as most of these programs are small.
constexpr const char* kSchedules[] = {"64x64",           "16x64",  "128x128",          "64x256", "32x128",
                                      "pingpong-64x256", "128x64", "128x256",          "16x128", "pingpong-128x192",
                                      "64x32",           "32x64",  "pingpong-128x128", "64x128", "128x256x1"};

std::string text_of(const Bindings& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

/// Sizes whose rows tensor maps can address.
Bindings aligned(Bindings sizes) {
  for (auto& [name, value] : sizes) {
    if (name != "B" && name != "C" && name != "H") value = (value + 7) / 8 * 8;
  }
  return sizes;
}

class List {
 public:
  explicit List(const std::string& folder) : folder_(folder), list_(folder + "/programs.txt") {}

  void add(const std::string& name, const std::string& text, const Bindings& bound, const std::string& schedule,
           const std::vector<Bindings>& sizes, const std::vector<std::string>& inputs) {
    std::ofstream(folder_ + "/" + name + ".coda") << text;
    list_ << name << "|" << text_of(bound) << "|" << schedule << "|";
    for (size_t i = 0; i < sizes.size(); ++i) list_ << (i ? ";" : "") << text_of(sizes[i]);
    list_ << "|";
    for (size_t i = 0; i < inputs.size(); ++i) list_ << (i ? " " : "") << inputs[i];
    list_ << "\n";
  }

 private:
  std::string folder_;
  std::ofstream list_;
};

}  // namespace

TEST_CASE("write programs for a GPU", "[.write]") {
  const char* folder = std::getenv("CODA_WRITE");
  const char* seeds = std::getenv("CODA_RANDOM_KERNELS");
  REQUIRE(folder);
  unsigned first = 1, count = 500;
  if (seeds) REQUIRE(std::sscanf(seeds, "%u:%u", &first, &count) == 2);
  List list(folder);
  size_t turn = 0;
  for (const RowForm& form : row_forms()) {
    for (const char* schedule : {"64x64", "16x64", kSchedules[turn++ % std::size(kSchedules)]}) {
      list.add(form.name + "_" + schedule, form.text, {}, schedule, form.sizes, {});
    }
  }
  unsigned written = 0;
  for (unsigned seed = first; written < count; ++seed) {
    const RandomKernel kernel = random_kernel(seed);
    std::string report;
    const auto epilogue = lower_text({"random", kernel.to_text(), kernel.bound}, report);
    INFO(report);
    REQUIRE(epilogue);
    if (epilogue->operand_dtype(epilogue->a) == DType::F32) continue;  // a product of f32 is the host's
    // Whole numbers, whose products are exact: what compares them then has one answer.
    std::vector<std::string> inputs;
    for (const Param& param : epilogue->program.params) {
      if (param.role == Param::Role::Out || info(param.dtype).num_class == NumClass::Bool) continue;
      const bool real = info(param.dtype).num_class == NumClass::Real;
      if (!real) inputs.push_back(param.name + (param.dims.empty() ? "=" + std::to_string(seed) : "=integers(0,4)"));
      if (real) inputs.push_back(param.name + (param.dims.empty() ? "=0.5" : "=integers(-2,3)"));
    }
    list.add("random_" + std::to_string(seed), kernel.to_text(), kernel.bound, kSchedules[seed % std::size(kSchedules)],
             {kernel.sizes, aligned(kernel.sizes)}, inputs);
    ++written;
  }
}

}  // namespace coda::test
