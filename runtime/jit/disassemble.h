// Machine code of a GPU as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "coda/status.h"

namespace coda {

/// By nvdisasm or cuobjdump, looked for beside the assembler; NotFound if neither is there.
Expected<std::string> disassemble(std::span<const uint8_t> cubin);

}  // namespace coda
