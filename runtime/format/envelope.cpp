#include "runtime/format/envelope.h"

#include <cstring>

#include "runtime/format/archive.h"
#include "runtime/format/hash.h"

namespace coda {

namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kHeaderBytes = kMagicBytes + sizeof(uint32_t) + sizeof(uint64_t);
constexpr size_t kChecksumBytes = 16;

template <class T>
T load(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace

Status corrupt(const FileKind& kind, const std::string& reason) {
  return {Code::Corrupt, "not a usable " + std::string(kind.what) + ": " + reason};
}

std::vector<uint8_t> seal(const FileKind& kind, const std::vector<uint8_t>& fields) {
  Writer file;
  for (const char c : kind.magic) file.field(c);
  file.field(kind.version);
  file.bytes(fields);
  std::vector<uint8_t> bytes = file.take();
  const Hash128 sum = hash_bytes(bytes);
  Writer tail;
  tail.field(sum.high);
  tail.field(sum.low);
  const std::vector<uint8_t> checksum = tail.take();
  bytes.insert(bytes.end(), checksum.begin(), checksum.end());
  return bytes;
}

bool begins_as(const FileKind& kind, std::span<const uint8_t> bytes) {
  return bytes.size() >= kMagicBytes && std::memcmp(bytes.data(), kind.magic.data(), kMagicBytes) == 0;
}

Expected<std::span<const uint8_t>> unseal(const FileKind& kind, std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes + kChecksumBytes)
    return corrupt(kind, "it is only " + std::to_string(bytes.size()) + " bytes");
  if (!begins_as(kind, bytes)) {
    return corrupt(kind, "it does not begin with " + std::string(kind.magic.substr(0, kMagicBytes - 1)));
  }
  const auto version = load<uint32_t>(bytes, kMagicBytes);
  if (version != kind.version) {
    return corrupt(kind, "it has format version " + std::to_string(version) + ", this build reads version " +
                             std::to_string(kind.version) + "; compile the kernel again");
  }
  const auto length = load<uint64_t>(bytes, kMagicBytes + sizeof(version));
  if (length != bytes.size() - kHeaderBytes - kChecksumBytes)
    return corrupt(kind, "its length is not the one it states");
  const auto body = bytes.first(bytes.size() - kChecksumBytes);
  const Hash128 stored{load<uint64_t>(bytes, body.size()), load<uint64_t>(bytes, body.size() + 8)};
  if (hash_bytes(body) != stored) return corrupt(kind, "its checksum does not match");
  return body.subspan(kHeaderBytes);
}

}  // namespace coda
