// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/story.h"

#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/memory_file_system.h"
#include "tools/report.h"
#include "tools/testing/fake_machine.h"
#include "tools/testing/tool_run.h"
#include "tools/watch_screen.h"

namespace crochet::tool {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The cells of a table in HTML, without tags.
std::vector<std::string> cells(const std::string& html) {
  const std::regex cell("<t[hd][^>]*>(.*?)</t[hd]>");
  const std::regex tag("<[^>]*>");
  std::vector<std::string> found;
  for (auto at = std::sregex_iterator(html.begin(), html.end(), cell); at != std::sregex_iterator();
       ++at)
    found.push_back(std::regex_replace((*at)[1].str(), tag, ""));
  return found;
}

class StoryTest : public testing::Test {
 protected:
  StoryTest() { files_.create_directories("run"); }

  void add(int life, const std::string& event, int64_t step, double time,
           const std::string& fields = "") {
    text_ += fmt::format(R"({{"event":"{}","life":{},"step":{},"time":{},"steady":{}{}}})", event,
                         life, step, 1e9 + time, 5000.0 * life + time, fields) +
             "\n";
  }
  void start(int life, double time) {
    add(life, "start", 0, time,
        fmt::format(R"(,"pid":{},"host":"node7","boot":"b1","process_start":"9")", 4710 + life));
  }
  RunHistory history() {
    replace_file(files_, "run/events.jsonl", text_);
    return read_history(files_, "run", machine_);
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (const StoryLine& line : story_of(history())) texts.push_back(line.text);
    return texts;
  }

