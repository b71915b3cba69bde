#include "tools/codac/source_hash.h"

#include "compiler/ir/text.h"
#include "runtime/format/hash.h"

namespace coda {

std::string source_hash(CompileRequest request, const Bindings& bound) {
  request.bindings = bound;
  request.stage = Stage::Elaborate;
  request.dumps.clear();
  request.schedule.clear();
  const Compilation compilation = compile(request);
  if (!compilation.ok() || !compilation.program) return {};
  compilation.program->schedule.clear();
  compilation.program->doc.clear();
  const std::string text = to_text(*compilation.program);
  return hash_bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()}).hex();
}

}  // namespace coda
