// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/event.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<Event> example_events() {
  return {
      {},
      {.wall_time = 1.5, .file_version = std::string(kEventFileVersion)},
      {.wall_time = 1.5, .step = 1, .values = {{.tag = "loss", .simple_value = 0.25F}}},
      {.wall_time = -1e300,
       .step = std::numeric_limits<int64_t>::min(),
       .values = {{.tag = "größe", .simple_value = std::numeric_limits<float>::infinity()},
                  {.tag = "", .simple_value = 0},
                  {.tag = std::string(300, 't'), .simple_value = -0.0F}}},
      {.step = std::numeric_limits<int64_t>::max(),
       .session_log = SessionLogEntry{.status = SessionLog::kCheckpoint,
                                      .checkpoint_path = "/runs/x/model.ckpt-7",
                                      .message = "saved"}},
      {.session_log = SessionLogEntry{}},
  };
}

TEST(EventTest, DecodesWhatItEncoded) {
  for (const Event& event : example_events()) EXPECT_EQ(decode_event(encode_event(event)), event);
}

TEST(EventTest, KeepsNanAndTheSignOfZero) {
  const Event event = decode_event(encode_event(
      {.values = {{.tag = "a", .simple_value = NAN}, {.tag = "b", .simple_value = -0.0F}}}));
  ASSERT_EQ(event.values.size(), 2U);
  EXPECT_TRUE(std::isnan(event.values[0].simple_value));
  EXPECT_TRUE(std::signbit(event.values[1].simple_value));
}

TEST(EventTest, SkipsUnknownFields) {
  // 6 log_message { 2: "hi" }, 9 meta_graph_def: "x", 100: varint 1.
  const std::string unknown("\x32\x04\x12\x02hi\x4a\x01x\xa0\x06\x01", 12);
  const Event event{.wall_time = 2, .step = 3, .values = {{.tag = "loss", .simple_value = 1}}};
  EXPECT_EQ(decode_event(unknown + encode_event(event) + unknown), event);
}

TEST(EventTest, SkipsKnownFieldsOfAnotherType) {
  // 1 as varint, 2 as string, 5 as fixed32, 7 as varint.
  const std::string odd("\x08\x05\x12\x01x\x2d\x01\x02\x03\x04\x38\x01", 12);
  EXPECT_EQ(decode_event(odd + encode_event({.step = 3})), Event{.step = 3});
}

TEST(EventTest, ATruncatedMessageIsDataLossOrShorter) {
  for (const Event& event : example_events()) {
    const std::string good = encode_event(event);
    for (size_t size = 0; size < good.size(); ++size) {
      try {
        EXPECT_NE(decode_event(good.substr(0, size)), event) << size << " bytes";
      } catch (const DataLossError& error) {
        EXPECT_THAT(error.what(), HasSubstr("not a protobuf message")) << size << " bytes";
      }
    }
  }
}

// Some bits are ignored, such as those of a varint above the 64th.
TEST(EventTest, AFlippedBitIsDataLossOrSomeEvent) {
  for (const Event& event : example_events()) {
    const std::string good = encode_event(event);
    for (size_t i = 0; i < 8 * good.size(); ++i) {
      std::string bad = good;
      bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << i % 8));
      try {
        const std::string once = encode_event(decode_event(bad));
        EXPECT_EQ(encode_event(decode_event(once)), once) << "bit " << i;
      } catch (const DataLossError& error) {
        EXPECT_THAT(error.what(), HasSubstr("not a protobuf message")) << "bit " << i;
      }
    }
  }
}

TEST(EventTest, ReportsBytesThatAreNotAMessage) {
  EXPECT_THAT([] { decode_event("\xff\xff\xff"); },
              ThrowsMessage<DataLossError>(HasSubstr("event of 3 bytes")));
}

}  // namespace
}  // namespace crochet
