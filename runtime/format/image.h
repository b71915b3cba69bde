// Compiled code of either kind: a kernel, or the plan of a block.
#pragma once

#include <variant>

#include "runtime/format/plan_image.h"

namespace coda {

using Image = std::variant<KernelImage, PlanImage>;

inline const Signature& signature(const Image& image) {
  return std::visit([](const auto& kind) -> const Signature& { return kind; }, image);
}

/// Larger files are refused unread.
inline constexpr uint64_t kMaxImageFileBytes = uint64_t{1} << 30;

Expected<Image> any_image_from_bytes(std::span<const uint8_t> bytes);
/// The file appears whole or not at all.
Status save_image(const Image& image, const std::string& path);
Expected<Image> load_image(const std::string& path);

}  // namespace coda
