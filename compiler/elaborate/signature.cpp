#include "compiler/elaborate/signature.h"

#include <algorithm>

#include "compiler/elaborate/expressions.h"
#include "compiler/elaborate/extents.h"
#include "compiler/elaborate/shape_words.h"
#include "compiler/ir/schedule_settings.h"
#include "dsl/foreign_words.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

std::vector<std::string> names_of(const std::vector<ast::Name>& names) {
  std::vector<std::string> texts;
  for (const ast::Name& name : names) texts.push_back(name.text);
  return texts;
}

/// The request's choice, else the first.
void choose_types(Context& context, const ast::Routine& routine, const ElaborateRequest& request) {
  for (const auto& [name, choice] : request.type_choices) {
    const bool known = std::any_of(routine.type_parameters.begin(), routine.type_parameters.end(),
                                   [&, &wanted = name](const auto& p) { return p.name.text == wanted; });
    if (known) continue;
    std::vector<std::string> names;
    for (const auto& p : routine.type_parameters) names.push_back(p.name.text);
    context.report(DiagId::E0209, routine.name.span,
                   {routine.name.text, name, suggestion(name, names, "its type parameters are", "it has none")});
  }
  for (const ast::TypeParameter& parameter : routine.type_parameters) {
    if (context.types.count(parameter.name.text) > 0) {
      context.report(DiagId::E0201, parameter.name.span, {parameter.name.text});
      continue;
    }
    const ast::Name* chosen = &parameter.choices.front();
    const auto requested = request.type_choices.find(parameter.name.text);
    if (requested != request.type_choices.end()) {
      const auto it = std::find_if(parameter.choices.begin(), parameter.choices.end(),
                                   [&](const ast::Name& choice) { return choice.text == requested->second; });
      if (it == parameter.choices.end()) {
        context.report(DiagId::E0208, parameter.name.span,
                       {parameter.name.text, requested->second, listed(names_of(parameter.choices))});
      } else {
        chosen = &*it;
      }
    }
    for (const ast::Name& choice : parameter.choices) {
      if (!dtype_from_name(choice.text)) element_type(context, Scope{}, choice);
    }
    context.types[parameter.name.text] = dtype_from_name(chosen->text).value_or(DType::F32);
  }
}

/// Names given by the annotations come first: they may be used in any other annotation.
void define_aliases(Context& context, Scope& scope, const std::vector<ast::Parameter>& parameters) {
  for (const ast::Parameter& parameter : parameters) {
    if (!parameter.type) continue;
    for (const ast::DimAnnotation& dim : parameter.type->dims) {
      if (!dim.alias) continue;
      const auto extent = evaluate_extent(context, scope, *dim.extent);
      if (extent) name_dim(context, *dim.alias, extent->extent);
    }
  }
}

Param::Role role_of(const ast::Parameter& parameter, bool is_output) {
  if (is_output) return Param::Role::Out;
  if (parameter.is_inout) return Param::Role::InOut;
  return parameter.type->is_tensor ? Param::Role::In : Param::Role::Scalar;
}

std::optional<double> default_of(Context& context, Scope& scope, const ast::Parameter& parameter, const Param& param) {
  if (!parameter.default_value) return std::nullopt;
  if (param.role != Param::Role::Scalar) {
    context.report(DiagId::E0277, parameter.default_value->span, {param.name});
    return std::nullopt;
  }
  const auto value = evaluate_constant(context, *scope.module, *parameter.default_value);
  if (value && round_to(*value, param.dtype) != *value && info(param.dtype).num_class != NumClass::Real) {
    context.report(DiagId::E0278, parameter.default_value->span, {std::string(info(param.dtype).name)});
    return std::nullopt;
  }
  return value;
}

ParamLayout layout_of(Context& context, const ast::Name& name, const Param& param) {
  const auto layout = layout_from_name(name.text);
  if (!layout) {
    context.report(DiagId::E0273, name.span, {name.text});
    return ParamLayout::RowMajor;
  }
  std::string reason;
  if (param.role != Param::Role::Out) reason = "is no output";
  if (param.dims.size() != 2) {
    reason = "has " + std::to_string(param.dims.size()) + (param.dims.size() == 1 ? " dimension" : " dimensions");
  }
  if (info(param.dtype).bits != 8) reason = "is " + std::string(info(param.dtype).name);
  if (context.program.is_block) reason = "is of a block, which may read it again";
  if (!reason.empty()) context.report(DiagId::E0274, name.span, {param.name, reason, name.text});
  return *layout;
}

