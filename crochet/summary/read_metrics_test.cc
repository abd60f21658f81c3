// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ReadEvalMetricsTest, ReturnsThePointsOfAllCurves) {
  MemoryFileSystem files;
  SummaryWriter writer("eval", files);
  writer.add_scalars(
      10, std::vector<Scalar>{{.tag = "loss", .value = 0.5}, {.tag = "accuracy", .value = 0.75}});
  writer.add_histogram("weights", Tensor::scalar(1.0F), 10);
  writer.add_text("note", "x", 10);
  writer.add_scalar("loss", 0.25, 20);
  EXPECT_THAT(read_eval_metrics(files, "eval"),
              ElementsAre(Pair(10, Metrics{{"loss", 0.5}, {"accuracy", 0.75}}),
                          Pair(20, Metrics{{"loss", 0.25}})));
}

TEST(ReadEvalMetricsTest, OmitsInvalidatedPoints) {
  MemoryFileSystem files;
  for (int i = 1; i <= 3; ++i) SummaryWriter("eval", files).add_scalar("loss", i, 10 * i);
  SummaryWriter writer("eval", files);
  writer.start_session(15);
  writer.add_scalar("loss", 4, 25);
  EXPECT_THAT(read_eval_metrics(files, "eval"),
              ElementsAre(Pair(10, Metrics{{"loss", 1}}), Pair(25, Metrics{{"loss", 4}})));
}

TEST(ReadEvalMetricsTest, ReadsUpToAnIncompleteRecordOfEachFile) {
  MemoryFileSystem files;
  for (int i = 1; i <= 2; ++i) {
    SummaryWriter writer("eval", files);
    writer.add_scalar("loss", i, 10 * i);
    writer.add_scalar("loss", i, 10 * i + 1);
  }
  for (const std::string& path : event_files(files, "eval"))
    files.truncate(path, files.file_size(path) - 1);
  EXPECT_THAT(read_eval_metrics(files, "eval"),
              ElementsAre(Pair(10, Metrics{{"loss", 1}}), Pair(20, Metrics{{"loss", 2}})));
}

TEST(ReadEvalMetricsTest, IsEmptyWithoutADirectory) {
  MemoryFileSystem files;
  EXPECT_THAT(read_eval_metrics(files, "nowhere"), IsEmpty());
}

}  // namespace
}  // namespace crochet
