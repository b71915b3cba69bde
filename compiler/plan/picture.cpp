#include "compiler/plan/picture.h"

#include <algorithm>
#include <cstdio>

#include "compiler/epilogue/describe.h"

namespace coda {

namespace {

constexpr int kLine = 16, kPad = 14, kInputs = 250, kKernel = 380, kLane = 26, kOutputs = 230;

std::string format(const char* text, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, text, value);
  return buffer;
}

class Picture {
 public:
  Picture(const Plan& plan, const PlanContext& context) : plan_(plan), context_(context) {}

  std::string run() {
    lanes();
    int y = kPad;
    for (size_t k = 0; k < plan_.kernels.size(); ++k) {
      tops_.push_back(y);
      y += height(k) + 2 * kPad;
    }
    for (size_t k = 0; k < plan_.kernels.size(); ++k) kernel(static_cast<int>(k));
    for (const int tensor : kept_) lane(tensor);
    const int width = lane_x(static_cast<int>(kept_.size())) + kOutputs;
    return "<svg viewBox=\"0 0 " + std::to_string(width) + " " + std::to_string(y) + "\" width=\"" +
           std::to_string(width) + "\" height=\"" + std::to_string(y) + "\" role=\"img\" aria-label=\"plan of " +
           escape_html(plan_.name) + "\">\n" + svg_ + "</svg>\n";
  }

 private:
  /// Tensors between kernels, in order of their first use, each with a lane of its own.
  void lanes() {
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
      const PlanTensor& tensor = plan_.tensors[t];
      if (tensor.first_use >= 0 && tensor.last_use > tensor.first_use && written(static_cast<int>(t)) >= 0) {
        kept_.push_back(static_cast<int>(t));
      }
    }
    std::stable_sort(kept_.begin(), kept_.end(), [&](int a, int b) { return written(a) < written(b); });
  }

  int written(int tensor) const {
    for (size_t k = 0; k < plan_.kernels.size(); ++k) {
      for (const auto& output : plan_.kernels[k].program.outputs) {
        if (plan_.kernels[k].arguments[static_cast<size_t>(output.param)] == tensor) return static_cast<int>(k);
      }
    }
    return -1;
  }

  bool writes(const PlanKernel& kernel, size_t param) const {
    return std::any_of(kernel.program.outputs.begin(), kernel.program.outputs.end(),
                       [&](const auto& output) { return output.param == static_cast<int>(param); });
  }

  std::vector<int> arguments(int k, bool outputs) const {
    const PlanKernel& kernel = plan_.kernels[static_cast<size_t>(k)];
    std::vector<int> list;
    for (size_t p = 0; p < kernel.arguments.size(); ++p) {
      if (writes(kernel, p) == outputs) list.push_back(kernel.arguments[p]);
    }
    return list;
  }

  int height(size_t k) const {
    const auto& kernel = plan_.kernels[k];
    const size_t inside = 2 + kernel.program.outputs.size() + (own_pass_text(kernel).empty() ? 0 : 1);
    const size_t lines = std::max({inside, arguments(static_cast<int>(k), false).size(), size_t{3}});
    return static_cast<int>(lines) * kLine + kPad;
  }

  static int lane_x(int lane) { return kInputs + kKernel + 30 + lane * kLane; }

  void text(int x, int y, const std::string& content, const char* style) {
    svg_ += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" class=\"" + style + "\">" +
            escape_html(content) + "</text>\n";
  }
  void line(int x1, int y1, int x2, int y2, const char* style) {
    svg_ += "<line x1=\"" + std::to_string(x1) + "\" y1=\"" + std::to_string(y1) + "\" x2=\"" + std::to_string(x2) +
            "\" y2=\"" + std::to_string(y2) + "\" class=\"" + style + "\"/>\n";
  }

  std::string label(int tensor) const {
    const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
    return tensor_text(t.name, t.dims) + " " + std::string(info(t.dtype).name) + ", " +
           megabytes(tensor_bytes(t, context_.options.sizes));
  }

  static std::string cut(const std::string& line, size_t most) {
    if (line.size() <= most) return line;
    size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
    return line.substr(0, end) + "…";
  }

