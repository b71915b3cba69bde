#include "runtime/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/format/file_io.h"

extern char** environ;

namespace coda {

namespace {

constexpr size_t kMaxOutput = size_t{16} << 20;

Expected<pid_t> spawn(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return errno_status("cannot run", arguments[0], error);
  return pid;
}

/// Reads until the writers are gone; false if `limit` passed first.
bool drain(int fd, std::chrono::seconds limit, std::string& output) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  char buffer[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left.count(), 1 << 30)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (output.size() < kMaxOutput) output.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

Expected<ProcessResult> run_process(const std::vector<std::string>& arguments, std::chrono::seconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_status("cannot make a pipe to", arguments[0], errno);
  const FileHandle read_end(ends[0]);
  FileHandle write_end(ends[1]);
  const auto pid = spawn(arguments, write_end.get());
  write_end.close();
  if (!pid) return pid.status();

  ProcessResult result;
  const bool finished = drain(read_end.get(), limit, result.output);
  if (!finished) ::kill(*pid, SIGKILL);
  int state = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(*pid, &state, 0);
  } while (waited < 0 && errno == EINTR);
  if (!finished) {
    return Status(Code::Driver, "'" + arguments[0] + "' did not finish in " + std::to_string(limit.count()) + " s");
  }
  // A host program may collect all children itself; then only the output tells how it went.
  if (waited < 0) result.exit_code = 0;
  if (waited >= 0) result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return result;
}

}  // namespace coda
