#include "runtime/format/artefact.h"

#include <algorithm>
#include <cstdio>

#include "runtime/format/archive.h"
#include "runtime/format/file_io.h"
#include "runtime/format/output_file.h"

namespace coda {

const FileKind kArtefactFile = {"codafat\n", 3, "artefact"};

namespace {

constexpr std::string_view kRoles[] = {"in", "out", "inout", "scalar"};

Status bad(const std::string& reason) { return corrupt(kArtefactFile, reason); }

std::vector<uint8_t> image_bytes(const Image& image) {
  return std::visit([](const auto& kind) { return to_bytes(kind); }, image);
}

}  // namespace

std::string Artefact::targets() const {
  std::string text;
  for (const auto& image : images) text += (text.empty() ? "" : ", ") + coda::signature(*image).target;
  return text;
}

std::string type_text(const ParamSpec& param) {
  std::string text(info(param.dtype).name);
  for (size_t axis = 0; axis < param.extents.size(); ++axis) {
    text += (axis ? ", " : "[") + param.extents[axis].text() + (axis + 1 == param.extents.size() ? "]" : "");
  }
  return text;
}

std::string exact_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string interface_text(const Signature& signature) {
  std::string text = signature.name + "(";
  for (size_t p = 0; p < signature.params.size(); ++p) {
    const ParamSpec& param = signature.params[p];
    text += (p ? ", " : "") + std::string(kRoles[static_cast<size_t>(param.role)]) + " " + param.name + ": " +
            type_text(param);
    if (param.default_value) text += " = " + exact_text(*param.default_value);
  }
  text += ")";
  for (size_t f = 0; f < signature.facts.size(); ++f) {
    const FactSpec& fact = signature.facts[f];
    text += (f ? ", " : " where ") + fact.left.text() + (fact.modulus ? " mod " + fact.modulus->text() : "") + " " +
            fact.relation + " " + fact.right.text();
  }
  return text;
}

std::vector<uint8_t> to_bytes(const Artefact& artefact) {
  Writer fields;
  fields.field(artefact.language);
  fields.list(artefact.images, [](Writer& inner, const auto& image) { inner.bytes(image_bytes(*image)); });
  fields.list(artefact.sources, [](Writer& inner, const auto& source) { inner.field(source); });
  return seal(kArtefactFile, fields.take());
}

Expected<Artefact> artefact_from_bytes(std::span<const uint8_t> bytes) {
  Artefact artefact;
  if (!begins_as(kArtefactFile, bytes)) {
    auto image = any_image_from_bytes(bytes);
    if (!image) return image.status();
    artefact.images.push_back(std::make_shared<const Image>(std::move(*image)));
    return artefact;
  }
  auto fields = unseal(kArtefactFile, bytes);
  if (!fields) return fields.status();
  Reader reader(*fields);
  reader.field(artefact.language);
  std::vector<std::vector<uint8_t>> images;
  reader.list(images, [](Reader& inner, auto& image) { inner.bytes(image); });
  reader.list(artefact.sources, [](Reader& inner, auto& source) { inner.field(source); });
  if (!reader.ok() || !reader.at_end()) return bad("a field is malformed");
  for (const auto& stored : images) {
    auto image = any_image_from_bytes(stored);
    if (!image) return image.status();
    artefact.images.push_back(std::make_shared<const Image>(std::move(*image)));
  }
  if (Status status = check_artefact(artefact); !status.ok()) return status;
  return artefact;
}

Status check_artefact(const Artefact& artefact) {
  if (artefact.images.empty()) return bad("it holds no code");
  if (artefact.language > kLanguageVersion) {
    return bad("it is of language version " + std::to_string(artefact.language) + ", this build knows version " +
               std::to_string(kLanguageVersion));
  }
  if (!artefact.sources.empty() && artefact.sources.size() != artefact.images.size()) {
    return bad("it names the programs of other code than it holds");
  }
  const std::string interface = interface_text(artefact.signature());
  for (size_t i = 1; i < artefact.images.size(); ++i) {
    const Signature& other = signature(*artefact.images[i]);
    if (interface_text(other) != interface) {
      return bad("its code for " + other.target + " takes other arguments than that for " +
                 artefact.signature().target);
    }
    const bool again = std::any_of(artefact.images.begin(), artefact.images.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const auto& image) { return signature(*image).target == other.target; });
    if (again) return bad("it holds code for " + other.target + " twice");
  }
  return {};
}

Status save_artefact(const Artefact& artefact, const std::string& path) {
  if (Status status = check_artefact(artefact); !status.ok()) return status;
  // An image of which there is no more to say keeps its own form.
  const bool plain = artefact.images.size() == 1 && artefact.sources.empty();
  return write_output(path, plain ? image_bytes(*artefact.images[0]) : to_bytes(artefact));
}

Expected<Artefact> load_artefact(const std::string& path) {
  auto bytes = read_file(path, kMaxImageFileBytes);
  if (!bytes) return bytes.status();
  auto artefact = artefact_from_bytes(*bytes);
  if (!artefact) return artefact.status().with_context(path);
  return artefact;
}

}  // namespace coda
