#include "runtime/format/plan_image.h"

#include <algorithm>

#include "runtime/format/archive.h"
#include "runtime/format/signature_visit.h"

namespace coda {

namespace {

template <class Io, class Tensor>
void visit_tensor(Io& io, Tensor& tensor) {
  io.field(tensor.name);
  io.enumeration(tensor.dtype, DType::Bool);
  io.list(tensor.extents, [](Io& inner, auto& dim) { inner.field(dim); });
}

/// A kernel is stored as its own file is.
template <class Io, class Step>
void visit_step(Io& io, Step& step, Status& status) {
  if constexpr (Io::kReading) {
    std::vector<uint8_t> bytes;
    io.bytes(bytes);
    auto kernel = io.ok() ? image_from_bytes(bytes) : corrupt(kPlanFile, "a field is malformed");
    if (kernel) step.kernel = std::move(*kernel);
    if (!kernel && status.ok()) status = kernel.status();
  } else {
    io.bytes(to_bytes(step.kernel));
  }
  io.list(step.arguments, [](Io& inner, auto& argument) { inner.field(argument); });
  io.field(step.once);
}

template <class Io, class Plan>
Status visit(Io& io, Plan& plan) {
  Status status;
  visit_signature(io, plan);
  io.list(plan.tensors, [](Io& inner, auto& tensor) { visit_tensor(inner, tensor); });
  io.list(plan.steps, [&](Io& inner, auto& step) { visit_step(inner, step, status); });
  return status;
}

/// Walks the steps in order and knows what has been written.
class Checker {
 public:
  explicit Checker(const PlanImage& plan)
      : plan_(plan), written_(plan.params.size() + plan.tensors.size()), kept_(written_.size()) {
    for (size_t p = 0; p < plan.params.size(); ++p) {
      written_[p] = plan.params[p].role != ParamSpec::Role::Out;
    }
  }

  Status run() {
    for (const PlanStep& step : plan_.steps) {
      if (Status status = check(step); !status.ok()) return status;
    }
    for (size_t p = 0; p < plan_.params.size(); ++p) {
      if (!written_[p]) return bad("no kernel writes '" + plan_.params[p].name + "'");
    }
    return {};
  }

 private:
  static Status bad(const std::string& reason) { return corrupt(kPlanFile, reason); }

  Status check(const PlanStep& step) {
    const KernelImage& kernel = step.kernel;
    if (kernel.target != plan_.target) return bad("kernel '" + kernel.name + "' is for another target");
    if (step.arguments.size() != kernel.params.size()) {
      return bad("kernel '" + kernel.name + "' is given another number of arguments than it takes");
    }
    for (const auto& [symbol, value] : kernel.bound) {
      const auto it = plan_.bound.find(symbol);
      if (it == plan_.bound.end() || it->second != value) {
        return bad("kernel '" + kernel.name + "' is compiled for a value of " + symbol + " that the plan lacks");
      }
    }
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      if (Status status = check_argument(step, i); !status.ok()) return status;
    }
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      if (!kernel.params[i].is_output()) continue;
      written_[static_cast<size_t>(step.arguments[i])] = true;
      kept_[static_cast<size_t>(step.arguments[i])] = step.once;
    }
    return {};
  }

  Status check_argument(const PlanStep& step, size_t i) const {
    const ParamSpec& spec = step.kernel.params[i];
    const std::string where = "kernel '" + step.kernel.name + "', parameter '" + spec.name + "': ";
    const int argument = step.arguments[i], tensor = plan_.tensor_of(argument);
    if (argument < 0 || tensor >= static_cast<int>(plan_.tensors.size())) return bad(where + "there is no such tensor");
    const auto at = static_cast<size_t>(argument);
    if (tensor < 0) {
      const ParamSpec& param = plan_.params[at];
      const bool scalar = param.role == ParamSpec::Role::Scalar;
      if (scalar != (spec.role == ParamSpec::Role::Scalar)) return bad(where + "a scalar and a tensor are confused");
      if (param.dtype != spec.dtype || !same(param.extents, spec.extents)) return bad(where + "it has another type");
      if (spec.is_output() && !param.is_output()) return bad(where + "it writes an input");
      if (step.once && (spec.is_output() || param.is_output())) return bad(where + "an output is made once");
    } else {
      const PlanTensorSpec& made = plan_.tensors[static_cast<size_t>(tensor)];
      if (spec.role == ParamSpec::Role::Scalar || spec.role == ParamSpec::Role::InOut) {
        return bad(where + "its role is not possible");
      }
      if (made.dtype != spec.dtype || !same(made.extents, spec.extents)) return bad(where + "it has another type");
      if (spec.is_output() && written_[at]) return bad(where + "it is written twice");
      if (step.once && !spec.is_output() && !kept_[at]) return bad(where + "it changes from launch to launch");
    }
    if (!spec.is_output() && !written_[at]) return bad(where + "it is read before it is written");
    return {};
  }

  bool same(const std::vector<Dim>& a, const std::vector<Dim>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Dim& left, const Dim& right) {
      return left.substitute(plan_.bound) == right.substitute(plan_.bound);
    });
  }

  const PlanImage& plan_;
  std::vector<bool> written_, kept_;  ///< by argument number
};

}  // namespace

// The version rises with every change of visit() above, and with kKernelFile's.
const FileKind kPlanFile = {"CODAPLN\n", 3, "plan"};

std::vector<uint8_t> to_bytes(const PlanImage& image) {
  Writer fields;
  (void)visit(fields, image);
  return seal(kPlanFile, fields.take());
}

Expected<PlanImage> plan_from_bytes(std::span<const uint8_t> bytes) {
  auto fields = unseal(kPlanFile, bytes);
  if (!fields) return fields.status();
  PlanImage image;
  Reader reader(*fields);
  if (Status status = visit(reader, image); !status.ok()) return status;
  if (!reader.ok() || !reader.at_end()) return corrupt(kPlanFile, "a field is malformed");
  if (Status status = check_plan(image); !status.ok()) return status;
  return image;
}

Status check_plan(const PlanImage& image) {
  constexpr size_t kMost = 4096;
  if (image.steps.size() > kMost || image.tensors.size() > kMost) return corrupt(kPlanFile, "it has too many kernels");
  for (const PlanStep& step : image.steps) {
    if (Status status = check_image(step.kernel); !status.ok()) return status;
  }
  for (const PlanTensorSpec& tensor : image.tensors) {
    if (tensor.extents.size() > 8 || info(tensor.dtype).bits % 8 != 0) {
      return corrupt(kPlanFile, "tensor '" + tensor.name + "' has a type that is not kept between kernels");
    }
  }
  return Checker(image).run();
}

}  // namespace coda
