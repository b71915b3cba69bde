// The choice of format by extension, and the reading of elements.
#include "tools/codac/tensor_files.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "runtime/format/file_io.h"
#include "runtime/format/output_file.h"

namespace coda {
namespace {

constexpr FileElement kElements[] = {{"f64", "f8", "F64", 8, FileType::F64},
                                     {"f32", "f4", "F32", 4, DType::F32},
                                     {"f16", "f2", "F16", 2, DType::F16},
                                     {"bf16", "", "BF16", 2, DType::BF16},
                                     {"e4m3", "", "F8_E4M3", 1, DType::E4M3},
                                     {"e5m2", "", "F8_E5M2", 1, DType::E5M2},
                                     {"ue8m0", "", "F8_E8M0", 1, DType::UE8M0},
                                     {"i64", "i8", "I64", 8, DType::I64},
                                     {"i32", "i4", "I32", 4, DType::I32},
                                     {"i16", "i2", "I16", 2, FileType::I16},
                                     {"i8", "i1", "I8", 1, DType::I8},
                                     {"u64", "u8", "U64", 8, FileType::U64},
                                     {"u32", "u4", "U32", 4, FileType::U32},
                                     {"u16", "u2", "U16", 2, FileType::U16},
                                     {"u8", "u1", "U8", 1, DType::U8},
                                     {"bool", "b1", "BOOL", 1, DType::Bool},
                                     {"bytes", "V1", "", 1, {}},
                                     {"pairs of bytes", "V2", "", 2, {}}};

template <typename Test>
const FileElement* find_element(Test test) {
  const auto found = std::find_if(std::begin(kElements), std::end(kElements), test);
  return found == std::end(kElements) ? nullptr : found;
}

struct Format {
  std::string_view extension;
  std::optional<uint64_t> (*header_bytes)(std::string_view prefix);
};
constexpr Format kFormats[] = {{".npy", npy_header_bytes}, {".safetensors", safetensors_header_bytes}};

const Format* format_of(const std::string& path) {
  for (const Format& format : kFormats) {
    if (path.ends_with(format.extension)) return &format;
  }
  return nullptr;
}

Status no_format(const std::string& path) {
  return {Code::InvalidArgument, path + " is neither a .npy nor a .safetensors file"};
}

std::span<const uint8_t> as_bytes(const std::string& content) {
  return {reinterpret_cast<const uint8_t*>(content.data()), content.size()};
}

Status corrupt_file(const std::string& path, const std::string& why) { return {Code::Corrupt, path + ": " + why}; }

/// Column-major elements in row-major order.
std::vector<uint8_t> row_major(const std::vector<uint8_t>& source, const Sizes& shape, size_t width) {
  std::vector<uint8_t> result(source.size());
  const size_t elements = source.size() / width;
  std::vector<int64_t> at(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < elements; ++i) {
    int64_t offset = 0;
    for (int axis = shape.size() - 1; axis >= 0; --axis) offset = offset * shape[axis] + at[static_cast<size_t>(axis)];
    std::memcpy(&result[i * width], &source[static_cast<size_t>(offset) * width], width);
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      if (++at[static_cast<size_t>(axis)] < shape[axis]) break;
      at[static_cast<size_t>(axis)] = 0;
    }
  }
  return result;
}

/// What a file without a type of its own is read as, for a parameter of type `dtype`.
Expected<ElementType> type_for(const TensorFile& file, DType dtype) {
  if (file.element->type) return *file.element->type;
  if (file.element->bytes == 2 && dtype == DType::BF16) return ElementType(DType::BF16);
  const std::string example = file.element->bytes == 2 ? "bf16" : "e4m3";
  return Status(Code::InvalidArgument, file.path + " holds " + std::string(file.element->name) +
                                           " and does not say what they mean; say it, as in NAME=" + file.path + ":" +
                                           example + ", or give a .safetensors file");
}

}  // namespace

