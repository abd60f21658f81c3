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
  // Throws: InternalError if the system refuses; a program that is not there ends with 127.
  explicit ChildProcess(const std::vector<std::string>& command);
  // Kills it, if it has not ended.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Blocks until it has written a line, and returns that; "" at the end.
  std::string read_line();
  void write(const std::string& text);
  // Ends it as kill -9 does, and waits.
  void kill();
  // Reads what is left of its output, waits, and returns the exit status, or minus the signal.
  int wait();
  // What wait() has read.
  const std::string& output() const { return output_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_end_ = -1;
  std::string output_;
};

}  // namespace crochet
