// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(OpLibraryTest, RunsOperationsOfALibrary) {
  load_op_library(OP_LIBRARY);
  load_op_library(OP_LIBRARY);
  Graph graph;
  GraphBuilder build(graph);
  const auto y = build.op("CrochetTwice", "twice", {build.constant("x", 1.5f)});
  EXPECT_EQ(graph.new_session("")->run(y[0]).scalar<float>(), 3.0f);
  // Its resources are state that no saver here can save.
  EXPECT_TRUE(graph.other_state().empty());
  build.op("CrochetStore", "store", {});
  ASSERT_EQ(graph.other_state().size(), 1U);
  EXPECT_EQ(graph.other_state().front().kind, "CrochetStore");
}

TEST(OpLibraryTest, RejectsAFileThatIsNotALibrary) {
  const TempDirectory directory;
  EXPECT_THAT([&] { load_op_library(directory / "none.so"); },
              ThrowsMessage<NotFoundError>(HasSubstr("none.so")));
  replace_file(FileSystem::posix(), directory / "text.so", "not a library");
  EXPECT_THAT([&] { load_op_library(directory / "text.so"); },
              ThrowsMessage<Error>(HasSubstr("text.so")));
}

}  // namespace
}  // namespace crochet::tensorflow
