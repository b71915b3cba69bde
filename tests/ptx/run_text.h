// Kernels of a few lines, run on the emulator.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/ptx/emulator/emulator.h"

namespace coda::ptx::testing {

/// A kernel `k` whose one parameter is the address of `memory`. Its registers are declared: %p, %h (16 bits), %r (32),
/// %d (64), 40 of each; %d0 is the address, %r0 the thread's number.
inline std::string kernel_text(const std::string& body, const std::string& attributes = "") {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dynamic[];\n"
         ".visible .entry k(.param .u64 memory)\n" +
         attributes +
         "\n{\n.reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<600>; .reg .b64 %d<40>;\n"
         "ld.param.u64 %d0, [memory]; mov.u32 %r0, %tid.x;\n" +
         body + "\nret;\n}\n";
}

struct Result {
  std::string wrong;
  std::vector<uint32_t> memory;
};

/// Runs it with `memory` of that many words, which count up if they are `written`, and 64 KiB of shared memory.
inline Result run_text(const std::string& text, unsigned threads, size_t words = 64, unsigned grid = 1,
                       bool written = true) {
  const Parsed parsed = parse(text);
  if (!parsed.module) return {parsed.wrong, {}};
  Result result{"", std::vector<uint32_t>(words)};
  for (size_t i = 0; i < words; ++i) result.memory[i] = static_cast<uint32_t>(i);
  const auto address = reinterpret_cast<uint64_t>(result.memory.data());
  GlobalMemory global;
  global.add(address, words * sizeof(uint32_t));
  if (written) global.written(address, words * sizeof(uint32_t));
  Launch launch;
  launch.grid = grid;
  launch.threads = threads;
  launch.dynamic_shared = 64 * 1024;
  launch.parameters.resize(sizeof(address));
  std::memcpy(launch.parameters.data(), &address, sizeof(address));
  launch.most_instructions = 1000000;
  result.wrong = run(parsed.module->kernels.at("k"), launch, global).wrong;
  return result;
}

}  // namespace coda::ptx::testing
