// Every program of the repository: .coda files, and fenced blocks of its pages.
#pragma once

#include <string>
#include <vector>

namespace coda {

struct CorpusText {
  std::string origin;  ///< path, for a block with its line
  std::string text;
};

std::string read_file(const std::string& path);
/// The ```coda blocks of a Markdown page.
std::vector<CorpusText> fenced_blocks(const std::string& path);
/// All .coda files below the given folders of the source tree, sorted.
std::vector<CorpusText> coda_files(const std::vector<std::string>& folders);

}  // namespace coda
