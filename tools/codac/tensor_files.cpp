// The choice of format by extension.
#include "tools/codac/tensor_files.h"

#include <cstring>

#include "runtime/format/file_io.h"

namespace coda {
namespace {

bool ends_with(const std::string& text, const char* end) {
  size_t length = std::strlen(end);
  return text.size() >= length && text.compare(text.size() - length, length, end) == 0;
}

constexpr uint64_t kLargestFile = uint64_t{1} << 36;

std::span<const uint8_t> as_bytes(const std::string& content) {
  return {reinterpret_cast<const uint8_t*>(content.data()), content.size()};
}

}  // namespace

Expected<HostTensor> read_tensor(const std::string& path, const std::string& name) {
  bool npy = ends_with(path, ".npy");
  if (!npy && !ends_with(path, ".safetensors")) {
    return Status(Code::InvalidArgument, path + " is neither a .npy nor a .safetensors file");
  }
  auto bytes = read_file(path, kLargestFile);
  if (!bytes) return bytes.status();
  std::string_view content(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  auto tensor = npy ? parse_npy(content) : parse_safetensors(content, name);
  if (!tensor) return tensor.status().with_context(path);
  return tensor;
}

Status write_tensor(const std::string& path, const std::string& name, const HostTensor& tensor) {
  if (ends_with(path, ".npy")) {
    auto content = format_npy(tensor);
    return content ? write_file_whole(path, as_bytes(*content)) : content.status();
  }
  if (!ends_with(path, ".safetensors")) {
    return Status(Code::InvalidArgument, path + " is neither a .npy nor a .safetensors file");
  }
  auto content = format_safetensors(name, tensor);
  if (!content) {
    return Status(Code::Unsupported, "a .safetensors file cannot hold " + std::string(info(tensor.view().dtype).name));
  }
  return write_file_whole(path, as_bytes(*content));
}

}  // namespace coda
