// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/control/internal/control_files.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using internal::ControlRequest;
using internal::ControlVerb;
using testing::HasSubstr;

// While the command waits, a run looks.
class WaitingClock final : public Clock {
 public:
  explicit WaitingClock(std::function<void()> look) : look_(std::move(look)) {}
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }
  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    look_();
    return clock_.sleep_for(duration, stop);
  }

 private:
  FakeClock clock_;
  const std::function<void()> look_;
};

class ControlTest : public testing::Test {
 protected:
  ControlTest() { files_.create_directories("run"); }
  // The run answers with `text`, or not if that is empty.
  ToolRun run(const std::vector<std::string>& arguments, const std::string& text) {
    WaitingClock clock([&] {
      if (text.empty()) return;
      if (const auto request = control_.take()) {
        taken_ = request;
        control_.answer({request->id, text});
      }
    });
    std::ostringstream out, err;
    const int code = run_tool(arguments, {.out = out, .err = err}, files_, clock);
    return {code, out.str(), err.str()};
  }

  MemoryFileSystem files_;
  internal::ControlFiles control_{files_, "run"};
  std::optional<ControlRequest> taken_;
};

TEST_F(ControlTest, AsksAndPrintsTheAnswer) {
  const ToolRun stop = run({"stop", "run"}, "the run ends after step 8, with a checkpoint");
  EXPECT_EQ(stop.code, 0) << stop.err;
  EXPECT_EQ(stop.out, "the run ends after step 8, with a checkpoint\n");
  EXPECT_EQ(taken_->verb, ControlVerb::kStop);
  EXPECT_FALSE(taken_->limit.when_saved);
  EXPECT_EQ(run({"stop", "--when-saved", "run"}, "yes").code, 0);
  EXPECT_TRUE(taken_->limit.when_saved);
  EXPECT_EQ(run({"save", "run"}, "yes").code, 0);
  EXPECT_EQ(taken_->verb, ControlVerb::kSave);
  EXPECT_EQ(run({"status", "--json", "run"}, "step 7").json()["answer"], "step 7");
  EXPECT_EQ(taken_->verb, ControlVerb::kStatus);
}

TEST_F(ControlTest, Limits) {
  EXPECT_EQ(run({"limit", "run", "--at-step", "5000"}, "yes").code, 0);
  EXPECT_EQ(taken_->limit, internal::RunLimit{.at_step = 5000});
  EXPECT_EQ(run({"limit", "run", "--for", "2h", "--when-saved"}, "yes").code, 0);
  EXPECT_EQ(taken_->for_secs, 7200);
  EXPECT_TRUE(taken_->limit.when_saved);
  EXPECT_EQ(run({"limit", "run", "--until", "2037-01-01 08:00"}, "yes").code, 0);
  EXPECT_GT(taken_->limit.until, 2e9);
  EXPECT_EQ(run({"limit", "run", "--none"}, "yes").code, 0);
  EXPECT_EQ(taken_->limit, internal::RunLimit{});
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"limit", "run"},
                                                {"limit", "run", "--none", "--at-step", "5"},
                                                {"limit", "run", "--at-step", "-5"},
                                                {"limit", "run", "--for", "soon"},
                                                {"limit", "run", "--until", "1999-01-01 08:00"}})
    EXPECT_EQ(run(wrong, "yes").code, 2);
}

// The request does not stay for a run that begins tomorrow.
TEST_F(ControlTest, WithoutAnAnswerARequestIsTakenBack) {
  const ToolRun stop = run({"stop", "run", "--timeout", "3"}, "");
  EXPECT_EQ(stop.code, 1);
  EXPECT_THAT(stop.err, HasSubstr("no answer within 3 s"));
  EXPECT_EQ(control_.take(), std::nullopt);
}

TEST_F(ControlTest, ALimitStaysForTheNextStart) {
  const ToolRun limit = run({"limit", "run", "--at-step", "50"}, "");
  EXPECT_EQ(limit.code, 0);
  EXPECT_THAT(limit.out, HasSubstr("it holds for the next start of the run"));
  EXPECT_EQ(control_.take()->limit.at_step, 50);
}

TEST_F(ControlTest, ADirectoryWithoutARunIsReportedAtOnce) {
  files_.create("run/.lock");
  const ToolRun stop = run({"stop", "run"}, "");
  EXPECT_EQ(stop.code, 1);
  EXPECT_THAT(stop.err, HasSubstr("run: no run is there"));
}

TEST_F(ControlTest, ADirectoryThatIsMissingIsNamed) {
  const ToolRun stop = run({"stop", "missing"}, "");
  EXPECT_EQ(stop.code, 2);
  EXPECT_THAT(stop.err, HasSubstr("missing: no such directory"));
}

}  // namespace
}  // namespace crochet::tool
