// What was found on this machine, as one line each.
#pragma once

#include <string>

namespace coda {

std::string describe_cache();
std::string describe_assembler();

}  // namespace coda