  void kernel(int k) {
    const PlanKernel& kernel = plan_.kernels[static_cast<size_t>(k)];
    const int top = tops_[static_cast<size_t>(k)], tall = height(static_cast<size_t>(k));
    svg_ += "<rect x=\"" + std::to_string(kInputs) + "\" y=\"" + std::to_string(top) + "\" width=\"" +
            std::to_string(kKernel) + "\" height=\"" + std::to_string(tall) + "\" rx=\"6\" class=\"" +
            (kernel.kind == KernelKind::Gemm ? "gemm" : "pass") + "\"/>\n";
    const Roofline limits = roofline(kernel.bytes, kernel.flops, context_.options.machine);
    int y = top + kLine + 2;
    text(kInputs + 10, y,
         "K" + std::to_string(k) + " " + kind_name(kernel.kind) + " · " + format("%.0f µs", kernel.seconds * 1e6) +
             " · " + megabytes(kernel.bytes) + (kernel.flops > 0 ? format(" · %.2f TFLOP", kernel.flops / 1e12) : "") +
             " · " + limits.bound() + " bound",
         "title");
    for (const auto& output : kernel.program.outputs) {
      const Param& param = kernel.program.params[static_cast<size_t>(output.param)];
      text(kInputs + 10, y += kLine,
           cut(param.name + " = " + describe(kernel.program, kernel.program.graph, output.value), 62), "code");
    }
    if (const std::string why = own_pass_text(kernel); !why.empty()) {
      text(kInputs + 10, y += kLine, cut(why, 66), "why");
    }
    int left = top + kLine;
    for (const int tensor : arguments(k, false)) {
      if (std::find(kept_.begin(), kept_.end(), tensor) != kept_.end()) continue;
      text(8, left, cut(label(tensor), 38), "code");
      line(kInputs - 14, left - 4, kInputs, left - 4, "edge");
      left += kLine;
    }
    const int end = lane_x(static_cast<int>(kept_.size()));
    int right = top + kLine + 6;
    for (const int tensor : arguments(k, true)) {
      if (std::find(kept_.begin(), kept_.end(), tensor) != kept_.end() &&
          plan_.tensors[static_cast<size_t>(tensor)].param < 0) {
        continue;
      }
      line(kInputs + kKernel, right - 4, end, right - 4, "edge");
      text(end + 6, right, cut(label(tensor), 34), "code");
      right += kLine;
    }
  }

  /// A tensor between kernels: out of its maker, down its lane, a dot at each reader.
  void lane(int tensor) {
    const auto at = std::find(kept_.begin(), kept_.end(), tensor);
    const int x = lane_x(static_cast<int>(at - kept_.begin())), maker = written(tensor);
    const int start = tops_[static_cast<size_t>(maker)] + height(static_cast<size_t>(maker)) - 8;
    line(kInputs + kKernel, start, x, start, "flow");
    int last = start;
    for (size_t k = static_cast<size_t>(maker) + 1; k < plan_.kernels.size(); ++k) {
      const auto reads = arguments(static_cast<int>(k), false);
      if (std::find(reads.begin(), reads.end(), tensor) == reads.end()) continue;
      last = tops_[k] + 10 + 5 * static_cast<int>((at - kept_.begin()) % 6);
      line(kInputs + kKernel, last, x, last, "flow");
      svg_ += "<circle cx=\"" + std::to_string(x) + "\" cy=\"" + std::to_string(last) + "\" r=\"3\" class=\"dot\"/>\n";
    }
    line(x, start, x, last, "flow");
    svg_ += "<text transform=\"translate(" + std::to_string(x + 4) + " " + std::to_string(start + 12) +
            ") rotate(90)\" class=\"small\">" + escape_html(label(tensor)) + "</text>\n";
  }

  const Plan& plan_;
  const PlanContext& context_;
  std::vector<int> tops_, kept_;
  std::string svg_;
};

}  // namespace

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string megabytes(double bytes) {
  return bytes < 1e5   ? format("%.1f kB", bytes / 1e3)
         : bytes < 1e7 ? format("%.1f MB", bytes / 1e6)
                       : format("%.0f MB", bytes / 1e6);
}

std::string plan_svg(const Plan& plan, const PlanContext& context) { return Picture(plan, context).run(); }

}  // namespace coda
