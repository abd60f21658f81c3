// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace crochet {

// How a program ended. Both outputs are in the order in which they were read.
struct Ending {
  int exit_code = -1;  // Of a program that exited; else -1.
  int signal = 0;      // That killed it; else 0.
  std::string out = {};
  std::string err = {};
};

struct ProgramOptions {
  // Added to the environment: "NO_COLOR=1".
  std::vector<std::string> environment = {};
  // Standard output and error are a terminal of this width, and both come as `out`.
  std::optional<int> terminal_columns = {};
  // The largest file it may write, in bytes; beyond, writing fails as on a full disk.
  std::optional<uint64_t> largest_file = {};
};

// A process of the digits example.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const ProgramOptions& options = {});
  // Kills it if it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send_signal(int signal) const;
  // Reads on until standard output holds `text`, the program has ended, or a minute has passed.
  // True if the text is there.
  bool wait_for_output(const std::string& text);
  // Reads on for this long, or until the program has ended. True if it has.
  bool wait_for(std::chrono::microseconds time);
  // Reads until the program has ended.
  Ending wait();

 private:
  // Reads what there is; false once both outputs are closed.
  bool read_some(std::chrono::microseconds timeout);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Ending ending_;
};

// Runs it to its end.
Ending run_digits(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace crochet
