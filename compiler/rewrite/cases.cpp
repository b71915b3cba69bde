#include <algorithm>

#include "compiler/rewrite/law.h"

namespace coda {

std::string CaseRandom::pick(std::initializer_list<const char*> words) {
  return *(words.begin() + whole(0, static_cast<int>(words.size()) - 1));
}

Bindings CaseRandom::sizes(std::initializer_list<const char*> symbols) {
  Bindings sizes;
  for (const char* symbol : symbols) sizes[symbol] = whole(1, 6);
  return sizes;
}

}  // namespace coda
