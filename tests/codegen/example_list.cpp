#include "example_list.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/source_root.h"

namespace coda::test {

namespace {

std::string read(const std::string& path) {
  std::ifstream file(source_root() + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  INFO(path);
  REQUIRE(file);
  return text.str();
}

/// "name=value" or "name%value".
void take(const std::string& word, char at, std::map<std::string, int64_t>& into) {
  const size_t place = word.find(at);
  if (place != std::string::npos) into[word.substr(0, place)] = std::stoll(word.substr(place + 1));
}

}  // namespace

std::vector<Example> listed_examples() {
  std::vector<Example> result;
  std::istringstream table(read("tests/codegen/examples.txt"));
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string file, fixed, sizes;
    std::getline(fields, file, '|');
    std::getline(fields, fixed, '|');
    std::getline(fields, sizes);
    Example example;
    example.file = file.substr(0, file.find(' '));
    example.text = read("examples/" + example.file);
    std::istringstream fixed_words(fixed), size_words(sizes);
    for (std::string word; fixed_words >> word;) {
      example.is_block = example.is_block || word == "block";
      example.loose = example.loose || word == "loose";
      example.host_only = example.host_only || word == "host";
      take(word, '=', example.bound);
      take(word, '%', example.multiples);
    }
    for (std::string word; size_words >> word;) take(word, '=', example.sizes);
    result.push_back(example);
  }
  return result;
}

}  // namespace coda::test
