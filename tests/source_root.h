// Where the project's sources lie, for tests that read examples, goldens and documents.
#pragma once

#include <string>

std::string source_root();
