// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/memory_file_system.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() { files_.create_directories("run"); }

  void put(const std::string& text) { put_file(files_, "run/metrics.jsonl", text); }

  MemoryFileSystem files_;
};

TEST_F(MetricsTest, PrintsAColumnForEachCurve) {
  put(R"({"step":1,"time":1,"loss":0.5}
{"step":2,"time":2,"loss":0.1,"accuracy":0.25}
{"step":10,"time":3,"accuracy":1e-300}
)");
  const ToolRun found = run(files_, {"metrics", "run"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(found.out, "step,accuracy,loss\n1,,0.5\n2,0.25,0.1\n10,1e-300,\n");
}

TEST_F(MetricsTest, PrintsTheCurvesThatWereChosen) {
  put(R"({"step":1,"time":1,"loss":0.5}
{"step":2,"time":2,"loss":0.1,"accuracy":0.25}
)");
  EXPECT_EQ(run(files_, {"metrics", "--name", "accuracy", "run"}).out, "step,accuracy\n2,0.25\n");
  EXPECT_EQ(run(files_, {"metrics", "--name", "loss", "--name", "accuracy", "run"}).out,
            "step,loss,accuracy\n1,0.5,\n2,0.1,0.25\n");
  const ToolRun unknown = run(files_, {"metrics", "--name", "los", "run"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("run: no curve \"los\"; it has accuracy, loss"));
}

TEST_F(MetricsTest, LeavesOutWhatAResumeTookBack) {
  put(R"({"step":1,"time":1,"loss":1}
{"step":2,"time":1,"loss":2}
{"resumed_at":1,"time":2}
{"step":2,"time":3,"loss":3}
)");
  EXPECT_EQ(run(files_, {"metrics", "run"}).out, "step,loss\n1,1\n2,3\n");
}

TEST_F(MetricsTest, PrintsJsonByColumn) {
  put(R"({"step":1,"time":1,"loss":0.5}
{"step":2,"time":2,"accuracy":"NaN"}
)");
  const Json json = run(files_, {"metrics", "--json", "run"}).json();
  EXPECT_EQ(json["columns"].dump(), R"({"step":[1,2],"accuracy":[null,"NaN"],"loss":[0.5,null]})");
}

TEST_F(MetricsTest, NamesCannotBreakTheTable) {
  put(R"({"step":1,"time":1,"a,\"b\"":1,"c\u001b[31m\nd":2}
)");
  EXPECT_EQ(run(files_, {"metrics", "run"}).out, "step,\"a,\"\"b\"\"\",c\\x1b[31m\\nd\n1,1,2\n");
}

TEST_F(MetricsTest, ARunWithoutCurvesIsNegative) {
  const ToolRun none = run(files_, {"metrics", "run"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("run: no curves"));
  EXPECT_EQ(run(files_, {"metrics", "nowhere"}).code, 2);
}

}  // namespace
}  // namespace crochet::tool
