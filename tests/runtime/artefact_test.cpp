// An artefact's stored form, what is refused in one, and which of its images a device is given.
#include "runtime/format/artefact.h"

#include <catch2/catch.hpp>

#include "runtime/kernel.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"
#include "tests/runtime/hostile_bytes.h"
#include "tests/runtime/sample_image.h"
#include "tests/runtime/scratch_folder.h"

using namespace coda;

namespace {

std::shared_ptr<const Image> image_of(const std::string& target) {
  KernelImage image = testing::sample_image();
  image.target = target;
  return std::make_shared<const Image>(std::move(image));
}

Artefact fat(std::initializer_list<const char*> targets) {
  Artefact artefact;
  for (const char* target : targets) artefact.images.push_back(image_of(target));
  return artefact;
}

}  // namespace

TEST_CASE("an artefact survives its stored form, and a single image is one") {
  const Artefact artefact = fat({"sm_90a", "host"});
  const auto bytes = to_bytes(artefact);
  const auto back = artefact_from_bytes(bytes);
  INFO(back.status().message());
  REQUIRE(back.ok());
  CHECK(to_bytes(*back) == bytes);
  CHECK(back->targets() == "sm_90a, host");
  CHECK(back->language == kLanguageVersion);

  const testing::ScratchFolder folder;
  const std::string path = folder.path() + "/gate_up.bin";
  REQUIRE(save_artefact(artefact, path).ok());
  CHECK(load_artefact(path)->images.size() == 2);
  CHECK(load_image(path).status().message().find("load_artefact() reads it") != std::string::npos);
  REQUIRE(save_artefact(fat({"host"}), path).ok());
  CHECK(load_image(path).ok());
  CHECK(load_artefact(path)->targets() == "host");
  CHECK(load_artefact(folder.path() + "/none").status().code() == Code::NotFound);
}

TEST_CASE("every truncation and every changed byte of an artefact is refused") {
  const auto bytes = to_bytes(fat({"sm_90a", "host"}));
  for (size_t length = 0; length < bytes.size(); length += 3) {
    CHECK(artefact_from_bytes(std::span(bytes).first(length)).status().code() == Code::Corrupt);
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= static_cast<uint8_t>(1u << (i % 8));
    CHECK(artefact_from_bytes(changed).status().code() == Code::Corrupt);
  }
}

TEST_CASE("hostile bytes of an artefact under a right checksum are refused without harm") {
  const auto bytes = to_bytes(fat({"sm_90a", "host"}));
  const int refused = testing::count_refusals(bytes, [](const std::vector<uint8_t>& changed) {
    const auto artefact = artefact_from_bytes(changed);
    if (artefact.ok()) CHECK(check_artefact(*artefact).ok());
    return !artefact.ok();
  });
  CHECK(refused > 1000);
}

TEST_CASE("what contradicts itself in an artefact is named") {
  CHECK(check_artefact({}).message() == "not a usable artefact: it holds no code");
  CHECK(check_artefact(fat({"host", "sm_90a", "host"})).message() ==
        "not a usable artefact: it holds code for host twice");
  Artefact newer = fat({"host", "sm_90a"});
  newer.language = kLanguageVersion + 1;
  CHECK(artefact_from_bytes(to_bytes(newer)).status().message().find("language version") != std::string::npos);

  const auto differs = [](auto change) {
    KernelImage other = testing::sample_image();
    change(other);
    Artefact artefact = fat({"host"});
    artefact.images.push_back(std::make_shared<const Image>(std::move(other)));
    const Status status = check_artefact(artefact);
    return status.message().find("takes other arguments than that for host") != std::string::npos &&
           !save_artefact(artefact, "/nonexistent/never").ok();
  };
  CHECK(differs([](KernelImage& image) { image.name = "other"; }));
  CHECK(differs([](KernelImage& image) { image.params[0].dtype = DType::F16; }));
  CHECK(differs([](KernelImage& image) { image.params[0].name = "y"; }));
  CHECK(differs([](KernelImage& image) { image.params[1].extents[0] = Dim::symbol("F"); }));
  CHECK(differs([](KernelImage& image) { image.params[3].default_value = 2; }));
  CHECK(differs([](KernelImage& image) { image.params[3].default_value = 1.5 + 1e-9; }));
  CHECK(differs([](KernelImage& image) { image.facts.clear(); }));
  CHECK(differs([](KernelImage& image) { std::swap(image.params[0], image.params[1]); }));
}

TEST_CASE("a device is given the code that it runs, or told what there is") {
  fake_cuda::reset();
  const auto target = [](const Artefact& artefact, int device) {
    const auto image = image_for(artefact, device);
    return image ? signature(**image).target : image.status().message();
  };
  CHECK(target(fat({"sm_90a", "host"}), 0) == "sm_90a");
  CHECK(target(fat({"host", "sm_80", "sm_90a"}), 1) == "sm_80");
  CHECK(target(fat({"sm_90a", "host"}), kHostDevice) == "host");
  CHECK(
      target(fat({"sm_90a", "host"}), 1) ==
      "'gate_up' is compiled for sm_90a, host, not for CUDA device 1 (Fake A100), which is sm_80; compile it for that "
      "too");
  CHECK(target(fat({"sm_90a", "sm_80"}), kHostDevice) ==
        "'gate_up' is compiled for sm_90a, sm_80, not for the host; compile it for that too");
  CHECK(target({}, 0) == "the artefact is empty");
  CHECK(prepare(fat({"sm_90a", "host"}), 2).status().code() == Code::NotFound);
  CHECK(prepare(fat({"sm_90a"}), 1).status().message().find("the code is for sm_90a") == 0);
}
