// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsed_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include <fmt/format.h>
#include <spawn.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/io/internal/errno_error.h"

namespace crochet::tool {
namespace {

constexpr int kSignalExitBase = 128;  // Shells add it to a signal's number.

// The environment of the program, which is this process's but for the rehearsal.
std::vector<std::string> environment_of(const RehearsedProgram& program) {
  const std::string variable = std::string(internal::kRehearsalVariable) + "=";
  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each)
    if (!std::string_view(*each).starts_with(variable)) environment.emplace_back(*each);
  environment.push_back(variable + (program.rehearsal ? internal::rehearsal_text(*program.rehearsal)
                                                      : internal::kUndisturbed));
  return environment;
}

// For the functions of the system, which end an array by a null pointer.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// Starts in the program's directory, with its output in the log.
class SpawnActions {
 public:
  explicit SpawnActions(const RehearsedProgram& program) {
    posix_spawn_file_actions_init(&actions_);
    constexpr mode_t kMode = 0666;
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, program.log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, kMode);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions_, program.directory.c_str());
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

}  // namespace

bool ProgramEnd::is_killed() const {
  return signal == SIGKILL || exit_code == kSignalExitBase + SIGKILL;
}

std::string to_string(const ProgramEnd& end) {
  return end.signal ? signal_name(*end.signal) : fmt::format("exit code {}", *end.exit_code);
}

ProgramEnd run_program(const RehearsedProgram& program) {
  const std::string& name = program.command.front();
  const std::vector<std::string> environment = environment_of(program);
  const SpawnActions actions(program);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, name.c_str(), actions.get(), nullptr,
                                   pointers(program.command).data(), pointers(environment).data());
  if (error != 0)
    throw NotFoundError(
        fmt::format("{}: cannot be started: {}", name, internal::errno_text(error)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) internal::throw_errno(errno, name, "wait");
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

}  // namespace crochet::tool
