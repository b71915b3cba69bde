// A plan as JSON: everything that text and picture show, for tools.
#include <nlohmann/json.hpp>

#include "compiler/plan/report.h"
#include "compiler/rewrite/law.h"
#include "dsl/source.h"

namespace coda {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 2;

Json dims_json(const std::vector<NamedDim>& dims) {
  Json list = Json::array();
  for (const auto& dim : dims) list.push_back(dim.name);
  return list;
}

Json place_json(const SourceMap& sources, Span span) {
  if (!span.valid()) return nullptr;
  const Position position = sources.position(span.file, span.begin);
  return {{"file", sources.path(span.file)},
          {"line", position.line},
          {"column", position.column},
          {"text", line_text(sources, span)}};
}

Json seconds_json(double seconds) { return seconds < 0 ? Json(nullptr) : Json(seconds); }

Json kernel_json(const PlanKernel& kernel, const MachineModel& machine) {
  const Roofline limits = roofline(kernel.bytes, kernel.flops, machine);
  Json reads = Json::array(), writes = Json::array();
  for (const Param& param : kernel.program.params) {
    if (param.role != Param::Role::Out) reads.push_back(param.name);
  }
  for (const auto& output : kernel.program.outputs) {
    writes.push_back(kernel.program.params[static_cast<size_t>(output.param)].name);
  }
  const std::string why = own_pass_text(kernel);
  return {{"name", kernel.program.name},
          {"kind", kind_name(kernel.kind)},
          {"bytes", kernel.bytes},
          {"flops", kernel.flops},
          {"seconds", kernel.seconds},
          {"memory_seconds", limits.memory_seconds},
          {"compute_seconds", limits.compute_seconds},
          {"bound", limits.bound()},
          {"reads", reads},
          {"writes", writes},
          {"statements", statements_text(kernel)},
          {"waits", kernel.waits},
          {"own_pass", why.empty() ? Json(nullptr) : Json(why)},
          {"backward", kernel.late}};
}

}  // namespace

std::string to_json(const Plan& plan, const PlanContext& context) {
  const MachineModel& machine = context.options.machine;
  Json json{{"format", kFormat}, {"block", plan.name}, {"sizes", context.options.sizes}};
  json["assumed_sizes"] = Json::object();
  for (const std::string& symbol : assumed_symbols(plan, context)) json["assumed_sizes"][symbol] = kAssumedSize;
  json["requires"] = requirements(plan);
  const Roofline limits = roofline(plan.bytes, plan.flops, machine);
  json["total"] = {{"kernels", plan.kernels.size()},
                   {"bytes", plan.bytes},
                   {"flops", plan.flops},
                   {"seconds", plan.seconds},
                   {"memory_seconds", limits.memory_seconds},
                   {"compute_seconds", limits.compute_seconds},
                   {"kept_bytes", kept_bytes(plan, sizes_of(plan, context))},
                   {"plans_weighed", plan.replans},
                   {"search_stopped", plan.exhausted}};
  json["machine"] = {{"bytes_per_second", machine.bytes_per_second},
                     {"flops_per_second", machine.flops_per_second},
                     {"seconds_per_launch", machine.seconds_per_launch}};
  json["tensors"] = Json::array();
  for (size_t t = 0; t < plan.tensors.size(); ++t) {
    const PlanTensor& tensor = plan.tensors[t];
    Json one{{"name", tensor.name},
             {"type", info(tensor.dtype).name},
             {"dims", dims_json(tensor.dims)},
             {"bytes", tensor_bytes(tensor, sizes_of(plan, context))},
             {"parameter", tensor.param >= 0},
             {"first_kernel", tensor.first_use},
             {"last_kernel", tensor.last_use}};
    json["tensors"].push_back(one);
  }
  json["kernels"] = Json::array();
  for (const PlanKernel& kernel : plan.kernels) json["kernels"].push_back(kernel_json(kernel, machine));
  json["kept"] = Json::array();
  for (const KeptTensor& kept : kept_between_directions(plan)) {
    const PlanTensor& tensor = plan.tensors[static_cast<size_t>(kept.tensor)];
    json["kept"].push_back({{"tensor", tensor.name},
                            {"bytes", tensor_bytes(tensor, sizes_of(plan, context))},
                            {"for_kernels", kept.readers},
                            {"why", kept.why}});
  }
  json["laws"] = Json::array();
  for (const LawUse& use : plan.laws) {
    Json one{{"law", use.law}, {"here", use.detail}, {"where", place_json(context.sources, use.span)}};
    if (const Law* law = find_law(use.law)) {
      one["equation"] = law->equation;
      one["conditions"] = law->conditions;
      one["exactness"] = law->exactness == Exactness::Elastic ? "moves a rounding" : "exact over the reals";
    }
    json["laws"].push_back(one);
  }
  json["decisions"] = Json::array();
  for (const PlanDecision& decision : plan.decisions) {
    json["decisions"].push_back({{"law", decision.law},
                                 {"what", decision.what},
                                 {"where", place_json(context.sources, decision.span)},
                                 {"taken", decision.taken},
                                 {"seconds_if_taken", seconds_json(decision.seconds_if_taken)},
                                 {"seconds_if_not", seconds_json(decision.seconds_if_not)}});
  }
  json["roundings"] = plan.roundings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";  // names of files may be any bytes
}

}  // namespace coda
