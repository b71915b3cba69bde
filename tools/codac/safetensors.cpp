// .safetensors: a 64-bit length, a JSON header of that length, then the elements.
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/codac/tensor_files.h"

namespace coda {
namespace {

struct SafeType {
  const char* code;
  DType dtype;
};
constexpr SafeType kSafeTypes[] = {{"F32", DType::F32},      {"F16", DType::F16},      {"BF16", DType::BF16},
                                   {"F8_E4M3", DType::E4M3}, {"F8_E5M2", DType::E5M2}, {"F8_E8M0", DType::UE8M0},
                                   {"I64", DType::I64},      {"I32", DType::I32},      {"U8", DType::U8},
                                   {"I8", DType::I8},        {"BOOL", DType::Bool}};

}  // namespace

Expected<HostTensor> parse_safetensors(std::string_view content, const std::string& name) {
  auto fail = [&](const std::string& why) { return Expected<HostTensor>(Status(Code::Corrupt, why)); };
  uint64_t length = 0;
  if (content.size() < 8) return fail("not a .safetensors file");
  std::memcpy(&length, content.data(), 8);
  if (length > content.size() - 8) return fail("the header is cut short");
  auto header = nlohmann::json::parse(content.begin() + 8, content.begin() + 8 + static_cast<int64_t>(length), nullptr,
                                      /*allow_exceptions=*/false);
  if (!header.is_object()) return fail("the header is damaged");
  auto found = header.find(name);
  if (found == header.end()) {
    std::string names;
    for (auto& item : header.items()) {
      if (item.key() != "__metadata__" && names.size() < 200) names += (names.empty() ? "" : ", ") + item.key();
    }
    return fail("there is no tensor " + name + " (there are: " + names + ")");
  }
  const auto& entry = *found;
  auto offsets = entry.is_object() ? entry.value("data_offsets", nlohmann::json()) : nlohmann::json();
  auto shape = entry.is_object() ? entry.value("shape", nlohmann::json()) : nlohmann::json();
  auto type = entry.is_object() ? entry.value("dtype", nlohmann::json()) : nlohmann::json();
  bool whole = offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
               offsets[1].is_number_unsigned() && shape.is_array() && type.is_string();
  for (const auto& extent : shape) whole = whole && extent.is_number_unsigned();
  if (!whole) return fail("the entry of " + name + " is damaged");

  const SafeType* known = nullptr;
  for (const SafeType& candidate : kSafeTypes) {
    if (type.get<std::string>() == candidate.code) known = &candidate;
  }
  if (!known) return fail("element type " + type.get<std::string>() + " of " + name + " is not supported");
  Sizes sizes;
  if (shape.size() > kMaxRank) return fail("the shape of " + name + " has too many dimensions");
  for (const auto& extent : shape) sizes.push_back(extent.get<int64_t>());
  auto elements = element_count(sizes);
  auto wanted = elements ? packed_bytes(known->dtype, *elements) : std::nullopt;
  uint64_t begin = offsets[0], end = offsets[1], available = content.size() - 8 - length;
  if (!wanted || begin > end || end > available || static_cast<uint64_t>(*wanted) != end - begin) {
    return fail("the data of " + name + " are not as long as its shape says");
  }
  auto tensor = HostTensor::create(known->dtype, sizes);
  if (tensor) std::memcpy(tensor->storage().data(), content.data() + 8 + length + begin, end - begin);
  return tensor;
}

std::optional<std::string> format_safetensors(const std::string& name, const HostTensor& tensor) {
  const char* code = nullptr;
  for (const SafeType& type : kSafeTypes) {
    if (type.dtype == tensor.view().dtype) code = type.code;
  }
  if (!code) return {};
  const Sizes& sizes = tensor.view().shape;
  std::vector<int64_t> shape(sizes.begin(), sizes.end());
  nlohmann::json header;
  header[name] = {{"dtype", code}, {"shape", shape}, {"data_offsets", {0, tensor.storage().size()}}};
  std::string text = header.dump();
  while (text.size() % 8 != 0) text += ' ';
  uint64_t length = text.size();
  std::string out(reinterpret_cast<const char*>(&length), 8);
  out += text;
  out.append(reinterpret_cast<const char*>(tensor.storage().data()), tensor.storage().size());
  return out;
}

}  // namespace coda
