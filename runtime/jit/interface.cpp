// The compiler's part of the public C and C++ interfaces.
#include "coda/coda.h"
#include "runtime/c_api.h"
#include "runtime/jit/jit.h"

namespace coda {

Expected<std::shared_ptr<const KernelImage>> compile_text(const SourceText& source) {
  CompileRequest request;
  request.path = source.path;
  request.text = source.text;
  request.routine = source.kernel;
  request.target = source.target;
  request.bindings = source.dims;
  Compilation compilation = compile(request);
  if (!compilation.ok()) return Status(Code::InvalidArgument, compilation.diagnostics->render_text());
  return std::shared_ptr<const KernelImage>(std::make_shared<KernelImage>(std::move(*compilation.image)));
}

}  // namespace coda

extern "C" coda_code coda_compile(const char* text, const coda_compile_options* options, coda_image** out) {
  return coda::guarded([&]() -> coda::Status {
    auto invalid = [](const char* why) { return coda::Status(coda::Code::InvalidArgument, why); };
    if (!text || !out) return invalid("coda_compile: text and out must not be NULL");
    *out = nullptr;
    coda::SourceText source;
    source.text = text;
    if (options) {
      if (options->size < sizeof(coda_compile_options)) return invalid("coda_compile: options->size is too small");
      if (options->path) source.path = options->path;
      if (options->kernel) source.kernel = options->kernel;
      if (options->target) source.target = options->target;
      auto dims = coda::read_bindings(options->dims, options->dim_count);
      if (!dims) return invalid("coda_compile: a binding has no symbol");
      source.dims = std::move(*dims);
    }
    auto image = coda::compile_text(source);
    if (!image) return image.status();
    *out = new coda_image{std::move(*image)};
    return {};
  });
}
