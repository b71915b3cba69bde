// codac: checks, formats, compiles, explains and runs .coda programs. This file only hands the arguments on, and turns
// what no command has an answer for into a message and an exit code.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <system_error>

#include "dsl/suggest.h"
#include "runtime/options.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"

namespace coda {
namespace {

/// What CLI11 says of a misspelt command is that it was not expected.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands(nullptr)) commands.push_back(command->get_name());
  const std::string first = argc > 1 ? argv[1] : "";
  const bool known = std::find(commands.begin(), commands.end(), first) != commands.end();
  if (error.get_exit_code() != 0 && !first.empty() && first[0] != '-' && !known) {
    return fail(kExitUsage, "no command `" + first + "`; " + suggestion(first, commands, "the commands", ""));
  }
  return app.exit(error) == 0 ? kExitOk : kExitUsage;
}

int run(int argc, char** argv) {
  CLI::App app("codac compiles .coda programs: GEMMs with everything around them, in one kernel", "codac");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  Action action;
  for (auto add :
       {add_check, add_fmt, add_build, add_explain, add_run, add_doctor, add_cache, add_grad, add_tune, add_doc_ops}) {
    add(app, action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argc, argv);
  }
  return action();
}

int run_or_explain(int argc, char** argv) {
  // Else the driver, where it assembles, would still find what it did before.
  if (option(Option::Cache) == "off") ::setenv("CUDA_CACHE_DISABLE", "1", 0);
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail(kExitEnvironment, "there is not enough memory");
  } catch (const std::exception& error) {
    return fail(kExitEnvironment, error.what());
  }
}

}  // namespace
}  // namespace coda

int main(int argc, char** argv) {
  const int code = coda::run_or_explain(argc, argv);
  std::cout.flush();
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const std::string reason = errno != 0 ? std::generic_category().message(errno) : "an earlier write failed";
    const int failed = coda::fail(coda::kExitEnvironment, "cannot write to stdout: " + reason);
    return code == coda::kExitOk ? failed : code;
  }
  return code;
}
