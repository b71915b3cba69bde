#include "tests/dsl/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/source_root.h"

namespace coda {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<CorpusText> fenced_blocks(const std::string& path) {
  std::vector<CorpusText> blocks;
  std::istringstream in(read_file(path));
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!inside && line == "```coda") {
      inside = true;
      blocks.push_back({path + ":" + std::to_string(number), ""});
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

std::vector<CorpusText> coda_files(const std::vector<std::string>& folders) {
  std::vector<CorpusText> files;
  for (const std::string& folder : folders) {
    const std::filesystem::path root = std::filesystem::path(source_root()) / folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".coda")
        files.push_back({entry.path().string(), read_file(entry.path().string())});
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.origin < b.origin; });
  return files;
}

}  // namespace coda
