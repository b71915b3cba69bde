#include "compiler/plan/picture.h"

#include <algorithm>
#include <cstdio>

#include "compiler/plan/picture_text.h"

namespace coda {

namespace {

// Pixels: a line of text, the gap between kernels, a lane, and a character of the two fonts.
constexpr int kLine = 16, kPad = 14, kLane = 14, kCode = 7, kSmall = 6, kKernel = 560, kMargin = 24;
constexpr size_t kWrap = 76;  // characters of code in a kernel's box

std::string format(const char* text, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, text, value);
  return buffer;
}

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// What a kernel's box says, and where its tensors' lines are.
struct Box {
  int top = 0, tall = 0;
  std::vector<std::string> code, why;
  std::vector<int> reads, writes;  // tensors
  std::vector<int> from_lanes;     // those of `reads` that another kernel makes
  int write_row(size_t i) const { return top + kLine * (2 + static_cast<int>(i)); }
  int read_row(size_t i) const { return top + kLine * (2 + static_cast<int>(writes.size() + i)); }
};

class Picture {
 public:
  Picture(const Plan& plan, const PlanContext& context)
      : plan_(plan), context_(context), sizes_(sizes_of(plan, context)) {}

  std::string run() {
    int y = kPad;
    size_t longest_read = 0, longest_write = 0, longest_name = 0;
    for (size_t k = 0; k < plan_.kernels.size(); ++k) {
      if (starts_backward(k)) y += 2 * kLine;
      boxes_.push_back(box(static_cast<int>(k), y));
      y += boxes_.back().tall + 2 * kPad;
      for (const int tensor : boxes_.back().reads) longest_read = std::max(longest_read, read_label(tensor).size());
      for (const int tensor : boxes_.back().from_lanes) {
        longest_name = std::max(longest_name, plan_.tensors[static_cast<size_t>(tensor)].name.size());
      }
      for (const int tensor : boxes_.back().writes) longest_write = std::max(longest_write, label(tensor).size());
    }
    left_ = static_cast<int>(longest_read) * kCode + kMargin;
    right_ = left_ + kKernel;
    first_lane_ = right_ + static_cast<int>(longest_name) * kSmall + 10;
    assign_lanes();
    end_ = lane_x(lanes_) + 6;
    for (size_t k = 0; k < plan_.kernels.size(); ++k) kernel(k);
    for (const auto& [tensor, lane] : lane_of_) draw_lane(tensor, lane_x(lane));
    const int width = end_ + static_cast<int>(longest_write) * kCode + kMargin;
    return "<svg viewBox=\"0 0 " + std::to_string(width) + " " + std::to_string(y) + "\" width=\"" +
           std::to_string(width) + "\" height=\"" + std::to_string(y) + "\" role=\"img\" aria-label=\"plan of " +
           escape_html(plan_.name) + "\">\n" + svg_ + "</svg>\n";
  }

 private:
  bool starts_backward(size_t k) const { return k > 0 && plan_.kernels[k].late && !plan_.kernels[k - 1].late; }

  Box box(int k, int top) const {
    const PlanKernel& kernel = plan_.kernels[static_cast<size_t>(k)];
    Box made;
    made.top = top;
    for (const std::string& line : statements_text(kernel)) {
      for (std::string& part : wrapped(line, kWrap)) made.code.push_back(std::move(part));
    }
    made.why = wrapped(own_pass_text(kernel), kWrap);
    for (size_t p = 0; p < kernel.arguments.size(); ++p) {
      const bool writes = std::any_of(kernel.program.outputs.begin(), kernel.program.outputs.end(),
                                      [&](const auto& output) { return output.param == static_cast<int>(p); });
      if (writes) made.writes.push_back(kernel.arguments[p]);
      if (writes && kernel.program.params[p].role != Param::Role::InOut) continue;
      made.reads.push_back(kernel.arguments[p]);
      const int maker = maker_of(plan_, kernel.arguments[p]);
      if (maker >= 0 && maker < k) made.from_lanes.push_back(kernel.arguments[p]);
    }
    const size_t lines = std::max({made.code.size() + made.why.size() + 1, made.reads.size() + 1,
                                   made.writes.size() + made.from_lanes.size() + 1});
    made.tall = static_cast<int>(lines) * kLine + kPad;
    return made;
  }

  /// Tensors that later kernels read run down in lanes; one that has ended leaves its lane to another.
  void assign_lanes() {
    std::vector<size_t> free_from;  // by lane: the kernel from which on it is free
    for (size_t k = 0; k < boxes_.size(); ++k) {
      for (const int tensor : boxes_[k].writes) {
        size_t last = k;
        for (size_t later = k + 1; later < boxes_.size(); ++later) {
          if (contains(boxes_[later].from_lanes, tensor)) last = later;
        }
        if (last == k || lane_of_.contains(tensor)) continue;
        const auto it = std::find_if(free_from.begin(), free_from.end(), [&](size_t from) { return from < k; });
        const auto lane = static_cast<size_t>(it - free_from.begin());
        if (it == free_from.end()) free_from.push_back(last);
        free_from[lane] = last;
        lane_of_[tensor] = static_cast<int>(lane);
      }
    }
    lanes_ = static_cast<int>(free_from.size());
  }

