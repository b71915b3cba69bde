// Tensors from and to files: NumPy's .npy and .safetensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coda/status.h"
#include "tools/codac/elements.h"

namespace coda {

/// An element type as files name it.
struct FileElement {
  std::string_view name;              ///< as in our language, or alike
  std::string_view npy, safetensors;  ///< codes; empty where the format lacks it
  int bytes;
  std::optional<ElementType> type;  ///< none: bytes whose meaning the file does not say
};
const FileElement* npy_element(std::string_view code);
const FileElement* safetensors_element(std::string_view code);
const FileElement* file_element(DType dtype);

/// A tensor in a file, as the header describes it. The elements are read when they are wanted, and as what.
struct TensorFile {
  std::string path;
  const FileElement* element = nullptr;
  Sizes shape;
  bool column_major = false;
  uint64_t offset = 0, bytes = 0;  ///< of the elements in the file
};

/// Reads the header of `path`; of a .safetensors file for the tensor called `name`. The file must be regular, and hold
/// what its header says.
Expected<TensorFile> open_tensor(const std::string& path, const std::string& name);
/// Takes the elements' bytes as another type of the same width, as for types that NumPy does not know.
Status view_as(TensorFile& file, DType dtype);
/// The elements, converted. A file of two-byte elements that have no name may hold bf16 alone, as NumPy writes it.
Expected<Conversion> read_tensor(const TensorFile& file, DType dtype);

/// Whether a file of that extension can hold the type: known before there is a tensor.
Status check_tensor_output(const std::string& path, DType dtype);
/// Writes by the extension of `path`. A .npy file has no bf16 and no 8-bit floats: those are widened to f32, which is
/// exact. A .safetensors file keeps every type it knows.
Status write_tensor(const std::string& path, const std::string& name, const HostTensor& tensor);

// By format: what opens a file needs the header's length first, from the file's first kTensorPrefix bytes.
inline constexpr uint64_t kTensorPrefix = 12, kLongestTensorHeader = uint64_t{100} << 20;
/// Bytes before the elements; nothing if `prefix` does not begin such a file.
std::optional<uint64_t> npy_header_bytes(std::string_view prefix);
std::optional<uint64_t> safetensors_header_bytes(std::string_view prefix);
/// `header`: all before the elements; `size`: of the file.
Expected<TensorFile> parse_npy(std::string_view header, uint64_t size);
Expected<TensorFile> parse_safetensors(std::string_view header, uint64_t size, const std::string& name);
Expected<std::string> format_npy(const HostTensor& tensor);
std::optional<std::string> format_safetensors(const std::string& name, const HostTensor& tensor);

}  // namespace coda
