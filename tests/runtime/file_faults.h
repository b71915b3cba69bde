// Faults of this process's file system calls (open, write, fsync, rename, unlink), at a chosen one of them.
#pragma once

namespace coda::testing {

enum class FileFault {
  None,
  Kill,         ///< SIGKILL before the call
  KillHalfway,  ///< SIGKILL after half of a write, or after another call
  Fail,         ///< no space left
  Lose,         ///< from there on, a rename succeeds and its file is not to be seen: what a network file system may do
};
/// At the call number `call`, from 0 and from now on.
void arm_file_fault(FileFault fault, int call);
/// Calls since then.
int file_calls();

}  // namespace coda::testing