void declare(Context& context, Scope& scope, const ast::Parameter& parameter, bool is_output) {
  const auto existing = scope.variables.find(parameter.name.text);
  if (existing != scope.variables.end()) {
    context.report(DiagId::E0201, parameter.name.span, {parameter.name.text})
        .notes.push_back({existing->second.span, "`" + parameter.name.text + "` is first defined here"});
    return;
  }
  Variable variable;
  variable.span = parameter.name.span;
  variable.used = true;  // until it is known to be whole: no follow-ups of what is wrong with it
  std::optional<DType> dtype;
  std::optional<std::vector<NamedDim>> dims;
  if (parameter.type) {
    dtype = element_type(context, scope, parameter.type->element);
    Scope annotations;  // extents see dimensions only, not parameters of the same name
    annotations.module = scope.module;
    annotations.is_routine = true;
    dims = declared_dims(context, annotations, parameter.type->dims, "`" + parameter.name.text + "`");
  } else {
    context.report(DiagId::E0122, parameter.name.span, {parameter.name.text});
  }
  if (!dtype || !dims) {
    variable.assigned = parameter.span;
    context.signature_failed = true;
    scope.variables.emplace(parameter.name.text, std::move(variable));
    return;
  }

  Param param;
  param.name = parameter.name.text;
  param.role = role_of(parameter, is_output);
  param.dtype = *dtype;
  param.dims = *dims;
  param.is_const = parameter.is_const;
  param.span = parameter.name.span;
  if (parameter.layout) param.layout = layout_of(context, *parameter.layout, param);
  param.default_value = default_of(context, scope, parameter, param);
  variable.param = static_cast<int>(context.program.params.size());
  variable.used = false;
  if (is_output) {
    variable.role = Variable::Role::Output;
    variable.set = false;
  } else {
    variable.role = parameter.is_inout ? Variable::Role::InOut : Variable::Role::Parameter;
    const NodeId node = context.graph().input(variable.param, *dims, info(*dtype).num_class, param.span);
    variable.value = Value::scalar(node, param.span);
    variable.value.element = *dtype;
    for (const NamedDim& dim : *dims) variable.value.dims.push_back({dim, {}});
  }
  context.program.params.push_back(std::move(param));
  scope.variables.emplace(parameter.name.text, std::move(variable));
}

}  // namespace

std::optional<DType> element_type(Context& context, const Scope& scope, const ast::Name& name) {
  if (const auto dtype = context.find_type(scope, name.text)) return dtype;
  std::vector<std::string> names;
  for (const DTypeInfo& type : dtype_table()) names.emplace_back(type.name);
  if (scope.is_routine) {
    for (const auto& [parameter, dtype] : context.types) names.push_back(parameter);
  }
  const std::string meant(instead_of_type(name.text));
  context.report(
      DiagId::E0205, name.span,
      {name.text, meant.empty() ? suggestion(name.text, names, "the types are", "") : "did you mean `" + meant + "`?"});
  return std::nullopt;
}

std::optional<std::vector<NamedDim>> declared_dims(Context& context, Scope& scope,
                                                   const std::vector<ast::DimAnnotation>& annotations,
                                                   const std::string& what) {
  std::vector<NamedDim> dims;
  bool ok = true;
  for (const ast::DimAnnotation& annotation : annotations) {
    const auto extent = evaluate_extent(context, scope, *annotation.extent);
    ok = ok && extent;
    if (!extent) continue;
    NamedDim dim = extent->named ? *extent->named : context.dims.of_extent(extent->extent);
    if (extent->extent.symbols().empty() && extent->extent.constant().value_or(-1) < 0) {
      context.report(DiagId::E0235, annotation.extent->span, {extent->extent.text()});
      ok = false;
    }
    if (annotation.alias) {
      const auto* entry = context.dims.find(annotation.alias->text);
      if (entry == nullptr || !(entry->dim.extent == extent->extent)) {
        const auto named = name_dim(context, *annotation.alias, extent->extent);
        ok = ok && named;
        if (!named) continue;
        dim = *named;
      } else {
        dim = entry->dim;
      }
    }
    if (std::find(dims.begin(), dims.end(), dim) != dims.end()) {
      const std::string name = spelled(dim);
      const bool simple = name.find_first_of("+-*/ ") == std::string::npos;
      context.report(DiagId::E0230, annotation.extent->span, {name, what, name + " as " + (simple ? name : "N") + "2"});
      ok = false;
      continue;
    }
    dims.push_back(std::move(dim));
  }
  if (!ok) return std::nullopt;
  return dims;
}

void elaborate_signature(Context& context, Scope& scope, const ast::Routine& routine, const ElaborateRequest& request) {
  Program& program = context.program;
  program.name = routine.name.text;
  program.is_block = routine.kind == ast::RoutineKind::Block;
  program.doc = routine.doc;
  program.span = routine.span;
  choose_types(context, routine, request);

  context.declaring = true;
  Scope annotations;
  annotations.module = scope.module;
  annotations.is_routine = true;
  define_aliases(context, annotations, routine.parameters);
  define_aliases(context, annotations, routine.outputs);
  for (const ast::Parameter& parameter : routine.parameters) declare(context, scope, parameter, false);
  for (const ast::Parameter& output : routine.outputs) declare(context, scope, output, true);
  elaborate_facts(context, annotations, routine, request);
  context.declaring = false;

  for (const auto& [name, value] : routine.schedule) {
    if (find_schedule_setting(name.text) == nullptr) {
      context.report(DiagId::E0401, name.span, {name.text, way_out_of_setting(name.text)});
      continue;
    }
    const auto number = evaluate_constant(context, *scope.module, *value);
    if (number) program.schedule.emplace_back(name.text, *number);
  }
}

}  // namespace coda
