// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet watchdog: the helper of WatchdogHook, which starts it. It reads what the process does
// from their shared page, and writes down where its threads are if that takes too long.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_facts.h"
#include "crochet/hooks/guards/internal/watch_page.h"
#include "crochet/io/file_system.h"
#include "crochet/journal/internal/journal_event.h"
#include "crochet/journal/internal/read_journal.h"
#include "tools/command.h"
#include "tools/stacks.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

using internal::WatchAction;
using internal::WatchPage;
using internal::WatchPhase;

const CommandHelp kWatchdogHelp = {
    .name = "watchdog",
    .description = "Watch the process that started this: for WatchdogHook, not for people",
    .examples = "  crochet watchdog",
};

constexpr int kPageDescriptor = 3;
constexpr int kIntervalMilliseconds = 100;

int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

WatchPage& shared_page() {
  struct stat status = {};
  void* memory = MAP_FAILED;
  if (::fstat(kPageDescriptor, &status) == 0 &&
      static_cast<size_t>(status.st_size) >= sizeof(WatchPage))
    memory =
        ::mmap(nullptr, sizeof(WatchPage), PROT_READ | PROT_WRITE, MAP_SHARED, kPageDescriptor, 0);
  if (memory == MAP_FAILED)
    throw FailedPreconditionError("crochet watchdog is started by WatchdogHook only");
  auto& page = *static_cast<WatchPage*>(memory);
  if (page.version != WatchPage::kVersion || page.pid != ::getppid())
    throw FailedPreconditionError(
        fmt::format("crochet watchdog is of another version than the program that started it, or "
                    "was started by "
                    "another one: found {}, expected {}",
                    page.version, WatchPage::kVersion));
  return page;
}

// Something that takes too long.
struct Hang {
  std::string what;  // "step 121".
  double secs = 0;
  double limit_secs = 0;
};

class Watch {
 public:
  explicit Watch(WatchPage& page) : page_(page), rank_(page.rank), pid_(page.pid) {}

  // Returns when the run or the process has ended.
  void run() {
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    while (page_.phase != WatchPhase::kClosed) {
      pollfd ended = {.fd = process, .events = POLLIN, .revents = 0};
      if (::poll(&ended, process >= 0 ? 1 : 0, kIntervalMilliseconds) > 0) return;
      if (process < 0 && ::getppid() != pid_) return;
      if (const auto hang = find()) report(*hang);
    }
  }

 private:
  // Each is found once.
  std::optional<Hang> find() {
    if (auto hang = find_span()) return hang;
    if (auto hang = find_phase()) return hang;
    return find_save();
  }

  // What is part of a phase, but has a limit of its own.
  std::optional<Hang> find_span() {
    const uint32_t kind = page_.span.kind;
    const int64_t since = page_.span.since;
    if (kind == 0 || kind > page_.span_limits.size()) return std::nullopt;
    const int64_t limit = page_.span_limits[kind - 1];
    const char* const name = kind == 1   ? "the creation of a session"
                             : kind == 2 ? "a wait for a save"
                                         : "an evaluation";
    return found(name, since, now() - since, limit, known_span_,
                 page_.span.kind == kind && page_.span.since == since);
  }

  std::optional<Hang> find_phase() {
    const int64_t since = page_.since;
    const int64_t spans = page_.span.sum;
    const WatchPhase phase = page_.phase;
    if (phase == WatchPhase::kNone || page_.span.kind != 0) return std::nullopt;
    return found(name_of(phase), since, now() - since - spans, page_.limit, known_phase_,
                 page_.since == since && page_.phase == phase && page_.span.sum == spans &&
                     page_.span.kind == 0);
  }

  std::optional<Hang> find_save() {
    const int64_t since = page_.save_since;
    return found(internal::read_text(page_.activity), since, now() - since, page_.save_limit,
                 known_save_, page_.save_since == since);
  }

  // `is_same`: nothing has changed since the first reading.
  static std::optional<Hang> found(const std::string& what, int64_t since, int64_t time,
                                   int64_t limit, int64_t& known, bool is_same) {
    if (since == 0 || limit == 0 || since == known || time <= limit || !is_same)
      return std::nullopt;
    known = since;
    return Hang{what, seconds(time), seconds(limit)};
  }

  std::string name_of(WatchPhase phase) const {
    switch (phase) {
      case WatchPhase::kRestore:
        return "the creation of a session";
      case WatchPhase::kEnd:
        return "the end of the run";
      default:
        return fmt::format("step {}", page_.step + 1);
    }
  }

  void report(const Hang& hang) {
    const auto stacks = stacks_of(pid_, [this](int64_t thread) { return stack_by_signal(thread); });
    const std::string head =
        fmt::format("{}{} has taken {:.1f} s, more than {:.1f} s: it may be hung{}", hang.what,
                    rank_ > 0 ? fmt::format(" of rank {}", rank_) : "", hang.secs, hang.limit_secs,
                    place_text(stacks));
    const std::string text =
        fmt::format("{}: {}\nprocess {} on {}; completed steps: {}{}{}\n{}",
                    time_text(Clock::real().wall_time()), head, pid_, internal::host_name(),
                    page_.step.load(), values_text(), save_text(), to_text(stacks));
    std::cerr << "crochet watchdog: " << text << std::flush;
    std::string file;
    try {
      file = write(text);
      record(head, hang, file);
    } catch (const Error& error) {
      std::cerr << "crochet watchdog: " << error.what() << "\n";
    }
    ++page_.num_hung;
    act();
  }

