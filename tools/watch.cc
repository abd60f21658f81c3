// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet watch: a run, live in the terminal.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "tools/command.h"
#include "tools/run_model.h"
#include "tools/signal_guard.h"
#include "tools/terminal.h"
#include "tools/watch_screen.h"

namespace crochet::tool {
namespace {

const CommandHelp kWatchHelp = {
    .name = "watch",
    .description =
        "Show a run in the terminal, live: progress, curves, saves, and what happened; also one\n"
        "on another machine that sees the directory, and one that has ended",
    .examples =
        "  crochet watch runs/digits\n"
        "  crochet watch --once runs/digits       # one screen, for scripts",
};

constexpr auto kInterval = std::chrono::seconds(1);

struct WatchOptions {
  std::string directory = ".";
  bool once = false;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

int show_live(const Context& context, const std::string& directory) {
  Terminal terminal;
  const SignalGuard guard;
  int scroll = 0;
  while (pending_signal() == 0) {
    const RunHistory history = read_history(context.files(), directory, ThisMachine());
    const auto until = std::chrono::steady_clock::now() + kInterval;
    while (true) {
      terminal.draw(watch_screen(history, context.clock().wall_time(), terminal.size(), scroll));
      const Key key = terminal.wait_for_key(until);
      if (key == Key::kNone) break;
      if (key == Key::kQuit) return kSuccess;
      const int page = terminal.size().rows / 2;
      scroll += key == Key::kUp         ? 1
                : key == Key::kDown     ? -1
                : key == Key::kPageUp   ? page
                : key == Key::kPageDown ? -page
                                        : 0;
    }
  }
  return kSuccess;
}

int watch(const Context& context, const WatchOptions& options) {
  if (!options.once && Terminal::is_there()) return show_live(context, options.directory);
  if (!options.once)
    throw FailedPreconditionError(
        "crochet watch needs a terminal: --once prints one screen, and `crochet report --text` all "
        "that happened");
  const RunHistory history = read_history(context.files(), options.directory, ThisMachine());
  int scroll = 0;
  context.print(joined(watch_screen(history, context.clock().wall_time(),
                                    Terminal::size_from_environment(), scroll)));
  return kSuccess;
}

}  // namespace

void add_watch(CommandLine& line) {
  const auto [command, options] = add_command(line, kWatchHelp, watch);
  command.add_option("directory", options.directory, "The run; by default the current directory")
      ->type_name("DIR");
  command.add_flag("--once", options.once,
                   "Print one screen, of COLUMNS by LINES or 80 by 24, and end");
}

}  // namespace crochet::tool