  MemoryFileSystem files_;
  FakeMachine machine_;
  std::string text_;
};

TEST_F(StoryTest, ALifeThatEndsAsItShouldIsThreeLines) {
  start(1, 0);
  add(1, "progress", 1, 1);
  add(1, "save", 50, 10);
  add(1, "saved", 50, 11, R"(,"attempts":1)");
  add(1, "stop", 100, 20, R"(,"who":"StopAtStepHook","reason":"reached step 100")");
  add(1, "end", 100, 21, R"(,"why":"stop","exit_code":0)");
  EXPECT_THAT(texts(), ElementsAre("life 1 begins: process 4711 on node7",
                                   "StopAtStepHook asks for the end: reached step 100",
                                   "it ended at step 100, exit code 0"));
}

TEST_F(StoryTest, AKillAndWhatIsMadeAgain) {
  start(1, 0);
  add(1, "progress", 80, 30);
  add(1, "save", 90, 40);
  start(2, 700);
  add(2, "restore", 60, 702,
      R"(,"checkpoint":"run/model.ckpt-60","seconds":1.5,"refused":["run/model.ckpt-80"])");
  add(2, "end", 100, 720, R"(,"why":"error","error":"NaN loss during training")");
  EXPECT_THAT(
      texts(),
      ElementsAre("life 1 begins: process 4711 on node7",
                  "killed, at step 90 or after it: kill -9, abort, or exit() within a step: the "
                  "kernel's log and counters do not show which; it was saving step 90",
                  "life 2 begins: process 4712 on node7, 11 min after the last that was heard of "
                  "life 1",
                  "it continues from step 60 (model.ckpt-60), restored in 1.5 s; at least 30 steps "
                  "are made again; damaged, and not used: run/model.ckpt-80",
                  "it ended after step 100 with an error: NaN loss during training"));
}

TEST_F(StoryTest, WhatHappensAgainAndAgainIsOneLine) {
  start(1, 0);
  for (int i = 1; i <= 40; ++i)
    add(1, "save_failed", 10 * i, 60.0 * i,
        fmt::format(R"(,"error":"no space left: {} bytes needed","attempts":5)", 1000 + i));
  add(1, "saved", 410, 2500, R"(,"attempts":1)");
  add(1, "brought_back", 410, 2501, R"(,"checkpoint":"s3://b/r/m-1","bytes":1,"secs":2)");
  add(1, "mirrored", 410, 2502, R"(,"checkpoint":"s3://b/r/m-1","bytes":1,"secs":2)");
  add(1, "mirror_failed", 410, 2503, R"(,"checkpoint":"m-2","error":"no such bucket")");
  add(1, "warning", 420, 2600, R"(,"message":"the queue is empty")");
  add(1, "warning", 430, 2700, R"(,"message":"saving run/model.ckpt-430 failed: no space")");
  EXPECT_THAT(texts(),
              ElementsAre("life 1 begins: process 4711 on node7",
                          "the save of step 10 failed: no space left: 1001 bytes needed "
                          "(40 times within 39 min)",
                          "step 410 is saved",
                          "s3://b/r/m-1 was brought back, as the directory had no "
                          "checkpoint",
                          "m-2 was not copied to the store: no such bucket", "the queue is empty",
                          testing::StartsWith("killed, at step 430 or after it")));
}

TEST_F(StoryTest, EachLineHasTheStepOfItsMoment) {
  start(1, 0);
  add(1, "end", 650, 1, R"(,"why":"stop","exit_code":143)");
  start(2, 2);
  add(2, "warning", 0, 3, R"(,"message":"the disk is slow")");
  add(2, "restore", 650, 4, R"(,"checkpoint":"run/model.ckpt-650","seconds":1)");
  add(2, "recovery", 699, 5, R"(,"error":"a spike")");
  add(2, "restore", 0, 6, R"(,"checkpoint":"run/model.ckpt-0","seconds":1)");
  add(2, "warning", 0, 7, R"(,"message":"the disk is still slow")");
  std::vector<int64_t> steps;
  for (const StoryLine& line : story_of(history())) steps.push_back(line.step);
  EXPECT_THAT(steps, ElementsAre(0, 650, 650, 650, 650, 699, 0, 0, 0));
}

TEST_F(StoryTest, RecoveriesAndRequests) {
  start(1, 0);
  add(1, "recovery", 40, 10, R"(,"number":1,"error":"UNAVAILABLE: the worker is gone")");
  add(1, "restore", 30, 12, R"(,"checkpoint":"run/model.ckpt-30","seconds":2)");
  add(1, "control", 50, 20, R"(,"request":"status","answer":"step 50")");
  add(1, "control", 60, 30, R"(,"request":"save","answer":"a checkpoint of step 60 is written")");
  add(1, "lost", 70, 40, R"(,"events":12)");
  add(1, "end", 80, 50, R"(,"why":"stop","exit_code":143)");
  EXPECT_THAT(texts(),
              ElementsAre("life 1 begins: process 4711 on node7",
                          "recovery after step 40: UNAVAILABLE: the worker is gone",
                          "it continues from step 30 (model.ckpt-30), restored in 2 s; at least 10 "
                          "steps are made again",
                          "crochet save: a checkpoint of step 60 is written",
                          "12 events of the journal are lost, as they could not be written",
                          "it ended at step 80, exit code 143"));
}

// What a stranger wrote is text in a page, a terminal and JSON.
TEST_F(StoryTest, AStrangersTextIsText) {
  start(1, 0);
  add(1, "warning", 1, 1, R"(,"message":"<script>alert(1)</script>\u001b[2J")");
  add(1, "end", 1, 2, R"(,"why":"error","error":"\u001b]0;x\u0007</title>")");
  replace_file(files_, "run/metrics.jsonl",
               R"({"step":1,"</script><img src=x>":1,"loss":2})"
               "\n");
  const RunHistory history = this->history();
  const std::string page = report_page(history, 1e9);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  int scroll = 0;
  for (const std::string& text :
       {page, report_text(history),
        fmt::format("{}", fmt::join(watch_screen(history, 1e9, {}, scroll), "\n"))})
    for (const char* const control : {"\x1b", "\x07"}) EXPECT_THAT(text, Not(HasSubstr(control)));
}

TEST_F(StoryTest, ThePageHasItsSections) {
  start(1, 0);
  add(1, "progress", 1, 1, R"(,"setup_secs":0.5,"hooks_secs":0.1,"hooks/A":0.1)");
  add(1, "saved", 50, 11,
      R"(,"attempts":1,"blocked_secs":0.1,"written_secs":1,"durable_secs":2,"published_secs":2.1)");
  add(1, "end", 100, 21,
      R"(,"why":"stop","exit_code":0,"setup_secs":0.5,"hooks_secs":2,"hooks/A":2)");
  put_checkpoint(files_, "run/model.ckpt-50", {{"x", Tensor::scalar(1.0F)}}, {.step = 50});
  replace_file(files_, "run/metrics.jsonl",
               R"({"step":1,"loss":2})"
               "\n");
  const std::string page = report_page(history(), 1e9);
  for (const char* const title : {"Lives", "What happened", "Where the time went", "Time per hook",
                                  "Curves", "Saves", "Checkpoints", "The last start"})
    EXPECT_THAT(page, HasSubstr(fmt::format("<h2>{}</h2>", title)));
  EXPECT_THAT(page, HasSubstr("<td>A</td><td class=\"number\">2 s</td>"));
}

TEST_F(StoryTest, ThePageHasTheOptionsAndWhenTheyChanged) {
  const auto start = [&](int life, const std::string& fields) {
    add(life, "start", 0, 100.0 * life, R"(,"pid":7,"host":"node7")" + fields);
  };
  EXPECT_THAT(report_page((start(1, ""), history()), 1e9), Not(HasSubstr("<h2>Options</h2>")));
  start(2, R"(,"options/checkpoint.every_steps":20,"hyperparameters/lr":0.5)");
  start(3, R"(,"options/checkpoint.every_steps":20,"hyperparameters/lr":0.5)");
  start(4, R"(,"options/checkpoint.every_steps":20,"options/checkpoint.max_to_keep":"",)"
           R"("hyperparameters/lr":0.1,"hyperparameters/<b>":"<i>")");
  const std::string page = report_page(history(), 1e9);
  const auto options = page.find("<h2>Options</h2>");
  const auto hyperparameters = page.find("<h2>Hyperparameters</h2>");
  const auto last_start = page.find("<h2>The last start</h2>");
  ASSERT_LT(options, hyperparameters);
  ASSERT_LT(hyperparameters, last_start);
  EXPECT_THAT(cells(page.substr(options, hyperparameters - options)),
              ElementsAre("", "from life 1", "from life 2", "from life 4",  //
                          "checkpoint.every_steps", "-", "20", "20",        //
                          "checkpoint.max_to_keep", "-", "-", "none"));
  EXPECT_THAT(cells(page.substr(hyperparameters, last_start - hyperparameters)),
              ElementsAre("", "from life 1", "from life 2", "from life 4",  //
                          "&lt;b&gt;", "-", "-", "&lt;i&gt;",               //
                          "lr", "-", "0.5", "0.1"));
  EXPECT_THAT(page.substr(last_start), Not(HasSubstr("options/")));
  for (int life = 5; life < 1000; ++life)
    start(life, fmt::format(R"(,"hyperparameters/lr":{})", life));
  EXPECT_THAT(report_page(history(), 1e9),
              AllOf(HasSubstr("from life 994"), Not(HasSubstr("from life 993"))))
      << "the newest";
}

TEST_F(StoryTest, TheTextSaysHowItWentAndWhereTheTimeWent) {
  start(1, 0);
  add(1, "progress", 1, 10, R"(,"setup_secs":5,"last_step":100)");
  add(1, "end", 100, 100, R"(,"why":"stop","exit_code":0,"setup_secs":5,"saving_secs":15)");
  EXPECT_EQ(
      report_text(history()),
      "run: stopped at step 100 of 100, 2001-09-09 01:46:40 to 2001-09-09 01:48:20 UTC, 1 life\n"
      "80.0 % of 100 s were steps; restore 5.0 %, blocked by saving 15.0 %\n"
      "\n"
      "UTC                  STEP  WHAT HAPPENED\n"
      "2001-09-09 01:46:40     0  life 1 begins: process 4711 on node7\n"
      "2001-09-09 01:48:20   100  it ended at step 100, exit code 0\n");
}

TEST_F(StoryTest, TheScreenFitsEverySizeAndScrolls) {
  start(1, 0);
  add(1, "progress", 40, 10, R"(,"last_step":100)");
  for (int i = 0; i < 60; ++i)
    add(1, "warning", 40 + i, 20 + i,
        fmt::format(R"(,"message":"{}")",
                    std::string(static_cast<size_t>(i + 1), static_cast<char>('a' + i % 26))));
  std::string metrics;
  for (int i = 1; i < 100; ++i)
    metrics += fmt::format(R"({{"step":{},"loss":{},"other":3}})", i, 100 - i) + "\n";
  replace_file(files_, "run/metrics.jsonl", metrics);
  const RunHistory history = this->history();
  for (const ScreenSize size : {ScreenSize{80, 24}, ScreenSize{200, 60}, ScreenSize{40, 8},
                                ScreenSize{1, 1}, ScreenSize{500, 9}}) {
    int scroll = 0;
    const auto lines = watch_screen(history, 1e9 + 100, size, scroll);
    EXPECT_EQ(lines.size(), static_cast<size_t>(std::max(size.rows, 8)));
    for (const std::string& line : lines) {
      const auto width = std::ranges::count_if(
          line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
      EXPECT_EQ(width, std::max(size.columns, 40));
    }
  }
  int scroll = 0;
  const auto last = watch_screen(history, 1e9 + 100, {}, scroll);
  EXPECT_THAT(last[1], HasSubstr("step 99 of 100"));
  scroll = 1000;
  const auto first = watch_screen(history, 1e9 + 100, {}, scroll);
  EXPECT_LT(scroll, 1000) << "as far as there are lines";
  EXPECT_THAT(fmt::format("{}", fmt::join(first, "\n")), HasSubstr("life 1 begins"));
  EXPECT_NE(first, last);
}

}  // namespace
}  // namespace crochet::tool
