// Which program an image was compiled from.
#pragma once

#include <string>

#include "runtime/jit/jit.h"

namespace coda {

/// A hash of what the routine that the request names means when `bound`, the symbols an image is specialised to, have
/// these values: names, types, facts and tensor IR, but no layout of the text, comments or schedules. Empty if the
/// program has no meaning without more values.
std::string source_hash(CompileRequest request, const Bindings& bound);

}  // namespace coda
