// NumPy's .npy, versions 1 to 3: a header that is a Python dict literal, then the elements.
#include <cctype>
#include <cstring>

#include "tools/codac/tensor_files.h"

namespace coda {
namespace {

struct NpyType {
  const char* code;
  DType dtype;
};
// V2 and V1 are how NumPy writes the bf16 and e4m3 of extension packages.
constexpr NpyType kNpyTypes[] = {{"f4", DType::F32},  {"f2", DType::F16},  {"i8", DType::I64},
                                 {"i4", DType::I32},  {"u1", DType::U8},   {"i1", DType::I8},
                                 {"b1", DType::Bool}, {"V2", DType::BF16}, {"V1", DType::E4M3}};

/// The text after `'key':` in the header, leading blanks skipped.
const char* find_value(const std::string& header, const std::string& key) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) return nullptr;
  at = header.find(':', at);
  if (at == std::string::npos) return nullptr;
  do ++at;
  while (at < header.size() && header[at] == ' ');
  return header.c_str() + at;
}

bool parse_shape(const char* text, Sizes& shape) {
  if (!text || *text++ != '(') return false;
  while (*text && *text != ')') {
    if (std::isdigit(static_cast<unsigned char>(*text))) {
      char* end = nullptr;
      if (shape.size() == kMaxRank) return false;
      shape.push_back(std::strtoll(text, &end, 10));
      text = end;
    } else if (*text == ',' || *text == ' ') {
      ++text;
    } else {
      return false;
    }
  }
  return *text == ')';
}

}  // namespace

Expected<HostTensor> parse_npy(std::string_view content) {
  auto fail = [&](const std::string& why) { return Expected<HostTensor>(Status(Code::Corrupt, why)); };
  if (content.size() < 12 || content.compare(0, 6, "\x93NUMPY") != 0) return fail("not a .npy file");
  bool wide = content[6] >= 2;
  uint32_t length = 0;
  std::memcpy(&length, content.data() + 8, wide ? 4 : 2);
  size_t start = wide ? 12 : 10;
  if (length > content.size() - start) return fail("the header is cut short");
  std::string header(content.substr(start, length));

  const char* descr = find_value(header, "descr");
  const char* order = find_value(header, "fortran_order");
  Sizes shape;
  if (!descr || !order || !parse_shape(find_value(header, "shape"), shape)) return fail("the header is damaged");
  std::string code(descr + 1, std::strcspn(descr + 1, "'"));
  const NpyType* type = nullptr;
  for (const NpyType& candidate : kNpyTypes) {
    if (*descr == '\'' && !code.empty() && code[0] != '>' && code.substr(1) == candidate.code) type = &candidate;
  }
  if (!type) return fail("element type " + code + " is not supported");

  auto elements = element_count(shape);
  auto wanted = elements ? packed_bytes(type->dtype, *elements) : std::nullopt;
  size_t available = content.size() - start - length;
  if (!wanted || *wanted != static_cast<int64_t>(available)) return fail("the data are not as long as the shape says");
  auto tensor = HostTensor::create(type->dtype, shape);
  if (!tensor) return tensor;
  std::memcpy(tensor->storage().data(), content.data() + start + length, available);
  if (std::strncmp(order, "True", 4) != 0) return tensor;
  Sizes strides;
  int64_t stride = 1;
  for (int64_t extent : shape) {
    strides.push_back(stride);
    stride *= extent;
  }
  tensor->set_strides(strides);
  return contiguous_copy(tensor->view());
}

Expected<std::string> format_npy(const HostTensor& original) {
  const char* code = nullptr;
  for (const NpyType& type : kNpyTypes) {
    if (type.dtype == original.view().dtype && type.code[0] != 'V') code = type.code;
  }
  bool widen = code == nullptr;
  if (widen) code = "f4";
  int64_t inexact = 0;
  auto widened = widen ? convert(original, DType::F32, inexact) : Expected<HostTensor>(HostTensor());
  if (!widened) return widened.status();
  const HostTensor& tensor = widen ? *widened : original;
  const Sizes& shape = tensor.view().shape;
  bool bytes_only = code[1] == '1';
  std::string header =
      std::string("{'descr': '") + (bytes_only ? '|' : '<') + code + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape) header += std::to_string(extent) + ", ";
  if (shape.size() > 1) header.resize(header.size() - 2);
  if (shape.size() == 1) header.pop_back();
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  auto length = static_cast<uint16_t>(header.size());
  std::string out("\x93NUMPY\x01\x00", 8);
  out.append(reinterpret_cast<const char*>(&length), 2);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.storage().data()), tensor.storage().size());
  return out;
}

}  // namespace coda
