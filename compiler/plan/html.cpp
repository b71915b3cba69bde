// A plan as one HTML page without scripts or other files: the picture, the totals, then laws, choices and roundings.
#include <cstdio>

#include "compiler/plan/picture.h"
#include "compiler/plan/picture_text.h"
#include "compiler/rewrite/law.h"
#include "dsl/source.h"

namespace coda {

namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.45 system-ui, sans-serif; color: #1c2430; background: #fff; max-width: 1200px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .35em .8em .35em 0; border-bottom: 1px solid #dde3ea }
code, .code, .small { font-family: ui-monospace, "DejaVu Sans Mono", monospace } code { font-size: .88em } td.num { white-space: nowrap }
.picture { overflow-x: auto } svg text { fill: #1c2430; white-space: pre } .title { font: bold 13px system-ui, sans-serif } .code { font-size: 11px; font-family: ui-monospace, "DejaVu Sans Mono", monospace }
.why { font: italic 11px system-ui, sans-serif } .small { font-size: 9.5px } .gemm { fill: #dcebfb; stroke: #4d7fb8 } .pass { fill: #fdebd3; stroke: #c98a2b }
.edge { stroke: #8895a5 } .flow { stroke: #4d7fb8; stroke-width: 1.5 } .dot { fill: #4d7fb8 } .quiet { color: #5d6b7c }
)";

std::string format(const char* text, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, text, value);
  return buffer;
}

std::string microseconds(double seconds) { return seconds < 0 ? "no plan" : format("%.1f µs", seconds * 1e6); }

std::string code(const std::string& text) { return "<code>" + escape_html(text) + "</code>"; }

std::string where(const PlanContext& context, Span span) {
  if (!span.valid()) return "";
  return escape_html(place_text(context.sources, span)) + "<br>" + code(line_text(context.sources, span));
}

class Page {
 public:
  Page(const Plan& plan, const PlanContext& context) : plan_(plan), context_(context) {}

  std::string run() {
    html_ = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>plan of " +
            escape_html(plan_.name) + "</title><style>" + kStyle + "</style></head><body>\n";
    summary();
    html_ += "<div class=\"picture\">\n" + plan_svg(plan_, context_) + "</div>\n";
    own_passes();
    kept();
    laws();
    decisions();
    roundings();
    html_ += "</body></html>\n";
    return std::move(html_);
  }

 private:
  void summary() {
    const Roofline limits = roofline(plan_.bytes, plan_.flops, context_.options.machine);
    html_ += "<h1>" + escape_html(plan_.name) + "</h1>\n<p>" + std::to_string(plan_.kernels.size()) + " kernels, " +
             bytes_text(plan_.bytes) + " moved, " + format("%.2f", plan_.flops / 1e12) + " TFLOP, at most " +
             bytes_text(kept_bytes(plan_, sizes_of(plan_, context_))) + " kept between kernels. Predicted " +
             microseconds(plan_.seconds) + "; the roofline is " + microseconds(limits.compute_seconds) +
             " of multiplying and " + microseconds(limits.memory_seconds) + " of memory (" + limits.bound() +
             " bound).</p>\n<p class=\"quiet\">Planned for " + escape_html(sizes_text(plan_, context_)) + "; " +
             std::to_string(plan_.replans) + " plans weighed" + (plan_.exhausted ? ", then the search stopped" : "") +
             ". The sizes decide choices, never meaning.";
    for (const std::string& fact : requirements(plan_)) html_ += " Its laws require " + escape_html(fact) + ".";
    html_ += "</p>\n";
  }

  void own_passes() {
    std::string rows;
    for (size_t k = 0; k < plan_.kernels.size(); ++k) {
      const std::string why = own_pass_text(plan_.kernels[k]);
      if (!why.empty()) rows += "<tr><td>K" + std::to_string(k) + "</td><td>" + escape_html(why) + "</td></tr>\n";
    }
    html_ += "<h2>Not in the epilogue of a GEMM</h2>\n";
    html_ += rows.empty() ? "<p>Nothing: every operation is in the epilogue of a GEMM.</p>\n"
                          : "<table>" + rows + "</table>\n";
  }

  void kept() {
    const auto tensors = kept_between_directions(plan_);
    if (tensors.empty()) return;
    const Bindings sizes = sizes_of(plan_, context_);
    double bytes = 0;
    html_ +=
        "<h2>Kept between forward and backward</h2>\n<table><tr><th>tensor</th><th>size</th><th>for</th><th>why"
        "</th></tr>\n";
    for (const KeptTensor& one : tensors) {
      const PlanTensor& tensor = plan_.tensors[static_cast<size_t>(one.tensor)];
      const double own = tensor_bytes(tensor, sizes);
      bytes += own;
      html_ += "<tr><td>" + code(tensor_text(tensor.name, tensor.dtype, tensor.dims)) + "</td><td class=\"num\">" +
               bytes_text(own) + "</td><td>" + kernels_text(one.readers) + "</td><td>" + escape_html(one.why) +
               "</td></tr>\n";
    }
    html_ += "</table>\n<p>" + bytes_text(bytes) + " in all.</p>\n";
  }

  void laws() {
    html_ += "<h2>Laws taken</h2>\n<table><tr><th>law</th><th>where</th><th>here</th><th>holds if</th></tr>\n";
    for (const LawUse& use : plan_.laws) {
      const Law* law = find_law(use.law);
      html_ +=
          "<tr><td>" + escape_html(use.law) +
          (law != nullptr && law->exactness == Exactness::Elastic ? "<br><span class=\"quiet\">moves a rounding</span>"
                                                                  : "") +
          "</td><td>" + where(context_, use.span) + "</td><td>" + code(use.detail) + "</td><td>" +
          (law != nullptr ? escape_html(std::string(law->conditions)) : "") + "</td></tr>\n";
    }
    html_ += "</table>\n";
  }

  void decisions() {
    if (plan_.decisions.empty()) return;
    html_ +=
        "<h2>Choices weighed</h2>\n<table><tr><th></th><th>choice</th><th>where</th><th>if taken</th><th>if "
        "not</th></tr>\n";
    for (const PlanDecision& decision : plan_.decisions) {
      html_ += "<tr><td>" + std::string(decision.taken ? "taken" : "refused") + "</td><td>" + code(decision.what) +
               "</td><td>" + where(context_, decision.span) + "</td><td class=\"num\">" +
               microseconds(decision.seconds_if_taken) + "</td><td class=\"num\">" +
               microseconds(decision.seconds_if_not) + "</td></tr>\n";
    }
    html_ += "</table>\n";
  }

  void roundings() {
    if (plan_.roundings.empty()) return;
    html_ += "<h2>Elastic roundings</h2>\n<ul>\n";
    for (const auto& rounding : plan_.roundings) html_ += "<li>" + code(rounding) + "</li>\n";
    html_ += "</ul>\n";
  }

  const Plan& plan_;
  const PlanContext& context_;
  std::string html_;
};

}  // namespace

std::string to_html(const Plan& plan, const PlanContext& context) { return Page(plan, context).run(); }

}  // namespace coda
