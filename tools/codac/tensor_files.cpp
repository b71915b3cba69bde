// Files as bytes, and the choice of format by extension.
#include "tools/codac/tensor_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace coda {
namespace {

bool ends_with(const std::string& text, const char* end) {
  size_t length = std::strlen(end);
  return text.size() >= length && text.compare(text.size() - length, length, end) == 0;
}

}  // namespace

Expected<std::string> read_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return Status(Code::NotFound, "cannot open " + path + ": " + std::strerror(errno));
  std::string content;
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, file)) content.append(buffer, got);
  bool failed = std::ferror(file);
  std::fclose(file);
  if (failed) return Status(Code::Io, "cannot read " + path);
  return content;
}

Status write_file(const std::string& path, const std::string& content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool written = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (file && std::fclose(file) != 0) written = false;
  return written ? Status() : Status(Code::Io, "cannot write " + path + ": " + std::strerror(errno));
}

Expected<HostTensor> read_tensor(const std::string& path, const std::string& name) {
  bool npy = ends_with(path, ".npy");
  if (!npy && !ends_with(path, ".safetensors")) {
    return Status(Code::InvalidArgument, path + " is neither a .npy nor a .safetensors file");
  }
  auto content = read_file(path);
  if (!content) return content.status();
  auto tensor = npy ? parse_npy(*content) : parse_safetensors(*content, name);
  if (!tensor) return tensor.status().with_context(path);
  return tensor;
}

Status write_tensor(const std::string& path, const std::string& name, const HostTensor& tensor) {
  if (ends_with(path, ".npy")) {
    auto content = format_npy(tensor);
    return content ? write_file(path, *content) : content.status();
  }
  if (!ends_with(path, ".safetensors")) {
    return Status(Code::InvalidArgument, path + " is neither a .npy nor a .safetensors file");
  }
  auto content = format_safetensors(name, tensor);
  if (!content) {
    return Status(Code::Unsupported, "a .safetensors file cannot hold " + std::string(info(tensor.view().dtype).name));
  }
  return write_file(path, *content);
}

}  // namespace coda
