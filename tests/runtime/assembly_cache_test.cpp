// What assembled code is kept under, and what becomes of it: an assembler that counts its runs, and processes that each
// open the folder anew.
#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "runtime/assemble.h"
#include "runtime/format/hash.h"
#include "tests/runtime/cache_process.h"
#include "tests/runtime/scratch_folder.h"

using namespace coda;
using namespace coda::testing;

namespace {

const std::string kPtx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n";

/// A folder with a cache, and with assemblers whose code is the PTX behind their own version.
class Place {
 public:
  std::string assembler(const std::string& name, const std::string& version, const std::string& body = "") {
    const std::string folder = scratch_ / name, path = folder + "/ptxas";
    std::filesystem::create_directories(folder);
    const std::string work = body.empty() ? "(echo " + version + "; cat $3) > $5" : body;
    std::ofstream(path) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'release " << version << "'; exit 0; fi\n"
                        << "echo x >> " << count() << "\n"
                        << work << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  std::string count() const { return scratch_ / "count"; }
  std::string cache() const { return scratch_ / "cache"; }
  std::string entries() const { return cache() + "/entries"; }
  long runs() const {
    return std::filesystem::exists(count()) ? static_cast<long>(std::filesystem::file_size(count())) / 2 : 0;
  }
  const ScratchFolder& folder() const { return scratch_; }

 private:
  ScratchFolder scratch_;
};

struct Call {
  std::string ptxas, ptx = kPtx, target = "sm_90a", mode = "on";
};

/// Assembles in a process of its own; whether the code is that of this assembler and this PTX.
bool assembled(const Place& place, const Call& call, const std::string& version) {
  return in_child([&] {
           const Environment dir("CODA_CACHE_DIR", place.cache()), mode("CODA_CACHE", call.mode),
               ptxas("CODA_PTXAS", call.ptxas);
           const auto assembly = assemble(call.ptx, call.target);
           if (!assembly) return 1;
           return std::string(assembly->cubin.begin(), assembly->cubin.end()) == version + "\n" + call.ptx ? 0 : 2;
         }) == 0;
}

}  // namespace

TEST_CASE("code is kept under what it is made of, and nothing else of this machine") {
  Place place;
  const Call first{.ptxas = place.assembler("a", "1.0")};
  REQUIRE(assembled(place, first, "1.0"));
  REQUIRE(place.runs() == 1);
  // The same in every build, process and place.
  CHECK(std::filesystem::directory_iterator(place.entries())->path().filename() == "ada4731b2c14c5f54f3c44b9587765e9");

  const std::string elsewhere = place.assembler("b", "1.0");
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  REQUIRE(utimensat(AT_FDCWD, elsewhere.c_str(), old, 0) == 0);
  CHECK(assembled(place, {.ptxas = elsewhere}, "1.0"));  // another path and time of the same assembler
  {
    const Environment path("PATH", std::string(std::getenv("PATH")) + ":/nowhere"), user("USER", "another"),
        home("HOME", place.folder().path()), locale("LC_ALL", "C");
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(place.folder().path());
    CHECK(assembled(place, first, "1.0"));
    std::filesystem::current_path(here);
  }
  CHECK(place.runs() == 1);

  CHECK(assembled(place, {.ptxas = place.assembler("c", "1.1")}, "1.1"));
  CHECK(place.runs() == 2);
  CHECK(assembled(place, {.ptxas = first.ptxas, .target = "sm_90"}, "1.0"));
  CHECK(place.runs() == 3);
  CHECK(assembled(place, {.ptxas = first.ptxas, .ptx = kPtx + "\n"}, "1.0"));
  CHECK(place.runs() == 4);
  CHECK(files_in(place.entries()) == 4);
  CHECK(assembled(place, first, "1.0"));
  CHECK(place.runs() == 4);
}

TEST_CASE("what an assembler failed to make is not kept") {
  for (const char* failing :
       {"exit 1", "(echo 1.0; cat $3) > $5; exit 1", "(echo 1.0; cat $3) > $5; kill -9 $$", ":"}) {
    INFO(failing);
    Place place;
    CHECK_FALSE(assembled(place, {.ptxas = place.assembler("bad", "1.0", failing)}, "1.0"));
    CHECK(place.runs() == 1);
    CHECK(files_in(place.entries()) == 0);
    CHECK(assembled(place, {.ptxas = place.assembler("good", "1.0")}, "1.0"));
    CHECK(place.runs() == 2);
  }
}

TEST_CASE("without a cache every call is cold, and of a cache in memory a process's first") {
  Place place;
  const Call off{.ptxas = place.assembler("a", "1.0"), .mode = "off"};
  for (int run = 1; run <= 2; ++run) {
    CHECK(assembled(place, off, "1.0"));
    CHECK(place.runs() == run);
  }
  CHECK_FALSE(std::filesystem::exists(place.cache()));
  Call memory = off;
  memory.mode = "memory";
  CHECK(assembled(place, memory, "1.0"));
  CHECK(place.runs() == 3);
  CHECK(in_child([&] {
          const Environment mode("CODA_CACHE", "memory"), ptxas("CODA_PTXAS", off.ptxas);
          return assemble(kPtx, "sm_90a").ok() && assemble(kPtx, "sm_90a").ok() ? 0 : 1;
        }) == 0);
  CHECK(place.runs() == 4);
}

TEST_CASE("corrupt entries cost one warning and are made anew") {
  Place place;
  const std::string ptxas = place.assembler("a", "1.0"), said = place.folder() / "said";
  const std::string texts[] = {kPtx, kPtx + "// another\n"};
  for (const std::string& ptx : texts) REQUIRE(assembled(place, {.ptxas = ptxas, .ptx = ptx}, "1.0"));
  for (const auto& entry : std::filesystem::directory_iterator(place.entries())) overwrite(entry.path(), {1, 2, 3});
  CHECK(in_child([&] {
          if (!std::freopen(said.c_str(), "w", stderr)) return 1;
          const Environment dir("CODA_CACHE_DIR", place.cache()), mode("CODA_CACHE", "on"), path("CODA_PTXAS", ptxas);
          bool right = true;
          for (const std::string& ptx : texts) right = right && assemble(ptx, "sm_90a").ok();
          std::fflush(stderr);
          return right ? 0 : 2;
        }) == 0);
  CHECK(place.runs() == 4);
  const Cache::Bytes bytes = contents(said);
  const std::string text(bytes.begin(), bytes.end());
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.find("was corrupt and is made anew") != std::string::npos);
  for (const std::string& ptx : texts) CHECK(assembled(place, {.ptxas = ptxas, .ptx = ptx}, "1.0"));
  CHECK(place.runs() == 4);
}

