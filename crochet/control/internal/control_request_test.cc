// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/control/internal/control_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ControlRequestTest, RoundTrips) {
  for (const ControlRequest& request : {
           ControlRequest{.id = "a", .verb = ControlVerb::kStop},
           ControlRequest{.id = "b", .verb = ControlVerb::kStop, .limit = {.when_saved = true}},
           ControlRequest{.id = "c", .verb = ControlVerb::kSave},
           ControlRequest{.id = "d", .verb = ControlVerb::kStatus},
           ControlRequest{.id = "e", .verb = ControlVerb::kLimit},
           ControlRequest{.id = "f", .verb = ControlVerb::kLimit, .limit = {.at_step = 5000}},
           ControlRequest{.id = "g",
           .verb = ControlVerb::kLimit,
           .limit = {.until = 1.75e9, .when_saved = true}},
           ControlRequest{.id = "h", .verb = ControlVerb::kLimit, .for_secs = 7200},
       })
    EXPECT_EQ(parse_request(to_json(request), "control.json"), request) << to_json(request);
  const ControlAnswer answer{"id", "the run ends after step 7"};
  EXPECT_EQ(parse_answer(to_json(answer), "control.answer"), answer);
}

TEST(ControlRequestTest, WhatIsNotARequestIsNamed) {
  for (const char* const text : {
           "",
           "[]",
           "{}",
           "{\"id\": \"a\"}",
           "{\"id\": 5, \"verb\": \"stop\"}",
           "{\"id\": \"a\", \"verb\": \"explode\"}",
           "{\"id\": \"a\", \"verb\": \"stop\", \"when_saved\": 1}",
           "{\"id\": \"a\", \"verb\": \"limit\", \"at_step\": -1}",
           "{\"id\": \"a\", \"verb\": \"limit\", \"at_step\": 1.5}",
           "{\"id\": \"a\", \"verb\": \"limit\", \"at_step\": 1e30}",
           "{\"id\": \"a\", \"verb\": \"limit\", \"until\": 1e300}",
           "{\"id\": \"a\", \"verb\": \"limit\", \"until\": -1}",
           "{\"id\": \"a\", \"verb\": \"limit\", \"for_secs\": \"2h\"}",
           "{\"id\": \"a\", \"verb\": \"limit\", \"for_secs\": 5, \"at_step\": 5}",
       })
    EXPECT_THAT([&] { parse_request(text, "run/control.json"); },
                ThrowsMessage<DataLossError>(HasSubstr("run/control.json")))
        << text;
}

// Each length of a request, and each byte replaced.
TEST(ControlRequestTest, DamagedRequestsAreErrorsOrOthers) {
  const std::string whole = to_json(ControlRequest{
      .id = "a", .verb = ControlVerb::kLimit, .limit = {.at_step = 5000, .when_saved = true}});
  const auto try_text = [](const std::string& text) {
    try {
      static_cast<void>(parse_request(text, "control.json"));
    } catch (const DataLossError&) {
    }
  };
  for (size_t size = 0; size < whole.size() - 2; ++size)
    EXPECT_THROW(parse_request(whole.substr(0, size), "control.json"), DataLossError) << size;
  for (size_t i = 0; i < whole.size(); ++i)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[i] = static_cast<char>(byte);
      try_text(changed);
    }
}

}  // namespace
}  // namespace crochet::inline v0::internal
