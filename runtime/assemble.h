// From PTX to machine code: by ptxas where there is one, with its report, through the cache; else PTX goes to the
// driver as it is, which assembles it when it is loaded and keeps a cache of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coda/status.h"
#include "runtime/device.h"
#include "runtime/format/kernel_image.h"

namespace coda {

struct Assembler {
  std::string path;
  std::string version;  ///< its own words; part of the cache's key
};
/// The ptxas of CODA_PTXAS, $PATH or /usr/local/cuda/bin; NotFound if there is none, or CODA_PTXAS says 'driver'.
Expected<Assembler> find_assembler();

struct Assembly {
  std::vector<uint8_t> cubin;
  std::string log;
  int registers = 0;    ///< the most of any entry
  int spill_bytes = 0;  ///< stores and loads together
};

/// What ptxas -v says of registers and spills, into `assembly`.
void read_assembler_log(const std::string& log, Assembly& assembly);
/// The first line that reports serialised tensor-core code or an ignored register setting (C75xx); empty if none does.
std::string broken_pipeline_line(const std::string& log);

/// Runs the assembler, without a shell and without the cache. Code with a broken pipeline is an error: it would run at
/// a fraction of its speed.
Expected<Assembly> run_assembler(const Assembler& assembler, std::string_view ptx, const std::string& target);

/// As run_assembler() with find_assembler(), through the cache.
Expected<Assembly> assemble(std::string_view ptx, const std::string& target);

/// What to load for an image: its cubin, or its PTX assembled if there is an assembler, or else its PTX, terminated.
Expected<std::vector<uint8_t>> device_code(const KernelImage& image);

}  // namespace coda
