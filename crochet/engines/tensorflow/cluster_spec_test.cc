// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const ClusterSpec::Jobs kJobs = {{"ps", {"ps.example:2222"}},
                                 {"worker", {"10.0.0.2:2222", "[::1]:65535", "localhost:0"}}};

TEST(ClusterSpecTest, KnowsItsTasks) {
  const ClusterSpec cluster(kJobs);
  EXPECT_EQ(cluster.jobs(), kJobs);
  EXPECT_EQ(cluster.num_tasks("worker"), 3);
  EXPECT_EQ(cluster.task_address("worker", 1), "[::1]:65535");
  EXPECT_EQ(cluster.task_address("ps", 0), "ps.example:2222");
}

TEST(ClusterSpecTest, NamesMissingJobsAndTasks) {
  const ClusterSpec cluster(kJobs);
  EXPECT_THAT([&] { cluster.num_tasks("chief"); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("no job \"chief\""), HasSubstr("\"ps\", \"worker\""))));
  for (const int task : {-1, 3})
    EXPECT_THAT([&] { cluster.task_address("worker", task); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("has 3, from 0 on")));
}

TEST(ClusterSpecTest, RejectsInvalidClusters) {
  const auto refuse = [](const ClusterSpec::Jobs& jobs, const char* why) {
    EXPECT_THAT([&] { ClusterSpec cluster(jobs); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(why)));
  };
  refuse({}, "needs at least one job");
  refuse({{"ps", {}}}, "\"ps\" has no tasks");
  refuse({{"p-s", {"a:1"}}}, "\"p-s\" is not a valid name");
  refuse({{"", {"a:1"}}}, "\"\" is not a valid name");
  refuse({{"ps", {"a:1", "nowhere"}}}, "/job:ps/task:1: \"nowhere\" is not an address");
  refuse({{"ps", {"a:1"}}, {"worker", {"b:1", "a:1"}}},
         "/job:ps/task:0 and /job:worker/task:1 have the same address, a:1");
  refuse({{"ps", {"a:1"}}, {"worker", {"a:01"}}},
         "/job:ps/task:0 and /job:worker/task:0 have the same address, a:01");
  refuse({{"ps", {"a:65536"}}}, "with a port of at most 65535");
}

// Each member chooses its own.
TEST(ClusterSpecTest, AcceptsPortsChosenLater) {
  EXPECT_NO_THROW(ClusterSpec({{"worker", {"localhost:0", "localhost:0"}}}));
}

TEST(ClusterSpecTest, ReadsPorts) {
  EXPECT_EQ(port_of_address("a:1"), 1);
  EXPECT_EQ(port_of_address("[fe80::1]:2222"), 2222);
  for (const char* const address :
       {"", ":1", "a", "a:", "a:x", "a:-1", "a:-0", "a:65536", "a:1 ", "a b:1", "::1:2222", "[]:1",
        "[::1:1", "grpc://a:1", "a:1,b:2", "a:99999999999"})
    EXPECT_THROW(port_of_address(address), InvalidArgumentError) << address;
}

TEST(ClusterSpecTest, AcceptsASingleJob) {
  const ClusterSpec spec({{"local", {"localhost:0"}}});
  EXPECT_EQ(spec.num_tasks("local"), 1);
  const ClusterSpec two({{"local", {"a:1", "b:1"}}});
  EXPECT_EQ(two.task_address("local", 1), "b:1");
  const ClusterSpec same = {{"local", {"localhost:0"}}};
  EXPECT_EQ(same.jobs(), spec.jobs());
}

}  // namespace
}  // namespace crochet::tensorflow
