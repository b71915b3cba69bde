// Compilation for programs that embed the library: coda.h's compile_text() and coda_c.h's coda_compile().
#include "coda/coda.h"
#include "runtime/c_api.h"
#include "runtime/jit/jit.h"

namespace coda {

Expected<std::shared_ptr<const Image>> compile_text(const SourceText& source) {
  CompileRequest request;
  request.path = source.path;
  request.text = source.text;
  request.routine = source.kernel;
  request.bindings = source.dims;
  request.target = source.target;
  Compilation compilation = compile(request);
  if (!compilation.ok()) return Status(Code::InvalidArgument, compilation.diagnostics->render_text());
  auto image = compilation.take_image();
  if (!image) return Status(Code::Unsupported, "there is no code generator for " + source.target);
  return std::make_shared<const Image>(std::move(*image));
}

}  // namespace coda

coda_code coda_compile(const char* text, const coda_compile_options* options, coda_image** out) {
  using namespace coda;
  return guarded([&]() -> Status {
    static constexpr coda_compile_options kDefaults = {sizeof(kDefaults), nullptr, nullptr, nullptr, nullptr, 0};
    const coda_compile_options& chosen = options ? *options : kDefaults;
    if (!text || !out) return {Code::InvalidArgument, "a pointer is null"};
    if (chosen.size < sizeof(coda_compile_options)) {
      return {Code::InvalidArgument, "coda_compile_options.size must be sizeof(coda_compile_options)"};
    }
    const auto dims = read_bindings(chosen.dims, chosen.dim_count);
    if (!dims) return {Code::InvalidArgument, "a dimension's symbol is null"};
    SourceText source;
    source.text = text;
    if (chosen.path) source.path = chosen.path;
    if (chosen.kernel) source.kernel = chosen.kernel;
    if (chosen.target) source.target = chosen.target;
    source.dims = *dims;
    auto image = compile_text(source);
    if (!image) return image.status();
    *out = new coda_image{std::move(*image)};
    return {};
  });
}
