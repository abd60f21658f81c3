// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

int exit_status(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  int to_child[2];
  int from_child[2];
  // Not inherited by other children, as they would keep the pipes open.
  if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0)
    throw InternalError(fmt::format("{}: cannot create a pipe", command[0]));
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(to_child[0], STDIN_FILENO);
    ::dup2(from_child[1], STDOUT_FILENO);
    become(command);
  }
  ::close(to_child[0]);
  ::close(from_child[1]);
  input_ = to_child[1];
  output_end_ = from_child[0];
  if (pid_ < 0) throw InternalError(fmt::format("{}: cannot create a process", command[0]));
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) kill();
  ::close(input_);
  ::close(output_end_);
}

std::string ChildProcess::read_line() {
  std::string line;
  for (char c; ::read(output_end_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void ChildProcess::write(const std::string& text) {
  if (::write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw InternalError("the program does not read its input");
}

void ChildProcess::kill() {
  ::kill(pid_, SIGKILL);
  exit_status(std::exchange(pid_, -1));
}

int ChildProcess::wait() {
  char buffer[4096];
  for (ssize_t n; (n = ::read(output_end_, buffer, sizeof(buffer))) > 0;)
    output_.append(buffer, static_cast<size_t>(n));
  return exit_status(std::exchange(pid_, -1));
}

}  // namespace crochet
