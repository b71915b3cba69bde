// The C++ header that `codac build --header` writes beside an artefact: its parameters as named, typed members, so that
// a wrong call does not compile.
#pragma once

#include <string>

#include "runtime/format/signature.h"

namespace coda {

/// `source` is named in the header's first line. The header needs the runtime alone.
std::string launch_header(const Signature& signature, const std::string& source);

}  // namespace coda