  // Of the first thread: the innermost function that is neither the system's nor crochet's.
  static std::string place_text(const std::vector<ThreadStack>& stacks) {
    if (stacks.empty()) return "";
    for (const Frame& frame : stacks.front().frames) {
      const std::string_view module = frame.module;
      if (frame.function.empty() || frame.function.starts_with("crochet::") ||
          frame.function.starts_with("std::") || frame.function.starts_with("__") ||
          module.starts_with("libc.") || module.starts_with("libc-") ||
          module.starts_with("libpthread") || module.starts_with("libstdc++") ||
          module.starts_with("libcrochet") || module.starts_with("linux-vdso") ||
          module.starts_with("[vdso"))
        continue;
      return fmt::format(" in {}{}", printable_text(frame.function),
                         frame.place.empty() ? "" : " (" + printable(frame.place) + ")");
    }
    return "";
  }

  std::string values_text() const {
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(page_.num_values, page_.values.size()); ++i)
      text += fmt::format("{}{} = {:g}", text.empty() ? "; last values: " : ", ",
                          printable(internal::read_text(page_.values[i].name)),
                          page_.values[i].value.load());
    return text;
  }
  std::string save_text() const {
    const int64_t since = page_.save_since;
    if (since == 0) return "";
    return fmt::format("; {} for {:.1f} s", printable(internal::read_text(page_.activity)),
                       seconds(now() - since));
  }

  // The name of the file; empty without a directory.
  std::string write(const std::string& text) const {
    const std::string directory = internal::read_text(page_.directory);
    if (directory.empty()) return "";
    const std::string rank = rank_ > 0 ? fmt::format("rank{}-", rank_) : "";
    for (int i = 1; i < 1000; ++i) {
      const std::string name =
          fmt::format("hung-{}{}{}.txt", rank, page_.step + 1, i == 1 ? "" : fmt::format("-{}", i));
      const std::string path = join_path(directory, name);
      if (FileSystem::posix().exists(path)) continue;
      const auto file = FileSystem::posix().create(path);
      file->append(std::as_bytes(std::span(text)));
      file->close();
      return name;
    }
    return "";
  }

  // The journal is the chief's.
  void record(const std::string& head, const Hang& hang, const std::string& file) const {
    const std::string directory = internal::read_text(page_.directory);
    if (directory.empty() || rank_ != 0) return;
    const std::string path = join_path(directory, std::string(internal::kJournalName));
    FileSystem& files = FileSystem::posix();
    const internal::LastLife life = internal::last_life(files, path);
    internal::JournalEvent event("hung", page_.step);
    event.with("message", head).with("secs", hang.secs).with("limit_secs", hang.limit_secs);
    if (!file.empty()) event.with("stacks", file);
    const std::string line =
        event.line({.life = life.number,
                    .step = page_.step,
                    .time = Clock::real().wall_time(),
                    .steady = to_seconds(Clock::real().now().time_since_epoch())});
    // One write at the end of the file: the run writes there, too.
    const auto journal = files.append_to(path);
    journal->append(std::as_bytes(std::span(line)));
    journal->close();
  }

  void act() const {
    if (page_.action == WatchAction::kStop) ::kill(pid_, SIGTERM);
    if (page_.action == WatchAction::kAbort) {
      ::kill(pid_, SIGABRT);
      ::kill(pid_, SIGCONT);  // A process that is stopped would keep it.
    }
  }

  // Where the process may not be traced. Nothing if the thread does not answer.
  std::vector<uint64_t> stack_by_signal(int64_t thread) const {
    if (page_.signal == 0) return {};
    page_.thread = 0;
    if (::syscall(SYS_tgkill, pid_, static_cast<pid_t>(thread), page_.signal) != 0) return {};
    for (int i = 0; i < 100 && page_.thread != thread; ++i) ::poll(nullptr, 0, 10);
    if (page_.thread != thread) return {};
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < std::min<size_t>(page_.depth, page_.frames.size()); ++i)
      addresses.push_back(reinterpret_cast<uint64_t>(page_.frames[i]));
    return addresses;
  }

  WatchPage& page_;
  const int32_t rank_;
  const pid_t pid_;
  // When those began that are known to be hung.
  int64_t known_span_ = 0;
  int64_t known_phase_ = 0;
  int64_t known_save_ = 0;
};

int watchdog(const Context&) {
  // They are for the process that is watched.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP})
    ::signal(signal, SIG_IGN);
  Watch(shared_page()).run();
  return kSuccess;
}

}  // namespace

void add_watchdog(CommandLine& line) { add_command(line, kWatchdogHelp, watchdog).group(""); }

}  // namespace crochet::tool
