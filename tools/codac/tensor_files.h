// Tensors from and to files: NumPy's .npy and .safetensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coda/status.h"
#include "tools/codac/elements.h"

namespace coda {

/// Reads `path`; for a .safetensors file the tensor called `name`.
Expected<HostTensor> read_tensor(const std::string& path, const std::string& name);
/// Writes by the extension of `path`. A .npy file has no bf16 and no 8-bit floats: those are widened to f32, which is
/// exact. A .safetensors file keeps every type it knows.
Status write_tensor(const std::string& path, const std::string& name, const HostTensor& tensor);

// By format.
Expected<HostTensor> parse_npy(std::string_view content);
Expected<std::string> format_npy(const HostTensor& tensor);
Expected<HostTensor> parse_safetensors(std::string_view content, const std::string& name);
std::optional<std::string> format_safetensors(const std::string& name, const HostTensor& tensor);

}  // namespace coda
