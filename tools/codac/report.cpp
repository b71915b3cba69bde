#include "tools/codac/report.h"

#include <cstdio>

#include "compiler/epilogue/summary.h"

namespace coda {
namespace {

std::string line(const std::string& label, const std::string& text) {
  std::string result = "  " + label;
  result.resize(std::max<size_t>(result.size() + 1, 14), ' ');
  return result + text + "\n";
}

std::string join(const std::vector<Dim>& dims) {
  std::string result;
  for (const Dim& dim : dims) result += (result.empty() ? "" : ", ") + dim.text();
  return result;
}

std::string shape(const Param& param) {
  std::vector<Dim> extents;
  for (const NamedDim& dim : param.dims) extents.push_back(dim.extent);
  return std::string(info(param.dtype).name) + (extents.empty() ? "" : "[" + join(extents) + "]");
}

/// The value if the symbols are known, else the expression.
std::string value_or_text(const Dim& dim, const Bindings& dims, const std::string& unit) {
  auto value = dim.evaluate(dims);
  return value ? with_prefix(static_cast<double>(*value), unit) : dim.text() + " " + unit;
}

std::string stream_line(const Param& param, const Dim& bytes, const Bindings& dims, const std::string& remark) {
  std::string text = param.name + ": " + shape(param);
  text.resize(std::max<size_t>(text.size() + 2, 32), ' ');
  return text + value_or_text(bytes, dims, "B") + "   " + remark;
}

std::string scope_text(const EpilogueProgram& epilogue, StatScope scope) {
  if (scope == StatScope::Row) return "each row";
  std::string kept;
  for (int i = 0; i < epilogue.kept; ++i) {
    kept += (i > 0 ? ", " : "") + epilogue.rows[static_cast<size_t>(i)].name;
  }
  if (scope == StatScope::Column) return kept.empty() ? "each column" : "each column and " + kept;
  return kept.empty() ? "the whole" : "each " + kept;
}

std::string region_line(const Region& region) {
  std::string text = region.extent.text() + " columns";
  if (region.segments.size() > 1) {
    text += " in " + std::to_string(region.segments.size()) + " segments, at " + join(region.segments) +
            ": a tile loads B from " + std::to_string(region.segments.size()) + " places";
  } else if (!region.segments.empty() && !region.segments[0].is_zero()) {
    text += " from " + region.segments[0].text();
  }
  if (region.granule > 1) text += "; tiles hold whole groups of " + std::to_string(region.granule);
  return text;
}

struct Remark {
  std::string_view role, text;
};
/// What the roles of a KernelSummary mean.
constexpr Remark kRemarks[] = {
    {"row vector", "one value a row"}, {"column vector", "one value a column"}, {"tile", "element by element"}};

std::string load_remark(const EpilogueProgram& epilogue, const KernelSummary::Stream& stream) {
  if (stream.role == "operand") {
    bool is_a = false, is_b = false;
    for (const GemmTerm& term : epilogue.terms()) {
      is_a = is_a || term.a.param == stream.param;
      is_b = is_b || term.b.param == stream.param;
    }
    return is_a && is_b ? "both GEMM operands" : is_a ? "GEMM operand A" : "GEMM operand B";
  }
  if (stream.role == "index") return "says where an operand's rows lie";
  for (const Remark& remark : kRemarks) {
    if (remark.role == stream.role)
      return std::string(remark.text) + (epilogue.is_rowwise() ? "" : ", in the epilogue");
  }
  return stream.role;
}

std::string store_remark(const EpilogueProgram& epilogue, const KernelSummary::Stream& stream) {
  if (stream.role == "finish") {
    for (const FinishStore& store : epilogue.finish_stores) {
      if (store.param == stream.param) return "from statistics of " + scope_text(epilogue, store.scope);
    }
  }
  for (const Store& store : epilogue.stores) {
    if (store.param != stream.param) continue;
    return (epilogue.is_rowwise() ? "in walk " : "from region ") + std::to_string(store.region);
  }
  return stream.role;
}

}  // namespace

std::string with_prefix(double value, const std::string& unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  int step = 0;
  while (value >= 1000 && step < 5) {
    value /= 1000;
    ++step;
  }
  char text[64];
  std::snprintf(text, sizeof text, step == 0 ? "%.0f %s%s" : "%.4g %s%s", value, kPrefixes[step], unit.c_str());
  return text;
}

std::string explain_kernel(const EpilogueProgram& epilogue, const Bindings& dims) {
  const auto& params = epilogue.program.params;
  std::vector<Dim> rows;
  for (const NamedDim& row : epilogue.rows) rows.push_back(row.extent);
  std::string out = "kernel " + epilogue.program.name + ": one launch\n";
  const bool rowwise = epilogue.is_rowwise();
  if (rowwise) {
    out += line("pass", (rows.empty() ? "one row" : "rows " + join(rows)) + "; f32 arithmetic");
    for (const Region& region : epilogue.regions) out += line("walk", region.extent.text() + " columns of a row");
  } else {
    std::string depth, batch;
    for (const GemmTerm& term : epilogue.terms()) depth += (depth.empty() ? "" : " and ") + term.depth.text();
    if (epilogue.batch > 0) batch = ", a product for each of " + epilogue.batches().text();
    const std::string a(info(epilogue.operand_dtype(epilogue.a)).name),
        b(info(epilogue.operand_dtype(epilogue.b)).name);
    out += line("gemm", "rows " + join(rows) + ", columns " + epilogue.column.extent.text() + ", depth " + depth +
                            batch + "; " + (a == b ? a : a + " by " + b) + " in, f32 accumulation");
    for (const Region& region : epilogue.regions) out += line("region", region_line(region));
  }
  const KernelSummary summary = summarise(epilogue);
  const auto streams = [&](const char* label, const KernelSummary::Stream& stream, const std::string& remark) {
    return line(label, stream_line(params[static_cast<size_t>(stream.param)], stream.bytes, dims, remark));
  };
  for (const auto& load : summary.loads) out += streams("loads", load, load_remark(epilogue, load));
  for (const auto& store : summary.stores) {
    if (store.role == "tile") out += streams("stores", store, store_remark(epilogue, store));
  }
  for (const Statistic& statistic : epilogue.statistics) {
    std::string parts = statistic.parts.size() > 1 ? ", in " + std::to_string(statistic.parts.size()) + " parts" : "";
    out += line("statistic",
                std::string(statistic.reduction->name) + " of " + statistic.count.text() + " elements for " +
                    scope_text(epilogue, statistic.scope) + parts +
                    (rowwise && statistic.scope == StatScope::Row ? "; finished before the row's elements need it"
                                                                  : "; finished in the launch, in a fixed order"));
  }
  for (const auto& store : summary.stores) {
    if (store.role != "tile") out += streams("finish", store, store_remark(epilogue, store));
  }
  const Dim total = summary.read_bytes + summary.written_bytes;
  if (!rowwise) out += line("work", value_or_text(summary.flops, dims, "FLOP"));
  out += line("traffic", value_or_text(total, dims, "B") + ", each tensor once");
  auto work_value = summary.flops.evaluate(dims), total_value = total.evaluate(dims);
  if (!rowwise && work_value && total_value && *total_value > 0) {
    char text[64];
    std::snprintf(text, sizeof text, "%.0f FLOP a byte",
                  static_cast<double>(*work_value) / static_cast<double>(*total_value));
    out += line("intensity", text);
  }
  for (const LawUse& use : epilogue.laws) out += line("law", use.law + ": " + use.detail);
  if (epilogue.laws.empty()) out += line("laws", "none: the kernel is compiled as written");
  return out;
}

std::string explain_code(const std::string& label, const KernelImage& image) {
  std::string text = image.target;
  if (image.tile_rows > 0 && image.tile_columns == 0)
    text += ", " + std::to_string(image.tile_rows) + " rows at a time";
  if (image.tile_rows > 0 && image.tile_columns > 0) {
    text += ", tile " + std::to_string(image.tile_rows) + " x " + std::to_string(image.tile_columns);
  }
  if (image.threads > 0) {
    text += ", cluster " + std::to_string(image.cluster) + ", " + std::to_string(image.threads) + " threads, " +
            std::to_string(image.shared_bytes) + " B of shared memory";
  }
  if (!image.schedule.empty()) text += ", schedule " + image.schedule;
  if (image.split > 1) text += ", depth in " + std::to_string(image.split) + " parts";
  constexpr const char* kKinds[] = {"object code", "PTX", "cubin"};
  std::string out = line(label, text);
  out += line("", with_prefix(static_cast<double>(image.code.size()), "B") + " of " +
                      kKinds[static_cast<int>(image.code_kind)] +
                      (image.registers > 0 ? ", " + std::to_string(image.registers) + " registers a thread, " +
                                                 std::to_string(image.spill_bytes) + " B spilled"
                                           : ""));
  for (const auto& [name, value] : image.bound) out += line("compiled in", name + " = " + std::to_string(value));
  return out;
}

}  // namespace coda
