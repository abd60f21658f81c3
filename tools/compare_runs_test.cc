// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/memory_file_system.h"
#include "tools/prometheus.h"
#include "tools/testing/fake_machine.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

class CompareRunsTest : public testing::Test {
 protected:
  CompareRunsTest() {
    make_run("a", "0.1", 2);
    make_run("b", "0.2", 3);
  }

  void make_run(const std::string& name, const std::string& rate, int loss) {
    files_.create_directories(name);
    const auto line = [](const std::string& event, int step, double time, const std::string& more) {
      return fmt::format(R"({{"event":"{}","life":1,"step":{},"time":{},"steady":{}{}}})", event,
                         step, 1e9 + time, time, more) +
             "\n";
    };
    replace_file(files_, name + "/events.jsonl",
                 line("start", 0, 0,
                      fmt::format(R"(,"pid":{},"host":"node7","command":["train","--rate","{}"])",
                                  loss, rate)) +
                     line("progress", 1, 1, R"(,"setup_secs":1)") +
                     line("end", 100, 101, R"(,"setup_secs":1,"why":"stop","exit_code":0)"));
    replace_file(files_, name + "/metrics.jsonl",
                 fmt::format(R"({{"step":1,"loss":9}})"
                             "\n"
                             R"({{"step":100,"loss":{}}})"
                             "\n",
                             loss));
  }

  MemoryFileSystem files_;
};

TEST_F(CompareRunsTest, TheTextHasResultsAndWhatDiffers) {
  const ToolRun compared = run(files_, {"compare", "--text", "a", "b"});
  EXPECT_EQ(compared.code, kSuccess) << compared.err;
  EXPECT_EQ(compared.out,
            "           a                 b\n"
            "state      stopped           stopped\n"
            "step       100               100\n"
            "steps/s    0.99              0.99\n"
            "goodput    99.0 %            99.0 %\n"
            "lives      1                 1\n"
            "last loss  2                 3\n"
            "command    train --rate 0.1  train --rate 0.2\n");
}

TEST_F(CompareRunsTest, ThePageHasOneChartOfBoth) {
  const std::string page = run(files_, {"compare", "a", "b"}).out;
  EXPECT_THAT(page,
              HasSubstr("<td>command</td><td>train --rate 0.1</td><td>train --rate 0.2</td>"));
  size_t charts = 0;
  for (size_t at = page.find("class=\"chart\""); at != page.npos;
       at = page.find("class=\"chart\"", at + 1))
    ++charts;
  EXPECT_EQ(charts, 1);
  EXPECT_THAT(page, HasSubstr(R"({"name":"a","points":[[1.0,9.0],[100.0,2.0]]})"));
  EXPECT_THAT(page, HasSubstr(R"({"name":"b","points":[[1.0,9.0],[100.0,3.0]]})"));
}

TEST_F(CompareRunsTest, PrintsJson) {
  const Json json = run(files_, {"compare", "--json", "a", "b"}).json();
  EXPECT_EQ(json["results"]["last loss"], Json::array({"2", "3"}));
  EXPECT_EQ(json["started_with"]["command"][1], "train --rate 0.2");
  EXPECT_FALSE(json["started_with"].contains("pid"));
}

TEST_F(CompareRunsTest, NeedsTwoRuns) {
  EXPECT_EQ(run(files_, {"compare", "a"}).code, kTrouble);
  EXPECT_EQ(run(files_, {"compare", "a", "nowhere"}).code, kTrouble);
}

TEST_F(CompareRunsTest, PrometheusReadsIt) {
  std::vector<NamedRun> runs;
  runs.push_back({"a \"quoted\"\n\\", read_history(files_, "a", FakeMachine())});
  const std::string text = prometheus_text(runs);
  EXPECT_THAT(text, HasSubstr("# TYPE crochet_run_up gauge\n"));
  EXPECT_THAT(text, HasSubstr("crochet_run_up{run=\"a \\\"quoted\\\"\\n\\\\\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(",use=\"steps\"} 100\n"));
  EXPECT_THAT(text, HasSubstr(",use=\"restore\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(",name=\"loss\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("crochet_run_checkpoint_step{")));
}

}  // namespace
}  // namespace crochet::tool
