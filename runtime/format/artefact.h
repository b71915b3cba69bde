// One program compiled for several targets: what `codac build --arch=sm_90a,host` writes and `prepare` chooses from. A
// file with a single image reads as an artefact too, so whoever loads one needs to know no other kind.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/format/image.h"

namespace coda {

/// The language of this build's compiler; grows when a program may mean something else.
inline constexpr uint32_t kLanguageVersion = 1;

struct Artefact {
  uint32_t language = kLanguageVersion;              ///< that the program was compiled as
  std::vector<std::shared_ptr<const Image>> images;  ///< at least one, each for another target, of equal interface
  /// By image, a hash of the program it was compiled from, by which `codac run --image` knows another one; none where
  /// whoever compiled it gave none.
  std::vector<std::string> sources;

  /// Of the first image; apart from `target` and `bound` the same for all.
  const Signature& signature() const { return coda::signature(*images.front()); }
  /// "sm_90a, host".
  std::string targets() const;
};

/// "bf16[M, K]".
std::string type_text(const ParamSpec& param);
/// Reads back as the same number.
std::string exact_text(double value);
/// "gate_up(in x: bf16[M, K], ..., out act: bf16[M, F]) where K mod 8 = 0": equal where callers see no difference.
std::string interface_text(const Signature& signature);

extern const FileKind kArtefactFile;
/// Equal artefacts give equal bytes.
std::vector<uint8_t> to_bytes(const Artefact& artefact);
/// An artefact, a kernel image or a plan; Corrupt for anything else.
Expected<Artefact> artefact_from_bytes(std::span<const uint8_t> bytes);
/// What is wrong with it: no image, two for one target, images of different interfaces, sources of some alone.
Status check_artefact(const Artefact& artefact);

/// The file appears whole or not at all.
Status save_artefact(const Artefact& artefact, const std::string& path);
Expected<Artefact> load_artefact(const std::string& path);

}  // namespace coda
