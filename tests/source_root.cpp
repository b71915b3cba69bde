#include "tests/source_root.h"

std::string source_root() { return CODA_SOURCE_DIR; }
