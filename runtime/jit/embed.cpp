// Compilation for programs that embed the library: coda.h's compile_text() and coda_c.h's coda_compile().
#include "coda/coda.h"
#include "runtime/c_api.h"
#include "runtime/jit/jit.h"
#include "runtime/jit/messages.h"

namespace coda {

namespace {

Compilation compile_source(const SourceText& source) {
  CompileRequest request;
  request.path = source.path;
  request.text = source.text;
  request.routine = source.kernel;
  request.bindings = source.dims;
  request.target = source.target;
  return compile(request);
}

Expected<std::shared_ptr<const Image>> take_image(Compilation& compilation, const SourceText& source) {
  if (!compilation.ok()) return Status(Code::InvalidArgument, compilation.diagnostics->render_text());
  auto image = compilation.take_image();
  if (!image) return Status(Code::Unsupported, "there is no code generator for " + source.target);
  return std::make_shared<const Image>(std::move(*image));
}

}  // namespace

Expected<std::shared_ptr<const Image>> compile_text(const SourceText& source) {
  Compilation compilation = compile_source(source);
  return take_image(compilation, source);
}

Expected<std::shared_ptr<const Image>> compile_text(const SourceText& source, std::vector<ProgramMessage>& messages) {
  Compilation compilation = compile_source(source);
  messages = to_messages(*compilation.diagnostics, *compilation.sources);
  return take_image(compilation, source);
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

/// What a compilation gives to C.
struct Outcome {
  Expected<std::shared_ptr<const Image>> image;
  std::string messages;  ///< in JSON
};

Outcome outcome_of(const SourceText& source) {
  Compilation compilation = compile_source(source);
  std::string messages = compilation.diagnostics->render_json();
  return {take_image(compilation, source), std::move(messages)};
}

thread_local std::string last_messages = "[]";

Status give(Outcome outcome, coda_image** out) {
  last_messages = std::move(outcome.messages);
  if (!outcome.image) return outcome.image.status();
  if (out) *out = new coda_image{Artefact{.images = {*outcome.image}}};
  return {};
}

}  // namespace

}  // namespace coda

struct coda_compilation {
  std::future<coda::Outcome> result;
};

coda_code coda_compile(const char* text, const coda_compile_options* options, coda_image** out) {
  using namespace coda;
  return guarded([&]() -> Status {
    last_messages = "[]";
    if (!out) return {Code::InvalidArgument, "a pointer is null"};
    auto source = read_source(text, options);
    return source ? give(outcome_of(*source), out) : source.status();
  });
}

coda_code coda_compile_async(const char* text, const coda_compile_options* options, coda_compilation** out) {
  using namespace coda;
  return guarded([&]() -> Status {
    if (!out) return {Code::InvalidArgument, "a pointer is null"};
    auto source = read_source(text, options);
    if (!source) return source.status();
    *out = new coda_compilation{
        std::async(std::launch::async, [source = std::move(*source)] { return outcome_of(source); })};
    return {};
  });
}

const char* coda_compile_messages(void) { return coda::last_messages.c_str(); }

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