const FileElement* npy_element(std::string_view code) {
  return find_element([&](const FileElement& e) { return e.npy == code && !code.empty(); });
}
const FileElement* safetensors_element(std::string_view code) {
  return find_element([&](const FileElement& e) { return e.safetensors == code && !code.empty(); });
}
const FileElement* file_element(DType dtype) {
  return find_element([&](const FileElement& e) { return e.type == ElementType(dtype); });
}

Expected<TensorFile> open_tensor(const std::string& path, const std::string& name) {
  const Format* format = format_of(path);
  if (!format) return no_format(path);
  uint64_t size = 0;
  auto file = open_regular(path, size);
  if (!file) return file.status();
  std::string prefix(std::min(size, kTensorPrefix), '\0');
  const auto read = [&](std::string& into) {
    return read_at(*file, path, 0, {reinterpret_cast<uint8_t*>(into.data()), into.size()});
  };
  if (Status status = read(prefix); !status.ok()) return status;
  const auto length = format->header_bytes(prefix);
  if (!length) return corrupt_file(path, "not a " + std::string(format->extension) + " file");
  if (*length > size) return corrupt_file(path, "the header is cut short");
  if (*length > kLongestTensorHeader) return corrupt_file(path, "the header is too long");
  std::string header(*length, '\0');
  if (Status status = read(header); !status.ok()) return status;
  auto tensor = format->extension == ".npy" ? parse_npy(header, size) : parse_safetensors(header, size, name);
  if (!tensor) return tensor.status().with_context(path);
  tensor->path = path;
  return tensor;
}

Status view_as(TensorFile& file, DType dtype) {
  const FileElement* element = file_element(dtype);
  const bool named = element && (!file.element->type || file.element->type == ElementType(DType::U8) ||
                                 file.element->type == ElementType(FileType::U16) || file.element == element);
  if (!named || element->bytes != file.element->bytes) {
    return {Code::InvalidArgument, file.path + " holds " + std::string(file.element->name) +
                                       ", whose bytes can't be taken as " + std::string(info(dtype).name)};
  }
  file.element = element;
  return {};
}

Expected<Conversion> read_tensor(const TensorFile& file, DType dtype) {
  const auto type = type_for(file, dtype);
  if (!type) return type.status();
  uint64_t size = 0;
  auto handle = open_regular(file.path, size);
  if (!handle) return handle.status();
  // Bytes of a truth value may be any, and are made 0 or 1 like other conversions.
  if (*type == ElementType(dtype) && dtype != DType::Bool && !file.column_major) {
    auto tensor = HostTensor::create(dtype, file.shape);
    if (!tensor) return tensor.status().with_context(file.path);
    Status status = read_at(*handle, file.path, file.offset, tensor->storage());
    return status.ok() ? Expected<Conversion>(Conversion{std::move(*tensor)}) : status;
  }
  std::vector<uint8_t> bytes(file.bytes);
  if (Status status = read_at(*handle, file.path, file.offset, bytes); !status.ok()) return status;
  if (file.column_major) bytes = row_major(bytes, file.shape, static_cast<size_t>(file.element->bytes));
  return convert(bytes.data(), *type, file.shape, dtype);
}

Status check_tensor_output(const std::string& path, DType dtype) {
  const Format* format = format_of(path);
  if (!format) return no_format(path);
  const FileElement* element = file_element(dtype);
  if (format->extension == ".safetensors" && (!element || element->safetensors.empty())) {
    return {Code::InvalidArgument, "a .safetensors file cannot hold " + std::string(info(dtype).name)};
  }
  return {};
}

Status write_tensor(const std::string& path, const std::string& name, const HostTensor& tensor) {
  if (Status status = check_tensor_output(path, tensor.view().dtype); !status.ok()) return status;
  if (format_of(path)->extension == ".npy") {
    auto content = format_npy(tensor);
    return content ? write_output(path, as_bytes(*content)) : content.status();
  }
  return write_output(path, as_bytes(*format_safetensors(name, tensor)));
}

}  // namespace coda
