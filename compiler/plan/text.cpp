// A plan as text: what each kernel reads, multiplies, reduces and writes, what was weighed, and by which laws.
#include <cstdio>

#include "compiler/epilogue/describe.h"
#include "compiler/plan/report.h"
#include "dsl/source.h"

namespace coda {

namespace {

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string microseconds(double seconds) { return seconds < 0 ? "no plan" : number("%.1f us", seconds * 1e6); }

class PlanText {
 public:
  PlanText(const Plan& plan, const PlanContext* context) : plan_(plan), context_(context) {}

  std::string run() {
    text_ = "plan " + plan_.name + ": " + std::to_string(plan_.kernels.size()) + " kernels, " +
            number("%.0f MB", plan_.bytes / 1e6) + ", " + number("%.2f TFLOP", plan_.flops / 1e12) + ", about " +
            number("%.0f us", plan_.seconds * 1e6) + " (" + std::to_string(plan_.replans) + " plans weighed" +
            (plan_.exhausted ? ", then the search stopped" : "") + ")\n";
    for (size_t k = 0; k < plan_.kernels.size(); ++k) {
      if (k > 0 && plan_.kernels[k].late && !plan_.kernels[k - 1].late) text_ += "backward\n";
      kernel(k);
    }
    kept();
    for (const auto& decision : plan_.decisions) {
      text_ += (decision.taken ? "taken: " : "refused: ") + decision.what + at(decision.span) + " (" +
               microseconds(decision.seconds_if_taken) + " if taken, " + microseconds(decision.seconds_if_not) +
               " if not)\n";
    }
    for (const auto& law : plan_.laws) {
      text_ += "law " + law.law + at(law.span) + ": " + law.detail + "\n";
    }
    for (const auto& rounding : plan_.roundings) text_ += "rounding " + rounding + "\n";
    return std::move(text_);
  }

 private:
  void kernel(size_t k) {
    const PlanKernel& kernel = plan_.kernels[k];
    text_ += "K" + std::to_string(k) + " " + kind_name(kernel.kind) + ", " + number("%.0f MB", kernel.bytes / 1e6) +
             ", " + number("%.0f us", kernel.seconds * 1e6) + "\n";
    for (const Param& param : kernel.program.params) {
      if (param.role != Param::Role::Out) text_ += "  reads " + tensor_text(param.name, param.dims) + "\n";
    }
    for (const auto& output : kernel.program.outputs) {
      const Param& param = kernel.program.params[static_cast<size_t>(output.param)];
      text_ += "  writes " + tensor_text(param.name, param.dims) + " = " +
               describe(kernel.program, kernel.program.graph, output.value) + "\n";
    }
    if (const std::string why = own_pass_text(kernel); !why.empty()) text_ += "  own pass: " + why + "\n";
  }

  /// What the forward leaves for the backward.
  void kept() {
    const auto tensors = kept_between_directions(plan_);
    double bytes = 0;
    for (const KeptTensor& one : tensors) {
      const PlanTensor& tensor = plan_.tensors[static_cast<size_t>(one.tensor)];
      text_ += "kept " + tensor_text(tensor.name, tensor.dims);
      if (context_ != nullptr) {
        const double own = tensor_bytes(tensor, sizes_of(plan_, *context_));
        bytes += own;
        text_ += ", " + number("%.2f MB", own / 1e6);
      }
      text_ += ", for ";
      for (size_t i = 0; i < one.readers.size(); ++i) {
        text_ += (i == 0 ? "K" : i + 1 == one.readers.size() ? " and K" : ", K") + std::to_string(one.readers[i]);
      }
      text_ += ": " + one.why + "\n";
    }
    if (context_ != nullptr && !tensors.empty()) {
      text_ += "kept between forward and backward: " + number("%.0f MB", bytes / 1e6) + "\n";
    }
  }

  std::string at(Span span) const {
    const std::string place = context_ == nullptr ? "" : place_text(context_->sources, span);
    return place.empty() ? "" : " at " + place;
  }

  const Plan& plan_;
  const PlanContext* context_;
  std::string text_;
};

}  // namespace

std::string to_text(const Plan& plan) { return PlanText(plan, nullptr).run(); }
std::string to_text(const Plan& plan, const PlanContext& context) { return PlanText(plan, &context).run(); }

}  // namespace coda
