// .safetensors: a 64-bit length, a JSON header of that length, then the elements.
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/codac/tensor_files.h"

namespace coda {

std::optional<uint64_t> safetensors_header_bytes(std::string_view prefix) {
  uint64_t length = 0;
  if (prefix.size() < sizeof length) return {};
  std::memcpy(&length, prefix.data(), sizeof length);
  return length <= UINT64_MAX - sizeof length ? std::optional(length + sizeof length) : std::nullopt;
}

Expected<TensorFile> parse_safetensors(std::string_view content, uint64_t size, const std::string& name) {
  auto fail = [&](const std::string& why) { return Expected<TensorFile>(Status(Code::Corrupt, why)); };
  auto header = nlohmann::json::parse(content.begin() + 8, content.end(), nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return fail("the header is damaged");
  auto found = header.find(name);
  if (found == header.end()) {
    std::string names;
    for (auto& item : header.items()) {
      if (item.key() != "__metadata__" && names.size() < 200) names += (names.empty() ? "" : ", ") + item.key();
    }
    return Status(Code::InvalidArgument, "there is no tensor " + name + " (there are: " + names + ")");
  }
  const auto& entry = *found;
  auto offsets = entry.is_object() ? entry.value("data_offsets", nlohmann::json()) : nlohmann::json();
  auto shape = entry.is_object() ? entry.value("shape", nlohmann::json()) : nlohmann::json();
  auto type = entry.is_object() ? entry.value("dtype", nlohmann::json()) : nlohmann::json();
  bool whole = offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
               offsets[1].is_number_unsigned() && shape.is_array() && type.is_string();
  for (const auto& extent : shape) whole = whole && extent.is_number_unsigned();
  if (!whole) return fail("the entry of " + name + " is damaged");

  const auto* known = safetensors_element(type.get<std::string>());
  if (!known) return fail("element type " + type.get<std::string>() + " of " + name + " is not supported");
  if (shape.size() > kMaxRank) return fail("the shape of " + name + " has too many dimensions");
  TensorFile file;
  file.element = known;
  for (const auto& extent : shape) file.shape.push_back(extent.get<int64_t>());
  const auto elements = element_count(file.shape);
  const uint64_t begin = offsets[0], end = offsets[1], available = size - content.size();
  const bool inside = elements && begin <= end && end <= available;
  if (!inside || static_cast<uint64_t>(*elements) > available ||
      static_cast<uint64_t>(*elements) * static_cast<uint64_t>(known->bytes) != end - begin) {
    return fail("the data of " + name + " are not as long as its shape says");
  }
  file.offset = content.size() + begin;
  file.bytes = end - begin;
  return file;
}

std::optional<std::string> format_safetensors(const std::string& name, const HostTensor& tensor) {
  const FileElement* element = file_element(tensor.view().dtype);
  if (!element || element->safetensors.empty()) return {};
  const Sizes& sizes = tensor.view().shape;
  std::vector<int64_t> shape(sizes.begin(), sizes.end());
  nlohmann::json header;
  header[name] = {{"dtype", element->safetensors}, {"shape", shape}, {"data_offsets", {0, tensor.storage().size()}}};
  std::string text = header.dump();
  while (text.size() % 8 != 0) text += ' ';
  uint64_t length = text.size();
  std::string out(reinterpret_cast<const char*>(&length), 8);
  out += text;
  out.append(reinterpret_cast<const char*>(tensor.storage().data()), tensor.storage().size());
  return out;
}

}  // namespace coda
