// NumPy's .npy, versions 1 to 3: a header that is a Python dict literal, then the elements.
#include <charconv>
#include <cstring>

#include "tools/codac/tensor_files.h"

namespace coda {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// The text after `'key':` in the header, leading blanks skipped; empty if there is none.
std::string_view find_value(std::string_view header, const std::string& key) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string_view::npos) return {};
  at = header.find_first_not_of(' ', at + key.size() + 2);
  if (at == std::string_view::npos || header[at] != ':') return {};
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::string_view{} : header.substr(at);
}

bool parse_shape(std::string_view text, Sizes& shape) {
  if (text.empty() || text[0] != '(') return false;
  for (text.remove_prefix(1); !text.empty();) {
    if (text[0] == ')') return true;
    if (text[0] == ',' || text[0] == ' ') {
      text.remove_prefix(1);
      continue;
    }
    int64_t extent = -1;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (read.ec != std::errc() || extent < 0 || shape.size() == kMaxRank) return false;
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  }
  return false;
}

/// `'<f4'` at the beginning of `text`, without quotes; empty for anything else, such as the fields of a structure.
std::string_view quoted(std::string_view text) {
  if (text.empty() || text[0] != '\'') return {};
  const size_t end = text.find('\'', 1);
  return end == std::string_view::npos ? std::string_view{} : text.substr(1, end - 1);
}

}  // namespace

std::optional<uint64_t> npy_header_bytes(std::string_view prefix) {
  if (prefix.size() < kTensorPrefix || !prefix.starts_with(kMagic) || prefix[6] < 1 || prefix[6] > 3) return {};
  const bool wide = prefix[6] >= 2;
  uint32_t length = 0;
  std::memcpy(&length, prefix.data() + 8, wide ? 4 : 2);
  return uint64_t{length} + (wide ? 12 : 10);
}

Expected<TensorFile> parse_npy(std::string_view header, uint64_t size) {
  auto fail = [&](const std::string& why) { return Expected<TensorFile>(Status(Code::Corrupt, why)); };
  TensorFile file;
  file.offset = header.size();
  file.bytes = size - header.size();
  const std::string_view text = header.substr(header[6] >= 2 ? 12 : 10), order = find_value(text, "fortran_order");
  file.column_major = order.starts_with("True");
  if ((!file.column_major && !order.starts_with("False")) || !parse_shape(find_value(text, "shape"), file.shape)) {
    return fail("the header is damaged");
  }
  const std::string_view code = quoted(find_value(text, "descr"));
  if (code.size() < 2) return fail("the header names no plain element type");
  file.element = npy_element(code.substr(1));
  if (!file.element || std::string_view("<|=").find(code[0]) == std::string_view::npos) {
    return fail("element type " + std::string(code) + " is not supported");
  }
  const auto elements = element_count(file.shape);
  const bool whole = elements && static_cast<uint64_t>(*elements) <= file.bytes &&
                     static_cast<uint64_t>(*elements) * static_cast<uint64_t>(file.element->bytes) == file.bytes;
  if (!whole) return fail("the data are not as long as the shape says");
  return file;
}

Expected<std::string> format_npy(const HostTensor& original) {
  const DType dtype = original.view().dtype;
  const FileElement* element = file_element(dtype);
  const bool widen = !element || element->npy.empty();
  auto widened = widen ? convert(original.view().data, dtype, original.view().shape, DType::F32)
                       : Expected<Conversion>(Conversion());
  if (!widened) return widened.status();
  const HostTensor& tensor = widen ? widened->tensor : original;
  const std::string code(widen ? "f4" : element->npy);
  const Sizes& shape = tensor.view().shape;
  std::string header =
      std::string("{'descr': '") + (code[1] == '1' ? '|' : '<') + code + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape) header += std::to_string(extent) + ", ";
  if (shape.size() > 1) header.resize(header.size() - 2);
  if (shape.size() == 1) header.pop_back();
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  auto length = static_cast<uint16_t>(header.size());
  std::string out = std::string(kMagic) + std::string("\x01\x00", 2);
  out.append(reinterpret_cast<const char*>(&length), 2);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.storage().data()), tensor.storage().size());
  return out;
}

}  // namespace coda
