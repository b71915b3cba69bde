#include "runtime/format/image.h"

#include "runtime/format/artefact.h"
#include "runtime/format/file_io.h"
#include "runtime/format/output_file.h"

namespace coda {

namespace {

template <class Kind>
Expected<Image> as_image(Expected<Kind> read) {
  if (!read) return read.status();
  return Image(std::move(*read));
}

}  // namespace

Expected<Image> any_image_from_bytes(std::span<const uint8_t> bytes) {
  if (begins_as(kArtefactFile, bytes)) {
    return corrupt(kKernelFile, "it holds code for several targets; load_artefact() reads it");
  }
  if (begins_as(kPlanFile, bytes)) return as_image(plan_from_bytes(bytes));
  return as_image(image_from_bytes(bytes));
}

Status save_image(const Image& image, const std::string& path) {
  return write_output(path, std::visit([](const auto& kind) { return to_bytes(kind); }, image));
}

Expected<Image> load_image(const std::string& path) {
  auto bytes = read_file(path, kMaxImageFileBytes);
  if (!bytes) return bytes.status();
  auto image = any_image_from_bytes(*bytes);
  if (!image) return image.status().with_context(path);
  return image;
}

}  // namespace coda
