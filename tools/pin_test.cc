// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::HasSubstr;

class PinTest : public testing::Test {
 protected:
  PinTest() {
    for (const int64_t step : {10, 20})
      put_checkpoint(files_, fmt::format("run/m-{}", step), {{"w", Tensor::scalar<float>(1)}},
                     {.step = step, .metrics = {{"loss", 0.5}}});
  }
  bool is_pinned(const std::string& prefix) { return read_sidecar(files_, prefix)->pinned; }

  MemoryFileSystem files_;
};

TEST_F(PinTest, PinsAndUnpinsAndKeepsTheSidecar) {
  const ToolRun pinned = run(files_, {"pin", "run/m-10.index"});
  EXPECT_EQ(pinned.code, kSuccess) << pinned.err;
  EXPECT_EQ(pinned.out, "run/m-10: pinned\n");
  EXPECT_TRUE(is_pinned("run/m-10"));
  EXPECT_FALSE(is_pinned("run/m-20"));
  EXPECT_EQ(read_sidecar(files_, "run/m-10")->metrics.at("loss"), 0.5);
  const ToolRun listed = run(files_, {"list", "run"});
  EXPECT_EQ(listed.code, kSuccess) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("m-10 (pinned)\n"));
  EXPECT_THAT(listed.out, HasSubstr("m-20 *\n"));
  EXPECT_EQ(run(files_, {"list", "--json", "run"}).json()["checkpoints"][0]["pinned"], true);
  EXPECT_EQ(run(files_, {"unpin", "run/m-10"}).out, "run/m-10: not pinned\n");
  EXPECT_FALSE(is_pinned("run/m-10"));
}

TEST_F(PinTest, ADirectoryStandsForItsNewest) {
  const Json json = run(files_, {"pin", "--json", "run"}).json();
  EXPECT_EQ(json["checkpoints"][0]["prefix"], "run/m-20");
  EXPECT_EQ(json["checkpoints"][0]["pinned"], true);
  EXPECT_TRUE(is_pinned("run/m-20"));
}

TEST_F(PinTest, NothingIsChangedIfOneDoesNotExist) {
  EXPECT_EQ(run(files_, {"pin", "run/m-10", "run/m-30"}).code, kTrouble);
  EXPECT_FALSE(is_pinned("run/m-10"));
}

TEST_F(PinTest, ACopyIsNotPinned) {
  EXPECT_EQ(run(files_, {"pin", "run/m-10"}).code, kSuccess);
  EXPECT_EQ(run(files_, {"convert", "run/m-10", "out/m-10"}).code, kSuccess);
  EXPECT_FALSE(is_pinned("out/m-10"));
}

}  // namespace
}  // namespace crochet::tool
