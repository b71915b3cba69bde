// The C++ interface of coda, for programs that embed it:
//
//   auto image = coda::compile_text({.text = source, .kernel = "gate_up", .target = "sm_90a"});
//   auto kernel = coda::prepare(*image, 0);
//   (*kernel)->launch(arguments, stream);
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "coda/status.h"
#include "runtime/device.h"
#include "runtime/dlpack.h"
#include "runtime/kernel.h"
#include "runtime/recording.h"
#include "runtime/tensor.h"

namespace coda {

struct SourceText {
  std::string text;
  std::string path = "<text>";  ///< names the text in messages; imports are relative to it
  std::string kernel;           ///< or block; empty: the only one of the text
  std::string target = "host";  ///< or "sm_90a"
  Bindings dims;                ///< a block is planned for these sizes, and stays right for all
};
/// A kernel, or a block's plan; no different for the caller. The program's diagnostics are the message of a failure. In
/// libcoda only, not in a runtime built without the compiler. From any thread, as all here.
Expected<std::shared_ptr<const Image>> compile_text(const SourceText& source);

/// One of the program's diagnostics, as data.
struct ProgramMessage {
  enum class Severity { Error, Warning, Remark };
  /// Lines and columns from 1, in code points; the end is behind the last one. Line 0: of no place in a text.
  struct Range {
    std::string path;
    int line = 0, column = 0, end_line = 0, end_column = 0;
  };
  struct Note {
    Range range;
    std::string text;
  };
  Severity severity = Severity::Error;
  std::string id;  ///< "E0312"
  std::string text, way_out;
  Range range;
  std::vector<Note> notes;
};
/// The same. `messages` becomes all that there is to say, by position; of a program that compiles too.
Expected<std::shared_ptr<const Image>> compile_text(const SourceText& source, std::vector<ProgramMessage>& messages);
/// The same on a thread of its own. The last copy of the future waits for it.
std::shared_future<Expected<std::shared_ptr<const Image>>> compile_text_async(SourceText source);

}  // namespace coda
