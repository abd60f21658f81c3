// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// For tests that every option has an effect: a program runs twice without an option, which must
// make no difference, and once with it, which must. What is compared is all that a user sees of a
// program: its log, error and report, its values, its files and what it does with them.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::inline v0 {

// Where one process runs after another.
struct World {
  FakeClock clock;
  FakeClock other_clock{2'000'000'000};
  MemoryFileSystem disk{clock};
  MemoryFileSystem other_disk{clock};
  FailingFileSystem files{disk};
  LogCapture log;
  // What happened in it beside that.
  std::set<std::string> events;
};

// Without what differs from run to run by design: random names of temporary files, and those of
// event files; numbers of bytes; durations, which a save has in common with the steps that it
// overlaps, and how often it was tried until the next one was due.
inline std::string without_chance(const std::string& text, bool times_are_seen) {
  static const std::regex temporary("tmp[0-9a-f]{32}|tempstate[0-9]+");
  static const std::regex events("(tfevents[.][0-9]+)[-.A-Za-z0-9_]+");
  static const std::regex numbers("( [0-9]+)+$");
  static const std::regex seconds("(seconds\":) *[-+.e0-9]+");
  static const std::regex durations(
      "tfevents[.][0-9]+|[0-9.]+ (s|[KMG]?B/s|attempts?|retry|retries)\\b");
  std::string rest = std::regex_replace(text, temporary, "tmp");
  rest = std::regex_replace(rest, events, "$1");
  rest = std::regex_replace(rest, numbers, "");
  rest = std::regex_replace(rest, seconds, "$1");
  return times_are_seen ? rest : std::regex_replace(rest, durations, "");
}

// Which events there are: their order depends on when a save ends.
inline std::string events_in(const std::string& journal) {
  static const std::regex name("\"event\":\"([a-z_]+)\"");
  const std::set<std::string> names(
      std::sregex_token_iterator(journal.begin(), journal.end(), name, 1), {});
  return fmt::format("{}", fmt::join(names, " "));
}

inline std::string contents(FileSystem& files, const std::string& path) {
  if (path.find("tfevents") != std::string::npos)
    return fmt::format("{} bytes.", files.file_size(path));
  std::string bytes = read_file(files, path);
  if (path.ends_with("events.jsonl")) return events_in(bytes);
  const bool is_text = path.find(".json") != std::string::npos || bytes.starts_with("model_");
  return is_text ? bytes : fmt::format("{:x}.", std::hash<std::string>()(bytes));
}

inline std::set<std::string> files_in(FileSystem& files, bool with_contents) {
  std::set<std::string> found;
  for (const std::string directory : {"run", "other", "second", "elsewhere", "curves"}) {
    if (!files.exists(directory)) continue;
    for (const std::string& name : files.list(directory)) {
      const std::string path = join_path(directory, name);
      found.insert(path + (with_contents ? ": " + contents(files, path) : ""));
    }
  }
  return found;
}

// All that a user sees of what ran in `world`. Times are left out where saves overlap steps that
// take time.
inline std::set<std::string> seen(World& world, bool times_are_seen) {
  std::set<std::string> all;
  const auto add = [&](const std::string& kind, const auto& texts) {
    for (const std::string& text : texts) all.insert(kind + without_chance(text, times_are_seen));
  };
  add("", world.events);
  if (times_are_seen) all.insert(fmt::format("ends at {}", world.clock.wall_time()));
  for (const std::string& line : world.log.lines())
    if (times_are_seen || line.find(" took ") == std::string::npos) add("log: ", std::vector{line});
  add("operation: ", world.files.operations());
  add("read: ", world.files.reads());
  add("file: ", files_in(world.disk, times_are_seen));
  add("file of the other disk: ", files_in(world.other_disk, times_are_seen));
  return all;
}

class BeginsListener final : public CheckpointSaverListener {
 public:
  explicit BeginsListener(std::set<std::string>& events) : events_(events) {}
  void begin() override { events_.insert("the listener begins"); }

 private:
  std::set<std::string>& events_;
};

// `Program` is made with a World&, has `times_are_seen`, and is run by run(Program&).
template <typename Program>
struct Effect {
  std::string option;
  std::function<void(Program&)> set;             // Sets the option.
  std::function<void(Program&)> situation = {};  // In which it has an effect.

  friend void PrintTo(const Effect& effect, std::ostream* out) { *out << effect.option; }
};

template <typename Program>
std::set<std::string> observe(const Effect<Program>& effect, bool is_set) {
  World world;
  Program program(world);
  if (effect.situation) effect.situation(program);
  if (is_set) effect.set(program);
  run(program);
  return seen(world, program.times_are_seen);
}

inline std::vector<std::string> only_in(const std::set<std::string>& a,
                                        const std::set<std::string>& b) {
  std::vector<std::string> found;
  std::ranges::set_difference(a, b, std::back_inserter(found));
  return found;
}

template <typename Program>
void expect_effect(const Effect<Program>& effect) {
  const std::set<std::string> without = observe(effect, false);
  const std::set<std::string> again = observe(effect, false);
  using testing::IsEmpty;
  ASSERT_THAT(only_in(without, again), IsEmpty()) << "the program itself differs from run to run";
  ASSERT_THAT(only_in(again, without), IsEmpty()) << "the program itself differs from run to run";
  EXPECT_NE(observe(effect, true), without) << effect.option << " has no effect";
}

// The name of a test of an effect.
template <typename Program>
std::string name_of_effect(const testing::TestParamInfo<Effect<Program>>& info) {
  return std::regex_replace(info.param.option, std::regex("[._]+"), "_");
}

template <typename Program>
std::vector<std::string> options_of(const std::vector<Effect<Program>>& effects) {
  std::vector<std::string> options;
  for (const Effect<Program>& effect : effects) options.push_back(effect.option);
  return options;
}

inline std::vector<std::string> names_in(const std::string& list) {
  const std::regex name("[a-z_]+");
  return {std::sregex_token_iterator(list.begin(), list.end(), name), {}};
}

// The names of the fields of `value`, which do not compile unless all are given: who adds one must
// add its effect to the test.
#define FIELDS_OF(value, ...)                           \
  [] {                                                  \
    [[maybe_unused]] const auto& [__VA_ARGS__] = value; \
    return names_in(#__VA_ARGS__);                      \
  }()

}  // namespace crochet::inline v0
