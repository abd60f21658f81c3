// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace crochet {

// Another program, whose standard input and output are pipes to this one.
class ChildProcess {
 public:
  // Throws: InternalError if the system refuses. A program that does not exist ends with 127.
  explicit ChildProcess(const std::vector<std::string>& command);
  // Kills it, if it has not ended.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Waits for a line of output and returns it; "" at the end.
  std::string read_line();
  void write(const std::string& text);
  // Kills it with SIGKILL, and waits.
  void kill();
  // Reads the rest of its output, waits, and returns the exit status, or minus the signal.
  int wait();
  // The output that wait() has read.
  const std::string& output() const { return output_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_end_ = -1;
  std::string output_;
};

}  // namespace crochet
