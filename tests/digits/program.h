// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace crochet {

// How a program ended, and its output.
struct Ending {
  int exit_code = -1;  // -1 if it did not exit.
  int signal = 0;      // The signal that killed it, or 0.
  std::string out = {};
  std::string err = {};
};

struct ProgramOptions {
  // Added to the environment: "NO_COLOR=1".
  std::vector<std::string> environment = {};
  // If set, standard output and error are a terminal of this width, and both are read into `out`.
  std::optional<int> terminal_columns = {};
  // The largest file it may write, in bytes; beyond it, writes fail as on a full disk.
  std::optional<uint64_t> largest_file = {};
};

// A process of the digits example.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const ProgramOptions& options = {});
  // Kills the process if it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send_signal(int signal) const;
  // Reads until standard error holds `text`, the program has ended, or a minute has passed.
  // True if the text was found.
  bool wait_for_error(const std::string& text);
  // Reads for this long, or until the program has ended. True if it has.
  bool wait_for(std::chrono::microseconds time);
  // Reads until the program has ended.
  Ending wait();

 private:
  // Reads available output; false once both outputs are closed.
  bool read_some(std::chrono::microseconds timeout);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Ending ending_;
};

// Runs the digits example to its end.
Ending run_digits(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace crochet