TEST_CASE("hostile bytes of an entry under a right checksum cost an assembly, or are the code that they say they are") {
  constexpr size_t kStep = 5, kChecksum = 16;
  Place place;
  const std::string ptxas = place.assembler("a", "1.0"), right = "1.0\n" + kPtx;
  REQUIRE(assembled(place, {.ptxas = ptxas}, "1.0"));
  const std::string file = std::filesystem::directory_iterator(place.entries())->path();
  const Cache::Bytes good = contents(file);
  const size_t body = good.size() - kChecksum;
  const int tried = in_child([&] {
    const Environment dir("CODA_CACHE_DIR", place.cache()), mode("CODA_CACHE", "on"), path("CODA_PTXAS", ptxas);
    if (!std::freopen("/dev/null", "w", stderr)) return -1;
    for (size_t i = 0; i < body; i += kStep) {
      for (const uint8_t value : {uint8_t{0xff}, static_cast<uint8_t>(good[i] + 1)}) {
        auto changed = good;
        changed[i] = value;
        const Hash128 sum = hash_bytes(std::span(changed).first(body));
        std::memcpy(changed.data() + body, &sum.high, 8);
        std::memcpy(changed.data() + body + 8, &sum.low, 8);
        overwrite(file, changed);
        const auto assembly = assemble(kPtx, "sm_90a");
        if (!assembly || assembly->cubin.size() != right.size()) return -2;
      }
    }
    return 0;
  });
  CHECK(tried == 0);
  CHECK(place.runs() > 50);  // of those that were refused
}
