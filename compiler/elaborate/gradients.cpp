#include "compiler/elaborate/gradients.h"

#include "dsl/suggest.h"
#include "runtime/format/dtype.h"

namespace coda {

std::optional<Gradient> elaborate_gradient(const Program& source, const ast::Grad& grad, Diagnostics& diagnostics) {
  std::vector<Wrt> targets;
  bool ok = true;
  for (const ast::Grad::Wrt& written : grad.wrt) {
    Wrt wrt{.parameter = written.parameter.text, .accumulate = written.accumulate, .span = written.parameter.span};
    if (written.type) {
      const ast::Name& element = written.type->element;
      wrt.dtype = dtype_from_name(element.text);
      if (!wrt.dtype) {
        std::vector<std::string> names;
        for (const DTypeInfo& type : dtype_table()) names.emplace_back(type.name);
        diagnostics.report(DiagId::E0205, element.span,
                           {element.text, suggestion(element.text, names, "the types are", "")});
        ok = false;
      } else if (written.type->is_tensor) {
        diagnostics.report(DiagId::E0287, written.type->span, {wrt.parameter});
        ok = false;
      }
    }
    targets.push_back(std::move(wrt));
  }
  if (!ok) return std::nullopt;
  return differentiate(source, targets, grad.span, diagnostics);
}

}  // namespace coda
