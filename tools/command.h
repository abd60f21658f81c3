// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "tools/json.h"
#include "tools/tool.h"

namespace crochet::tool {

// A command's access to files and output.
class Context {
 public:
  Context(FileSystem& files, Clock& clock, const Streams& streams, bool json)
      : files_(files), clock_(clock), streams_(streams), json_(json) {}

  FileSystem& files() const { return files_; }
  Clock& clock() const { return clock_; }
  // True if the output is to be one JSON document, and no text.
  bool json() const { return json_; }

  // Prints a result. Throws: UnknownError if it cannot be written.
  void print(std::string_view text) const;
  void print_json(const Json& document) const;
  // For a command that does not end yet: the reader gets what was printed. Throws: as print().
  void flush() const;
  // Prints an error or other message to the error stream, on a line of its own.
  void complain(std::string_view message) const;

 private:
  FileSystem& files_;  // Not owned; outlives this.
  Clock& clock_;       // The same.
  const Streams streams_;
  const bool json_;
};

// The chosen command with its parsed options. Returns the exit code.
using Command = std::function<int(const Context&)>;

// The description of the command line, and the values parsed from it.
struct CommandLine {
  CLI::App app;
  Command command = {};
  bool json = false;
};

// The help text of a command, other than its options.
struct CommandHelp {
  std::string name;
  std::string description;
  std::string examples;  // Shell commands, one per line.
};

// Adds a command that has --json. `command` is run if the user chooses it.
CLI::App& add_command(CommandLine& line, const CommandHelp& help, Command command);

// The same for a command with options: `run` receives them once they are parsed.
template <typename Options>
std::pair<CLI::App&, Options&> add_command(CommandLine& line, const CommandHelp& help,
                                           int (*run)(const Context&, const Options&)) {
  const auto options = std::make_shared<Options>();
  return {add_command(line, help, [=](const Context& context) { return run(context, *options); }),
          *options};
}

// Each adds one command.
void add_list(CommandLine& line);
void add_show(CommandLine& line);
void add_verify(CommandLine& line);
void add_diff(CommandLine& line);
void add_convert(CommandLine& line);
void add_repair(CommandLine& line);
void add_pin(CommandLine& line);  // Adds pin and unpin.
void add_rehearse(CommandLine& line);
void add_why(CommandLine& line);
void add_runs(CommandLine& line);
void add_metrics(CommandLine& line);
void add_report(CommandLine& line);
void add_compare(CommandLine& line);
void add_prune(CommandLine& line);
void add_du(CommandLine& line);
// Not in every build.
void add_serve(CommandLine& line);
void add_watchdog(CommandLine& line);
void add_tail(CommandLine& line);
void add_watch(CommandLine& line);
void add_control(CommandLine& line);  // Adds stop, save, limit and status.

inline constexpr const char* kNoLockHelp =
    "For file systems without locks: nothing else may write to the directory meanwhile";

// The help for the checkpoint argument of commands.
inline constexpr const char* kCheckpointHelp =
    "A checkpoint: its prefix, any of its files, or a directory for the newest one in it";

}  // namespace crochet::tool
