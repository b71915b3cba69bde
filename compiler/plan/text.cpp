// A plan as text: what each kernel reads, computes and writes, what was weighed, and by which laws.
#include <cstdio>

#include "compiler/plan/report.h"
#include "compiler/rewrite/law.h"
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
  PlanText(const Plan& plan, const PlanContext* context) : plan_(plan), context_(context) {
    if (context != nullptr) sizes_ = sizes_of(plan, *context);
  }

  std::string run() {
    text_ = "plan " + plan_.name + ": " + std::to_string(plan_.kernels.size()) + " kernels, " +
            bytes_text(plan_.bytes) + ", " + number("%.2f TFLOP", plan_.flops / 1e12) + ", about " +
            number("%.0f us", plan_.seconds * 1e6) + " (" + std::to_string(plan_.replans) + " plans weighed" +
            (plan_.exhausted ? ", then the search stopped" : "") + ")\n";
    if (context_ != nullptr) text_ += "sizes " + sizes_text(plan_, *context_) + "\n";
    for (const std::string& fact : requirements(plan_)) text_ += "requires " + fact + ", for its laws\n";
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
    text_ += "K" + std::to_string(k) + " " + kind_name(kernel.kind) + ", " + bytes_text(kernel.bytes) +
             (kernel.flops > 0 ? number(", %.2f TFLOP", kernel.flops / 1e12) : "") + ", " +
             number("%.0f us", kernel.seconds * 1e6);
    if (context_ != nullptr) {
      text_ += std::string(", ") + roofline(kernel.bytes, kernel.flops, context_->options.machine).bound() + " bound";
    }
    text_ += "\n";
    for (size_t p = 0; p < kernel.program.params.size(); ++p) tensor("reads", k, p);
    for (const auto& output : kernel.program.outputs) tensor("writes", k, static_cast<size_t>(output.param));
    for (const std::string& line : statements_text(kernel)) text_ += "    " + line + "\n";
    if (const std::string why = own_pass_text(kernel); !why.empty()) text_ += "  own pass: " + why + "\n";
  }

  /// "reads h: bf16[T, D], 67.1 MB, of K0"
  void tensor(const std::string& verb, size_t k, size_t p) {
    const PlanKernel& kernel = plan_.kernels[k];
    const Param& param = kernel.program.params[p];
    const int index = kernel.arguments[p];
    const PlanTensor& tensor = plan_.tensors[static_cast<size_t>(index)];
    if (verb == "reads" && param.role == Param::Role::Out) return;
    text_ += "  " + verb + " " + tensor_text(param.name, param.dtype, param.dims);
    if (context_ != nullptr) text_ += ", " + bytes_text(tensor_bytes(tensor, sizes_));
    const int maker = maker_of(plan_, index);
    if (verb == "reads" && maker >= 0 && maker < static_cast<int>(k)) text_ += ", of K" + std::to_string(maker);
    text_ += "\n";
  }

  /// What the forward leaves for the backward.
  void kept() {
    const auto tensors = kept_between_directions(plan_);
    double bytes = 0;
    for (const KeptTensor& one : tensors) {
      const PlanTensor& tensor = plan_.tensors[static_cast<size_t>(one.tensor)];
      text_ += "kept " + tensor_text(tensor.name, tensor.dtype, tensor.dims);
      if (context_ != nullptr) {
        const double own = tensor_bytes(tensor, sizes_);
        bytes += own;
        text_ += ", " + bytes_text(own);
      }
      text_ += ", for " + kernels_text(one.readers) + ": " + one.why + "\n";
    }
    if (context_ != nullptr && !tensors.empty()) {
      text_ += "kept between forward and backward: " + bytes_text(bytes) + "\n";
    }
  }

  std::string at(Span span) const {
    const std::string place = context_ == nullptr ? "" : place_text(context_->sources, span);
    return place.empty() ? "" : " at " + place;
  }

  const Plan& plan_;
  const PlanContext* context_;
  Bindings sizes_;
  std::string text_;
};

}  // namespace

std::string kernels_text(const std::vector<int>& kernels) {
  std::string text;
  for (size_t i = 0; i < kernels.size(); ++i) {
    text += (i == 0 ? "K" : i + 1 == kernels.size() ? " and K" : ", K") + std::to_string(kernels[i]);
  }
  return text;
}

std::string to_text(const Plan& plan) { return PlanText(plan, nullptr).run(); }
std::string to_text(const Plan& plan, const PlanContext& context) { return PlanText(plan, &context).run(); }

}  // namespace coda