  int lane_x(int lane) const { return first_lane_ + lane * kLane; }

  void text(int x, int y, std::string content, const char* style) {
    // Blanks in front count, which not every viewer sees from the style.
    const size_t blanks = std::min(content.find_first_not_of(' '), content.size());
    std::string indent;
    for (size_t i = 0; i < blanks; ++i) indent += "\u00a0";
    content = indent + content.substr(blanks);
    svg_ += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" class=\"" + style + "\">" +
            escape_html(content) + "</text>\n";
  }
  void line(int x1, int y1, int x2, int y2, const char* style) {
    svg_ += "<line x1=\"" + std::to_string(x1) + "\" y1=\"" + std::to_string(y1) + "\" x2=\"" + std::to_string(x2) +
            "\" y2=\"" + std::to_string(y2) + "\" class=\"" + style + "\"/>\n";
  }
  void dot(int x, int y) {
    svg_ += "<circle cx=\"" + std::to_string(x) + "\" cy=\"" + std::to_string(y) + "\" r=\"3\" class=\"dot\"/>\n";
  }

  std::string label(int tensor) const {
    const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
    return tensor_text(t.name, t.dtype, t.dims) + ", " + bytes_text(tensor_bytes(t, sizes_));
  }
  std::string read_label(int tensor) const {
    const int maker = maker_of(plan_, tensor);
    return label(tensor) + (maker < 0 ? "" : ", of K" + std::to_string(maker));
  }

  void kernel(size_t k) {
    const PlanKernel& kernel = plan_.kernels[k];
    const Box& box = boxes_[k];
    if (starts_backward(k)) {
      text(left_, box.top - kLine, "backward", "title");
      line(left_, box.top - kLine + 5, right_, box.top - kLine + 5, "edge");
    }
    svg_ += "<rect x=\"" + std::to_string(left_) + "\" y=\"" + std::to_string(box.top) + "\" width=\"" +
            std::to_string(kKernel) + "\" height=\"" + std::to_string(box.tall) + "\" rx=\"6\" class=\"" +
            (kernel.kind == KernelKind::Gemm ? "gemm" : "pass") + "\"/>\n";
    const Roofline limits = roofline(kernel.bytes, kernel.flops, context_.options.machine);
    int y = box.top + kLine + 2;
    text(left_ + 10, y,
         "K" + std::to_string(k) + " " + kind_name(kernel.kind) + " · " + format("%.0f µs", kernel.seconds * 1e6) +
             " · " + bytes_text(kernel.bytes) + (kernel.flops > 0 ? format(" · %.2f TFLOP", kernel.flops / 1e12) : "") +
             " · " + limits.bound() + " bound",
         "title");
    for (const std::string& code : box.code) text(left_ + 10, y += kLine, code, "code");
    for (const std::string& why : box.why) text(left_ + 10, y += kLine, why, "why");
    int row = box.top + kLine;
    for (const int tensor : box.reads) {
      text(8, row, read_label(tensor), "code");
      line(left_ - 10, row - 4, left_, row - 4, "edge");
      row += kLine;
    }
    for (size_t i = 0; i < box.writes.size(); ++i) {
      const int at = box.write_row(i);
      line(right_, at - 4, end_, at - 4, "edge");
      text(end_ + 6, at, label(box.writes[i]), "code");
    }
  }

  /// Down from its maker, with a dot and a line to each reader.
  void draw_lane(int tensor, int x) {
    const auto maker = static_cast<size_t>(maker_of(plan_, tensor));
    const auto& writes = boxes_[maker].writes;
    const auto place = static_cast<size_t>(std::find(writes.begin(), writes.end(), tensor) - writes.begin());
    const int start = boxes_[maker].write_row(place) - 4;
    dot(x, start);
    int last = start;
    for (size_t k = maker + 1; k < boxes_.size(); ++k) {
      const auto& reads = boxes_[k].from_lanes;
      const auto it = std::find(reads.begin(), reads.end(), tensor);
      if (it == reads.end()) continue;
      last = boxes_[k].read_row(static_cast<size_t>(it - reads.begin())) - 4;
      line(right_, last, x, last, "flow");
      dot(x, last);
      text(right_ + 3, last - 2, plan_.tensors[static_cast<size_t>(tensor)].name, "small");
    }
    line(x, start, x, last, "flow");
  }

  const Plan& plan_;
  const PlanContext& context_;
  const Bindings sizes_;
  std::vector<Box> boxes_;
  std::map<int, int> lane_of_;
  int lanes_ = 0, left_ = 0, right_ = 0, first_lane_ = 0, end_ = 0;
  std::string svg_;
};

}  // namespace

std::string plan_svg(const Plan& plan, const PlanContext& context) { return Picture(plan, context).run(); }

}  // namespace coda
