// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/outputs.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/io/internal/crc32c.h"
#include "crochet/outputs/internal/file_copy.h"
#include "crochet/outputs/internal/output_position.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Checkpoints of the steps 1 and 2 of a run that has written a row of four bytes in each.
class OutputsTest : public testing::Test {
 protected:
  OutputsTest() {
    files_.create_directories("run");
    put_file(files_, "run/rows.csv", "one\ntwo\nlater");
    put(1, {.files = {{4, internal::crc32c("one\n")}}});
    put(2, {.files = {{8, internal::crc32c("one\ntwo\n")}}});
  }
  void put(int64_t step, const internal::OutputPosition& position,
           const std::string& path = "rows.csv") {
    put_checkpoint(files_, "run/model.ckpt-" + std::to_string(step),
                   {{"rows/%output/files", internal::to_tensor(position)},
                    {"rows/%output/path", Tensor::scalar(path)}},
                   {.step = step});
  }
  ToolRun run(const std::vector<std::string>& arguments) { return tool::run(files_, arguments); }

  MemoryFileSystem files_;
};

TEST_F(OutputsTest, AgreeWithTheirCheckpoints) {
  const ToolRun verify = run({"verify", "run"});
  EXPECT_EQ(verify.code, 0) << verify.out;
  EXPECT_THAT(verify.out, Not(HasSubstr("output")));
}

TEST_F(OutputsTest, AreShownAndListed) {
  EXPECT_THAT(run({"show", "run/model.ckpt-1"}).out,
              HasSubstr("output rows: run/rows.csv, 4 bytes\n"));
  EXPECT_THAT(run({"list", "run"}).out, HasSubstr("output rows: run/rows.csv, 8 bytes\n"));
  const Json outputs = run({"show", "--json", "run"}).json()["outputs"];
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0]["path"], "run/rows.csv");
  EXPECT_EQ(outputs[0]["num_bytes"], 8);
}

TEST_F(OutputsTest, AFileThatIsShorterIsNamed) {
  files_.truncate("run/rows.csv", 7);
  const ToolRun verify = run({"verify", "run"});
  EXPECT_EQ(verify.code, 1);
  EXPECT_THAT(verify.out,
              AllOf(HasSubstr("run/model.ckpt-2: output damaged: run/rows.csv: found 7 bytes, "
                              "expected at least the 8 that the run had written\n"),
                    Not(HasSubstr("model.ckpt-1: output"))));
  EXPECT_EQ(run({"verify", "run/model.ckpt-1"}).code, 0);
}

TEST_F(OutputsTest, AFileThatIsMissingIsNamed) {
  files_.remove("run/rows.csv");
  const ToolRun verify = run({"verify", "--json", "run"});
  EXPECT_EQ(verify.code, 1);
  const Json wrong = verify.json()["wrong_outputs"];
  ASSERT_EQ(wrong.size(), 2u);
  EXPECT_EQ(wrong[0]["verdict"], "incomplete");
}

TEST_F(OutputsTest, EachChangedByteIsFound) {
  for (size_t i = 0; i < 13; ++i) {
    damage(files_, "run/rows.csv", i);
    const ToolRun verify = run({"verify", "run"});
    EXPECT_EQ(verify.code, i < 8 ? 1 : 0) << i;
    EXPECT_EQ(verify.out.find("model.ckpt-1: output") != std::string::npos, i < 4) << i;
    damage(files_, "run/rows.csv", i);
  }
}

TEST_F(OutputsTest, FilesOfARotatedOutput) {
  put_file(files_, "run/log.000000.txt", "0123");
  put_file(files_, "run/log.000001.txt", "4567");
  const auto crc = [](std::string_view text) { return internal::crc32c(text); };
  put(3, {.files = {{4, crc("0123")}, {2, crc("45")}}}, "log.000000.txt");
  EXPECT_EQ(run({"verify", "run"}).code, 0);
  EXPECT_THAT(run({"show", "run/model.ckpt-3"}).out,
              HasSubstr("output rows: run/log.000000.txt and 1 more files, 6 bytes\n"));
  damage(files_, "run/log.000001.txt", 1);
  EXPECT_EQ(run({"verify", "run"}).code, 1);
}

TEST_F(OutputsTest, CopiesOfFiles) {
  Tensor description(DType::kInt64, Shape({2}));
  internal::put({.num_bytes = 4, .crc32c = internal::crc32c("0123")}, description.writable_bytes());
  put_checkpoint(files_, "run/model.ckpt-4", {{"sim/db/%file/copy", description}}, {.step = 4});
  const std::string copy = "run/model.ckpt-4.file-sim%2Fdb";
  EXPECT_EQ(run({"verify", "run/model.ckpt-4"}).code, 1);
  put_file(files_, copy, "0123");
  EXPECT_EQ(run({"verify", "run/model.ckpt-4"}).code, 0);
  EXPECT_THAT(run({"show", "run/model.ckpt-4"}).out,
              HasSubstr("output sim/db: run/model.ckpt-4.file-sim%2Fdb, 4 bytes\n"));
  for (const char* const wrong : {"012", "01234", "0124"}) {
    put_file(files_, copy, wrong);
    EXPECT_EQ(run({"verify", "run/model.ckpt-4"}).code, 1) << wrong;
  }
}

// Numbers of a hostile file.
TEST_F(OutputsTest, APositionThatCannotBeIsRefused) {
  const auto put_numbers = [&](const Tensor& numbers, const Tensor& path) {
    put_checkpoint(files_, "run/model.ckpt-9",
                   {{"rows/%output/files", numbers}, {"rows/%output/path", path}}, {.step = 9});
    EXPECT_EQ(run({"show", "run/model.ckpt-9"}).code, 0);
    EXPECT_NE(run({"verify", "run/model.ckpt-9"}).code, 2);
  };
  const Tensor path = Tensor::scalar(std::string("rows.csv"));
  put_numbers(Tensor::from<int64_t>({-1, 5}, {1, 2}), path);
  put_numbers(Tensor::from<int64_t>({int64_t{1} << 62, 5}, {1, 2}), path);
  put_numbers(Tensor::from<int64_t>({1, -5}, {1, 2}), path);
  put_numbers(Tensor::from<int64_t>({1, 5, 3}), path);
  put_numbers(Tensor::scalar(1.5), path);
  put_numbers(Tensor::from<int64_t>({1, 5}, {1, 2}), Tensor::scalar(int64_t{5}));
  put_numbers(Tensor::from<int64_t>({1, 5}, {1, 2}), Tensor::scalar(std::string()));
}

}  // namespace
}  // namespace crochet::tool
