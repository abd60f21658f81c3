// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/run_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"

namespace crochet::tensorflow::internal {
namespace {

using namespace std::chrono_literals;
using protozero::pbf_writer;

TEST(RunMessagesTest, DefaultsAreEmpty) { EXPECT_EQ(serialize(RunOptions()), ""); }

// Bytes as TensorFlow's own protobuf writes them.
TEST(RunMessagesTest, WritesRunOptions) {
  EXPECT_EQ(serialize({.trace_level = TraceLevel::kFull}), "\x08\x03");
  EXPECT_EQ(serialize({.timeout_in_ms = 300}), "\x10\xac\x02");
  EXPECT_EQ(serialize({.inter_op_thread_pool = 1}), "\x18\x01");
  EXPECT_EQ(serialize({.output_partition_graphs = true}), "\x28\x01");
  EXPECT_EQ(serialize({.report_tensor_allocations_upon_oom = true}), "\x38\x01");
  EXPECT_EQ(serialize({.reset_disk_byte_usage = true}), "\x32\x02\x58\x01");
}

std::string metadata_bytes() {
  std::string bytes;
  pbf_writer metadata(bytes);
  {
    pbf_writer stats(metadata, 1);
    pbf_writer device(stats, 1);
    for (const auto& [name, start] : {std::pair{"second", 2000}, {"first", 1000}}) {
      pbf_writer node(device, 2);
      node.add_string(1, name);
      node.add_int64(2, start);
      node.add_int64(3, 10);
      node.add_int64(4, 25);
      node.add_uint32(10, 7);
      pbf_writer output(node, 7);
      pbf_writer description(output, 3);
      pbf_writer allocation(description, 4);
      allocation.add_int64(1, 64);
    }
    device.add_string(1, "/cpu:0");  // After the nodes, which is valid.
  }
  metadata.add_bytes(3, "graph");
  return bytes;
}

TEST(RunMessagesTest, ReadsRunMetadata) {
  const RunMetadata metadata = parse_run_metadata(metadata_bytes());
  EXPECT_DOUBLE_EQ(metadata.start_time, 0.00101);
  ASSERT_EQ(metadata.operations.size(), 2);
  EXPECT_EQ(metadata.operations[0].name, "first");
  EXPECT_EQ(metadata.operations[0].device, "/cpu:0");
  EXPECT_EQ(metadata.operations[0].start, 0us);
  EXPECT_EQ(metadata.operations[0].duration, 15us);
  EXPECT_EQ(metadata.operations[0].thread, 7);
  EXPECT_EQ(metadata.operations[0].output_bytes, 64);
  EXPECT_EQ(metadata.operations[1].start, 1000us);
  EXPECT_THAT(metadata.partition_graphs, testing::ElementsAre("graph"));
}

// A node with a label, and with times in microseconds and nanoseconds.
RunMetadata metadata_of(const char* label) {
  std::string bytes;
  {
    pbf_writer metadata(bytes);
    pbf_writer stats(metadata, 1);
    pbf_writer device(stats, 1);
    device.add_string(1, "/cpu:0");
    pbf_writer node(device, 2);
    node.add_string(1, "c");
    node.add_int64(2, 1000);
    node.add_int64(3, 10);
    node.add_int64(4, 25);
    node.add_string(8, label);
    node.add_int64(13, 1'000'500);
    node.add_int64(14, 10'250);
    node.add_int64(15, 25'750);
  }
  return parse_run_metadata(bytes);
}

TEST(RunMessagesTest, PrefersNanoseconds) {
  const RunMetadata metadata = metadata_of("");
  EXPECT_DOUBLE_EQ(metadata.start_time, 0.00101075);
  EXPECT_EQ(metadata.operations.at(0).duration, 15'500ns);
}

TEST(RunMessagesTest, FindsTheInputsOfAnOperation) {
  const auto inputs = [](const char* label) { return metadata_of(label).operations.at(0).inputs; };
  EXPECT_THAT(inputs("c = Add(a, b:1, ^d)"), testing::ElementsAre("a", "b:1", "^d"));
  EXPECT_THAT(inputs("[alloc 2.0MB] c = Add(a)"), testing::ElementsAre("a"));
  for (const char* const label :
       {"", "c", "c = NoOp()", "_RecvX = _Recv(edge_4_a @/job:ps)", "c = Add(a", "(a)"})
    EXPECT_THAT(inputs(label), testing::IsEmpty()) << label;
}

TEST(RunMessagesTest, DetectsCuts) {
  const std::string bytes = metadata_bytes();
  EXPECT_THROW(parse_run_metadata(bytes.substr(0, bytes.size() - 1)), DataLossError);
}

}  // namespace
}  // namespace crochet::tensorflow::internal
