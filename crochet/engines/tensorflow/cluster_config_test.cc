// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/cluster_spec.h"

namespace crochet::tensorflow {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ClusterConfigTest, WritesAConfigProto) {
  EXPECT_EQ(cluster_config({.device_filters = {"/job:ps"}, .operation_timeout = 300ms}).serialized,
            "\x22\x07/job:ps\x58\xac\x02");
  EXPECT_EQ(cluster_config({.operation_timeout = 1ms, .isolate_session_state = true}).serialized,
            "\x78\x01\x58\x01");
}

TEST(ClusterConfigTest, HasALimitByDefault) {
  EXPECT_EQ(internal::operation_timeout_of(cluster_config({}).serialized), 60s);
  EXPECT_EQ(internal::operation_timeout_of(""), 0ms);
}

TEST(ClusterConfigTest, IsAppendedToTheBase) {
  const std::string base = "\x58\x05\x10\x01";
  const std::string found = cluster_config({.operation_timeout = 7ms, .base = base}).serialized;
  EXPECT_EQ(found, base + "\x58\x07");
  EXPECT_EQ(internal::operation_timeout_of(found), 7ms);
}

TEST(ClusterConfigTest, RejectsInvalidFiltersLimitsAndBases) {
  for (const char* const filter : {"", "ps", "/job:p-s"})
    EXPECT_THAT([&] { cluster_config({.device_filters = {filter}}); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("is not a device")));
  EXPECT_THROW(cluster_config({.operation_timeout = 0ms}), InvalidArgumentError);
  EXPECT_THAT([] { cluster_config({.base = "\x0a\x7f"}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("not a ConfigProto")));
}

TEST(ClusterConfigTest, AWorkerSeesTheVariablesAndItself) {
  EXPECT_THAT(filters_of_task("worker", 2), ElementsAre("/job:ps", "/job:worker/task:2"));
  EXPECT_THAT(filters_of_task("w", 0, "state"), ElementsAre("/job:state", "/job:w/task:0"));
}

}  // namespace
}  // namespace crochet::tensorflow
