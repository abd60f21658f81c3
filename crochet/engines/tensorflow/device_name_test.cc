// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "crochet/engines/tensorflow/cluster_spec.h"

namespace crochet::tensorflow {
namespace {

TEST(DeviceNameTest, ParsesEveryPart) {
  const auto device = parse_device_name("/job:worker/replica:2/task:11/device:GPU:3");
  ASSERT_TRUE(device);
  EXPECT_EQ(*device,
            (DeviceName{.job = "worker", .replica = 2, .task = 11, .type = "GPU", .index = 3}));
}

TEST(DeviceNameTest, LeavesMissingPartsUnset) {
  EXPECT_EQ(parse_device_name(""), DeviceName());
  EXPECT_EQ(parse_device_name("/job:*/task:*/device:*:*"), DeviceName());
  EXPECT_EQ(parse_device_name("/job:ps"), (DeviceName{.job = "ps"}));
  EXPECT_EQ(parse_device_name("/device:CPU"), (DeviceName{.type = "CPU"}));
}

TEST(DeviceNameTest, KnowsTheShortForms) {
  EXPECT_EQ(parse_device_name("/cpu:0"), (DeviceName{.type = "CPU", .index = 0}));
  EXPECT_EQ(parse_device_name("/task:1/GPU:2"), (DeviceName{.task = 1, .type = "GPU", .index = 2}));
}

TEST(DeviceNameTest, UsesTheLastOfRepeatedParts) {
  EXPECT_EQ(parse_device_name("/job:a/job:b/job:*/task:1"), (DeviceName{.task = 1}));
  EXPECT_EQ(parse_device_name("/device:CPU:1/device:GPU"), (DeviceName{.type = "GPU"}));
}

TEST(DeviceNameTest, RejectsNamesThatTensorFlowRejects) {
  for (const char* const text : {"job:ps",          "/",           "/job:",    "/job",
                                 "/job:7",          "/job:p-s",    "/job:ps/", "/task:x",
                                 "/task:-1",        "/task:+1",    "/task:",   "/task:99999999999",
                                 "/replica:1a",     "/nonsense:0", "/device:", "/device:CPU:",
                                 "/device:CPU:0:1", "/cpu",        "CPU",      " /job:ps"})
    EXPECT_EQ(parse_device_name(text), std::nullopt) << text;
}

TEST(DeviceNameTest, WritesWhatItParses) {
  for (const char* const text : {"", "/job:ps", "/job:worker/replica:0/task:1/device:CPU:0",
                                 "/task:7", "/device:GPU", "/device:*:1"})
    EXPECT_EQ(to_string(parse_device_name(text).value()), text);
  EXPECT_EQ(to_string(parse_device_name("/gpu:1/task:2/job:w").value()),
            "/job:w/task:2/device:GPU:1");
}

}  // namespace
}  // namespace crochet::tensorflow
