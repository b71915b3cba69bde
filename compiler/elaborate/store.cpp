#include "compiler/elaborate/store.h"

#include "compiler/elaborate/elementwise.h"
#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/literal_sizes.h"
#include "compiler/elaborate/signature.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

bool has_dim(const Param& param, const NamedDim& dim) {
  for (const NamedDim& d : param.dims) {
    if (d == dim) return true;
  }
  return false;
}

std::string spelled(const std::vector<NamedDim>& dims) {
  std::vector<ValueDim> with_origin;
  for (const NamedDim& d : dims) with_origin.push_back({d, {}});
  return coda::spelled(with_origin);
}

/// The one parameter that has this dimension, if it was written alone.
const Param* only_source(const Context& context, const ValueDim& extra) {
  const Param* source = nullptr;
  for (const Param& param : context.program.params) {
    if (!has_dim(param, extra.dim)) continue;
    if (source != nullptr) return nullptr;
    source = &param;
  }
  const bool alone = source != nullptr && context.quoted(extra.origin, "") == source->name;
  return alone ? source : nullptr;
}

std::string way_out_of_extra(const Context& context, const Param& param, const ValueDim& extra, const Value& value) {
  const std::string name = coda::spelled(extra.dim);
  if (extra.dim.extent == Dim(1)) {
    return "leave the dimension of extent 1 out of the signature: operands broadcast by name without it";
  }
  std::vector<std::string> lacking;  // what the output has and the value lacks may be what was meant
  for (const NamedDim& d : param.dims) {
    if (value.find_dim(d.name) != nullptr) continue;
    if (is_unnamed(d)) return name_literals(context, extra.dim, d);
    if (d.extent == extra.dim.extent) return "rename it: `z[" + name + " as " + d.name + "]`";
    lacking.push_back(d.name);
  }
  if (is_unnamed(extra.dim)) return name_literal(context, extra.dim.extent.constant().value_or(0));
  if (!lacking.empty()) {
    const std::string meant = lacking.front();
    return "if `" + meant + "` is `" + name + "`, write `" + name + "` in the type of `" + param.name +
           "`; else reduce, as `sum(z, over = " + name + ")`";
  }
  if (const Param* source = only_source(context, extra)) {
    return "if `" + name + "` is meant to be `" + spelled(param.dims.back()) + "`, write it so in the type of `" +
           source->name + "`; else reduce, as `sum(z, over = " + name + ")`";
  }
  return "reduce over it, as `sum(z, over = " + name + ")`, or declare `" + param.name + "` with it";
}

bool check_dims(Context& context, const Param& param, const Value& value) {
  bool ok = true;
  for (const ValueDim& d : value.dims) {
    if (has_dim(param, d.dim)) continue;
    ok = false;
    Diagnostic& diagnostic = context.report(
        DiagId::E0265, value.span,
        {coda::spelled(d.dim), param.name, spelled(param.dims), way_out_of_extra(context, param, d, value)});
    const std::string operand = context.quoted(d.origin, "this operand");
    diagnostic.notes.push_back({d.origin, "`" + operand + "` brings `" + coda::spelled(d.dim) + "`"});
  }
  return ok;
}

bool check_class(Context& context, const Param& param, const Value& value) {
  const NumClass from = class_of(context, value), to = info(param.dtype).num_class;
  if (from == to || (from == NumClass::Int && to == NumClass::Real)) return true;
  if (from == NumClass::Bool) return require_number(context, value);
  const std::string type(info(param.dtype).name);
  const std::string text = context.quoted(value.span, "x");
  if (to == NumClass::Bool) {
    context.report(DiagId::E0269, value.span, {text});
  } else {
    context.report(DiagId::E0266, value.span, {param.name, type, text});
  }
  return false;
}

/// A target that is none. What was probably meant counts as assigned, so that nothing is said of it again.
void report_no_output(Context& context, Scope& scope, const ast::Name& target, const Value& value, Span statement) {
  const std::string_view text = context.sources.text(statement);
  const bool is_one_of_several = text.starts_with("(");
  std::vector<std::string> outputs;
  for (const Param& param : context.program.params) {
    if (param.role == Param::Role::Out || param.role == Param::Role::InOut) outputs.push_back(param.name);
  }
  const std::string nearest = nearest_name(target.text, outputs);
  const std::string way_out = nearest.empty()
                                  ? (is_one_of_several ? "name values with `let (…) = …`, and assign outputs from them"
                                                       : "name a value with `let " + target.text + " = …`") +
                                        std::string("; outputs are declared after `->`")
                                  : "did you mean `" + nearest + "`?";
  context.report(DiagId::E0260, target.span, {target.text, way_out});
  if (!nearest.empty()) {
    Variable& meant = scope.variables.at(nearest);
    meant.set = true;
    meant.assigned = statement;
  }
  Variable local;
  local.value = value;
  local.span = target.span;
  scope.variables.emplace(target.text, std::move(local));
}

}  // namespace

void store(Context& context, Scope& scope, const ast::Name& target, const Value& value, bool accumulate,
           Span statement) {
  const auto it = scope.variables.find(target.text);
  const bool is_broken = it != scope.variables.end() && it->second.role == Variable::Role::Local &&
                         it->second.assigned.valid();  // an output whose type could not be read
  if (is_broken) return;
  if (it == scope.variables.end() || it->second.role == Variable::Role::Local) {
    report_no_output(context, scope, target, value, statement);
    return;
  }
  Variable& variable = it->second;
  if (variable.role == Variable::Role::Parameter) {
    context.report(DiagId::E0272, target.span, {target.text})
        .notes.push_back({variable.span, "`" + target.text + "` is declared here"});
    return;
  }
  const bool is_output = variable.role == Variable::Role::Output;
  if (is_output && accumulate) {
    context.report(DiagId::E0267, target.span, {target.text});
    variable.set = true;
    variable.assigned = statement;
    return;
  }
  if (is_output && variable.set) {
    context.report(DiagId::E0262, target.span, {target.text})
        .notes.push_back({variable.assigned, "`" + target.text + "` is assigned here first"});
    return;
  }
  variable.set = true;
  variable.assigned = statement;
  const Param& param = context.program.params[variable.param];
  Value stored = value;
  if (accumulate && !value.is_poison() && !variable.value.is_poison()) {
    stored = binary_operator(context, "+", variable.value, value, value.span);
    variable.used = true;
  }
  const bool fits = stored.is_tensor() && check_dims(context, param, stored) && check_class(context, param, stored);
  variable.value = fits ? std::move(stored) : Value::poison(value.span);
  variable.value.element.reset();
  if (!fits) return;
  if (info(param.dtype).num_class == NumClass::Real) variable.value.node = as_real(context, variable.value.node);
}

Value as_declared(Context& context, Scope& scope, const Value& value, const ast::TypeExpr& type) {
  const auto dtype = element_type(context, scope, type.element);
  if (!dtype || value.is_poison()) return Value::poison(value.span);
  Value result = cast_to(context, value, *dtype, value.span);
  if (result.is_poison() || !type.is_tensor) return result;
  const auto dims = declared_dims(context, scope, type.dims, "the `let`");
  if (!dims) return Value::poison(value.span);
  std::vector<ValueDim> ordered;
  for (const NamedDim& d : *dims) {
    if (const ValueDim* found = result.find_dim(d.name)) ordered.push_back(*found);
  }
  if (ordered.size() != dims->size() || ordered.size() != result.dims.size()) {
    return context.fail(DiagId::E0268, type.span, {coda::spelled(value.dims), spelled(*dims)});
  }
  result.dims = std::move(ordered);
  return result;
}

}  // namespace coda
