// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PruneTest : public testing::Test {
 protected:
  PruneTest() {
    for (const int64_t step : {10, 20, 30, 40})
      put_checkpoint(files_, fmt::format("run/m-{}", step), {{"w", Tensor::scalar<float>(1)}},
                     {.step = step,
                      .unix_time = 1e9 + static_cast<double>(step),
                      .metrics = {{"loss", step == 20 ? 0.1 : 0.5}}});
    replace_file(files_, "run/m-5.index.damaged", std::string(100, 'x'));
    replace_file(files_, "run/mine.txt", "of the program");
  }
  std::vector<std::string> checkpoints() { return list_checkpoints(files_, "run", "m"); }

  MemoryFileSystem files_;
};

TEST_F(PruneTest, ShowsFirstAndChangesNothing) {
  const ToolRun shown = run(files_, {"prune", "--keep", "2", "run"});
  EXPECT_EQ(shown.code, kSuccess) << shown.err;
  EXPECT_THAT(shown.out, testing::StartsWith("would remove run/m-10\nwould remove run/m-20\n"));
  EXPECT_THAT(shown.out, HasSubstr(" bytes; --yes removes them\n"));
  EXPECT_EQ(checkpoints().size(), 4);
}

TEST_F(PruneTest, RemovesAndListsWhatIsLeft) {
  const ToolRun removed = run(files_, {"prune", "--keep", "2", "--yes", "run"});
  EXPECT_EQ(removed.code, kSuccess) << removed.err;
  EXPECT_THAT(removed.out, testing::StartsWith("removed run/m-10\nremoved run/m-20\n"));
  EXPECT_THAT(checkpoints(), ElementsAre("run/m-30", "run/m-40"));
  EXPECT_EQ(get_checkpoint_state(files_, "run")->model_checkpoint_path, "run/m-40");
  EXPECT_TRUE(files_.exists("run/m-5.index.damaged"));
  EXPECT_TRUE(files_.exists("run/mine.txt"));
  EXPECT_EQ(run(files_, {"prune", "--keep", "2", "--yes", "run"}).out, "run: nothing to remove\n");
}

TEST_F(PruneTest, KeepsWhatOptionsAndPinsKeep) {
  set_pinned(files_, "run/m-10", true);
  EXPECT_EQ(run(files_, {"prune", "--keep", "1", "--keep-lowest", "loss", "--yes", "run"}).code,
            kSuccess);
  EXPECT_THAT(checkpoints(), ElementsAre("run/m-10", "run/m-20", "run/m-40"));
}

// No Saver has published it.
TEST_F(PruneTest, KeepsWhatAnotherProgramWrote) {
  put_checkpoint(files_, "run/m-1", {{"w", Tensor::scalar<float>(1)}});
  EXPECT_EQ(run(files_, {"prune", "--keep", "1", "--yes", "run"}).code, kSuccess);
  EXPECT_THAT(checkpoints(), ElementsAre("run/m-1", "run/m-40"));
}

TEST_F(PruneTest, RemovesWhatWasSetAsideOnRequest) {
  const ToolRun removed = run(files_, {"prune", "--set-aside", "--yes", "run"});
  EXPECT_EQ(removed.out, "removed run/m-5.index.damaged\n100 bytes\n") << removed.err;
  EXPECT_FALSE(files_.exists("run/m-5.index.damaged"));
  EXPECT_EQ(checkpoints().size(), 4);
  EXPECT_TRUE(files_.exists("run/mine.txt"));
}

TEST_F(PruneTest, PrintsJson) {
  const Json json = run(files_, {"prune", "--keep", "3", "--json", "run"}).json();
  EXPECT_EQ(json["removed"], false);
  EXPECT_EQ(json["checkpoints"], Json::array({"run/m-10"}));
  EXPECT_GT(json["bytes"], 0);
}

TEST_F(PruneTest, ARunThatIsThereKeepsEverything) {
  const internal::DirectoryLock lock(files_, "run");
  const ToolRun refused = run(files_, {"prune", "--keep", "1", "--yes", "run"});
  EXPECT_EQ(refused.code, kTrouble) << refused.out;
  EXPECT_EQ(checkpoints().size(), 4);
}

TEST_F(PruneTest, NeedsToKnowWhatToKeep) {
  EXPECT_THAT(run(files_, {"prune", "run"}).err, HasSubstr("needs to know what to keep"));
  EXPECT_THAT(run(files_, {"prune", "--keep", "1", "nowhere"}).err, HasSubstr("no such directory"));
}

TEST_F(PruneTest, DuCountsEachKindAndASharedFileOnce) {
  replace_file(files_, "run/events.jsonl",
               R"({"event":"start","life":1,"step":0,"time":1,"steady":1})"
               "\n");
  files_.link("run/m-40.data-00000-of-00001", "run/m-50.data-00000-of-00001");
  const Json usage = run(files_, {"du", "--json", "run"}).json()["runs"][0];
  EXPECT_EQ(usage["set_aside"], 100);
  EXPECT_EQ(usage["other_files"], 14);
  uint64_t data = 0;
  for (const std::string& name : files_.list("run"))
    if (name.starts_with("m-") && !name.ends_with(".damaged") && !name.starts_with("m-50"))
      data += files_.file_size("run/" + name);
  EXPECT_EQ(usage["checkpoints"], data);
  EXPECT_EQ(usage["bytes"].get<uint64_t>(), data + 114 + usage["records"].get<uint64_t>());
  EXPECT_THAT(run(files_, {"du", "run"}).out, HasSubstr("RUN  CHECKPOINTS  SET ASIDE"));
  EXPECT_EQ(run(files_, {"du", "nowhere"}).code, kTrouble);
}

}  // namespace
}  // namespace crochet::tool
