// codac: checks, formats, compiles, explains and runs .coda programs. This file only hands the arguments on.
#include "tools/codac/command.h"

int main(int argc, char** argv) {
  CLI::App app("codac compiles .coda programs: GEMMs with everything around them, in one kernel", "codac");
  app.set_version_flag("--version", coda::version_text());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  coda::Action action;
  for (auto add : {coda::add_check, coda::add_fmt, coda::add_build, coda::add_explain, coda::add_run, coda::add_doctor,
                   coda::add_cache, coda::add_grad, coda::add_tune, coda::add_doc_ops}) {
    add(app, action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? coda::kExitOk : coda::kExitUsage;
  }
  return action();
}
