// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tail.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <sstream>
#include <stop_token>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/pending_signal.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::HasSubstr;

class TailTest : public testing::Test {
 protected:
  TailTest() { files_.create_directories("run"); }
  ~TailTest() override { set_pending_signal(0); }

  void append(const std::string& line) {
    const auto file = files_.append_to("run/events.jsonl");
    file->append(line + "\n");
    file->close();
  }
  void append_events(int first, int last) {
    for (int i = first; i <= last; ++i)
      append(fmt::format(R"({{"event":"saved","life":1,"step":{0},"time":{0},"steady":{0}}})", i));
  }

  MemoryFileSystem files_;
};

TEST_F(TailTest, PrintsTheLastEvents) {
  append_events(1, 20);
  append(R"({"event":"stop","life":1,"step":21,"time":21,"steady":21,"who":"a b","signal":15})");
  EXPECT_EQ(run(files_, {"tail", "-n", "2", "run"}).out,
            "1970-01-01T00:00:20Z  life 1  step 20  saved\n"
            "1970-01-01T00:00:21Z  life 1  step 21  stop  who=a b signal=15\n");
  const std::string ten = run(files_, {"tail", "run"}).out;
  EXPECT_EQ(std::count(ten.begin(), ten.end(), '\n'), 10);
  EXPECT_EQ(run(files_, {"tail", "-n", "0", "run"}).out, "");
  const Json json = run(files_, {"tail", "--json", "-n", "1", "run"}).json();
  EXPECT_EQ(json["events"][0]["who"], "a b");
}

// Calls a function with the seconds that were slept so far.
class CallingClock final : public Clock {
 public:
  explicit CallingClock(std::function<void(double secs)> call) : call_(std::move(call)) {}
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }
  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    clock_.advance(duration);
    call_(to_seconds(clock_.now() - start_));
    return !stop.stop_requested();
  }

 private:
  const std::function<void(double)> call_;
  FakeClock clock_;
  const TimePoint start_ = clock_.now();
};

TEST_F(TailTest, FollowsTheJournalUntilASignal) {
  append_events(1, 3);
  CallingClock clock([&](double secs) {
    if (secs == 2.5) append_events(4, 5);
    if (secs == 4.5) {  // A rotation: what was printed is not there any more.
      files_.remove("run/events.jsonl");
      append_events(6, 6);
    }
    if (secs >= 6.5) set_pending_signal(SIGINT);
  });
  std::ostringstream out, err;
  const Context context(files_, clock, {.out = out, .err = err}, false);
  EXPECT_EQ(print_tail(context, {.directory = "run", .lines = 1, .follow = true}), 0);
  EXPECT_EQ(out.str(),
            "1970-01-01T00:00:03Z  life 1  step 3  saved\n"
            "1970-01-01T00:00:04Z  life 1  step 4  saved\n"
            "1970-01-01T00:00:05Z  life 1  step 5  saved\n"
            "1970-01-01T00:00:06Z  life 1  step 6  saved\n");
}

TEST_F(TailTest, PrintsNoControlCharacters) {
  append(R"({"event":"a\u001b[31m","life":1,"step":1,"time":1e300,"steady":1,"k\u009b":"v\nw"})");
  EXPECT_EQ(run(files_, {"tail", "run"}).out, "-  life 1  step 1  a\\x1b[31m  k\\xc2\\x9b=v\\nw\n");
}

TEST_F(TailTest, NeedsAJournal) {
  const ToolRun none = run(files_, {"tail", "run"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("run"));
  append_events(1, 1);
  EXPECT_EQ(run(files_, {"tail", "--follow", "--json", "run"}).code, 2);
}

}  // namespace
}  // namespace crochet::tool
