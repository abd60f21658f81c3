// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace crochet {
namespace {

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
  return {ends[0], ends[1]};
}

Pipe make_terminal(int columns) {
  struct winsize size = {};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  Pipe pipe;
  if (::openpty(&pipe.read_end, &pipe.write_end, nullptr, nullptr, &size) != 0)
    throw_errno("openpty");
  ::fcntl(pipe.read_end, F_SETFD, FD_CLOEXEC);
  return pipe;
}

// In the child: only calls that are safe between fork and exec.
[[noreturn]] void become_program(const std::vector<char*>& argv,
                                 const std::vector<char*>& environment, int out, int err,
                                 const ProgramOptions& options) {
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (options.largest_file) {
    const struct rlimit limit = {*options.largest_file, *options.largest_file};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);  // So that writes fail with EFBIG instead.
  }
  ::execve(argv[0], argv.data(), environment.data());
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The tests' environment without variables that affect the output, plus the additions.
std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> environment = additions;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto is = [&](const char* name) { return text.starts_with(std::string(name) + "="); };
    if (!is("NO_COLOR") && !is("COLUMNS") && !is("TERM") && !is("LC_ALL") && !is("LANG"))
      environment.push_back(text);
  }
  return environment;
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  std::vector<std::string> words = {DIGITS_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(options.environment);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> environment = pointers(variables);

  const Pipe out =
      options.terminal_columns ? make_terminal(*options.terminal_columns) : make_pipe();
  const Pipe err = options.terminal_columns ? Pipe{-1, ::dup(out.write_end)} : make_pipe();
  pid_ = ::fork();
  if (pid_ == 0) become_program(argv, environment, out.write_end, err.write_end, options);
  ::close(out.write_end);
  ::close(err.write_end);
  out_ = out.read_end;
  err_ = err.read_end;
  if (pid_ < 0) throw_errno("fork");
}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Program::send_signal(int signal) const {
  if (::kill(pid_, signal) != 0) throw_errno("kill");
}

bool Program::read_some(std::chrono::microseconds timeout) {
  std::array<struct pollfd, 2> streams = {{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
  if (out_ < 0 && err_ < 0) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const struct timespec limit = {seconds.count(), (timeout - seconds).count() * 1000};
  if (::ppoll(streams.data(), streams.size(), &limit, nullptr) < 0) throw_errno("ppoll");
  const auto take = [](const struct pollfd& stream, int& descriptor, std::string& text) {
    if (stream.revents == 0) return;
    std::array<char, 65536> bytes;
    const ssize_t count = ::read(stream.fd, bytes.data(), bytes.size());
    if (count > 0) {
      text.append(bytes.data(), static_cast<size_t>(count));
    } else {  // The end; a terminal reports it as EIO.
      ::close(descriptor);
      descriptor = -1;
    }
  };
  take(streams[0], out_, ending_.out);
  take(streams[1], err_, ending_.err);
  return true;
}

bool Program::wait_for_error(const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (ending_.err.find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    if (!read_some(std::chrono::seconds(1))) return false;
  }
  return true;
}

bool Program::wait_for(std::chrono::microseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (!read_some(left)) return true;
  }
}

Ending Program::wait() {
  while (read_some(std::chrono::seconds(1))) {
  }
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) throw_errno("waitpid");
  pid_ = -1;
  if (WIFEXITED(status)) ending_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending_.signal = WTERMSIG(status);
  return ending_;
}

Ending run_digits(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  return Program(arguments, options).wait();
}

}  // namespace crochet
