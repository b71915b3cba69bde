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

std::shared_future<Expected<std::shared_ptr<const Image>>> compile_text_async(SourceText source) {
  return std::async(std::launch::async, [source = std::move(source)] { return compile_text(source); }).share();
}

namespace {

Expected<SourceText> read_source(const char* text, const coda_compile_options* options) {
  static constexpr coda_compile_options kDefaults = {sizeof(kDefaults), nullptr, nullptr, nullptr, nullptr, 0};
  const coda_compile_options& chosen = options ? *options : kDefaults;
  if (!text) return Status(Code::InvalidArgument, "a pointer is null");
  if (chosen.size < sizeof(coda_compile_options)) {
    return Status(Code::InvalidArgument, "coda_compile_options.size must be sizeof(coda_compile_options)");
  }
  const auto dims = read_bindings(chosen.dims, chosen.dim_count);
  if (!dims) return Status(Code::InvalidArgument, "a dimension's symbol is null");
  SourceText source;
  source.text = text;
  if (chosen.path) source.path = chosen.path;
  if (chosen.kernel) source.kernel = chosen.kernel;
  if (chosen.target) source.target = chosen.target;
  source.dims = *dims;
  return source;
}

Status give(const Expected<std::shared_ptr<const Image>>& image, coda_image** out) {
  if (!image) return image.status();
  if (out) *out = new coda_image{Artefact{.images = {*image}}};
  return {};
}

}  // namespace

}  // namespace coda

struct coda_compilation {
  std::shared_future<coda::Expected<std::shared_ptr<const coda::Image>>> result;
};

coda_code coda_compile(const char* text, const coda_compile_options* options, coda_image** out) {
  using namespace coda;
  return guarded([&]() -> Status {
    if (!out) return {Code::InvalidArgument, "a pointer is null"};
    auto source = read_source(text, options);
    return source ? give(compile_text(*source), out) : source.status();
  });
}

coda_code coda_compile_async(const char* text, const coda_compile_options* options, coda_compilation** out) {
  using namespace coda;
  return guarded([&]() -> Status {
    if (!out) return {Code::InvalidArgument, "a pointer is null"};
    auto source = read_source(text, options);
    if (!source) return source.status();
    *out = new coda_compilation{compile_text_async(std::move(*source))};
    return {};
  });
}

int32_t coda_compilation_done(const coda_compilation* compilation) {
  return compilation && compilation->result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

coda_code coda_compilation_finish(coda_compilation* compilation, coda_image** out) {
  using namespace coda;
  return guarded([&]() -> Status {
    if (!compilation) return {Code::InvalidArgument, "a pointer is null"};
    const std::unique_ptr<coda_compilation> owned(compilation);
    return give(owned->result.get(), out);
  });
}
