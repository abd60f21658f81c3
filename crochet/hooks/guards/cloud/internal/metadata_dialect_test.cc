// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/cloud/internal/metadata_dialect.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kNow = 1'764'400'000;

// Its dialect is asked for a request, and reads the answer.
template <typename Dialect>
class DialectTest : public testing::Test {
 protected:
  HttpRequest next() { return dialect_.next_request(now_); }
  std::optional<PreemptionNotice> answer(int status, const std::string& body,
                                         const std::string& etag = "") {
    request_ = next();
    return dialect_.read({status, body, etag}, now_);
  }
  void expect_refused(int status, const std::string& body, const std::string& message) {
    EXPECT_THAT([&] { answer(status, body); }, ThrowsMessage<DataLossError>(HasSubstr(message)))
        << body;
  }
  // Whatever a server says: an error, or no notice.
  void expect_no_notice(const std::string& body) {
    try {
      EXPECT_EQ(answer(200, body), std::nullopt) << body;
    } catch (const DataLossError&) {
    }
  }

  double now_ = kNow;
  HttpRequest request_;
  Dialect dialect_;
};

using GceDialectTest = DialectTest<GceDialect>;

TEST_F(GceDialectTest, WaitsForAChange) {
  EXPECT_EQ(answer(200, "FALSE", "a1b2"), std::nullopt);
  EXPECT_EQ(request_.path, "/computeMetadata/v1/instance/preempted");
  EXPECT_THAT(request_.headers, ElementsAre("Metadata-Flavor: Google"));
  EXPECT_EQ(answer(200, "FALSE", "a1b2"), std::nullopt);
  EXPECT_EQ(request_.path,
            "/computeMetadata/v1/instance/preempted?wait_for_change=true&timeout_sec=60"
            "&last_etag=a1b2");
  EXPECT_GT(request_.timeout_secs, 60);
  const auto notice = answer(200, "TRUE", "c3");
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->ends_at, kNow + 25);
}

TEST_F(GceDialectTest, AsksAgainWithoutATag) {
  EXPECT_EQ(answer(200, "FALSE"), std::nullopt);
  EXPECT_THAT(next().path, EndsWith("/preempted"));
  EXPECT_EQ(answer(200, "FALSE", "a b\r\nX: y"), std::nullopt);  // Not the server's.
  EXPECT_THAT(next().path, EndsWith("/preempted"));
  EXPECT_GE(dialect_.pause_secs(), 1);
}

TEST_F(GceDialectTest, RefusesOtherAnswers) {
  expect_refused(200, "<html>Log in",
                 "answered with status 200 and \"<html>Log in\", expected TRUE or FALSE");
  expect_refused(302, "", "answered with status 302 and \"\", expected status 200");
  expect_refused(404, "", "status 404");
  EXPECT_THROW(answer(503, ""), UnavailableError);
}

class AwsDialectTest : public DialectTest<AwsDialect> {
 protected:
  void get_token(const std::string& token = "t0ken==") {
    EXPECT_EQ(answer(200, token), std::nullopt);
    EXPECT_EQ(request_.method, HttpMethod::kPut);
  }
};

TEST_F(AwsDialectTest, AsksForATokenAndThenInTurn) {
  get_token();
  EXPECT_EQ(request_.path, "/latest/api/token");
  EXPECT_THAT(request_.headers, ElementsAre("X-aws-ec2-metadata-token-ttl-seconds: 21600"));
  EXPECT_EQ(answer(404, "<html>"), std::nullopt);
  EXPECT_EQ(request_.path, "/latest/meta-data/spot/instance-action");
  EXPECT_THAT(request_.headers, ElementsAre("X-aws-ec2-metadata-token: t0ken=="));
  EXPECT_EQ(request_.method, HttpMethod::kGet);
  EXPECT_EQ(dialect_.pause_secs(), 0);
  EXPECT_EQ(answer(404, "<html>"), std::nullopt);
  EXPECT_EQ(request_.path, "/latest/meta-data/events/recommendations/rebalance");
  EXPECT_EQ(dialect_.pause_secs(), 5);
  const auto notice = answer(200, R"({"action": "terminate", "time": "2025-11-29T07:10:00Z"})");
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->ends_at, 1'764'400'200);
}

TEST_F(AwsDialectTest, ARecommendationIsAnAdviceOnce) {
  get_token();
  const std::string advice = R"({"noticeTime": "2025-11-29T07:10:00Z"})";
  answer(404, "");
  const auto notice = answer(200, advice);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->ends_at, std::nullopt);
  answer(404, "");
  EXPECT_EQ(answer(200, advice), std::nullopt);
  answer(404, "");
  EXPECT_TRUE(answer(200, R"({"noticeTime": "2025-11-29T09:10:00Z"})"));
}

TEST_F(AwsDialectTest, RenewsItsToken) {
  get_token();
  answer(404, "");
  now_ += 10801;  // Half of its time.
  get_token("second");
  answer(404, "");
  EXPECT_THAT(request_.headers, ElementsAre("X-aws-ec2-metadata-token: second"));
  // The server was started again: no time is lost before the next question about the end.
  EXPECT_EQ(answer(401, ""), std::nullopt);
  EXPECT_EQ(dialect_.pause_secs(), 0);
  get_token("third");
  EXPECT_THAT(next().path, EndsWith("/instance-action"));
  expect_refused(401, "", "that it accepts its own token");
}

TEST_F(AwsDialectTest, RefusesOtherAnswers) {
  expect_refused(200, "", "expected a token");
  expect_refused(200, "a\r\nHost: elsewhere", "expected a token");
  expect_refused(403, "", "expected status 200");
  EXPECT_THROW(answer(500, ""), UnavailableError);
  get_token();
  for (const std::string body :
       {R"({"action": "terminate"})", R"({"time": 5})", R"([])", "7", R"({"time": "tomorrow"})"}) {
    expect_refused(200, body, "expected an action with a time");
    answer(404, "");  // The recommendation.
  }
  expect_refused(200, "<html>", "AWS's metadata server");
  expect_refused(200, "{}", "expected a recommendation");
}

class AzureDialectTest : public DialectTest<AzureDialect> {
 protected:
  void get_name() {
    EXPECT_EQ(answer(200, "vm-3"), std::nullopt);
    EXPECT_EQ(request_.path, "/metadata/instance/compute/name?api-version=2021-02-01&format=text");
  }
  static std::string event(const std::string& type, const std::string& machine,
                           const std::string& time) {
    return R"({"DocumentIncarnation": 1, "Events": [{"EventId": "A1", "EventStatus": "Scheduled",
               "EventType": ")" +
           type + R"(", "ResourceType": "VirtualMachine",
               "Resources": ["vm-1", ")" +
           machine + R"("], "NotBefore": ")" + time + R"("}]})";
  }
};

TEST_F(AzureDialectTest, ReadsTheEventsOfThisMachine) {
  get_name();
  EXPECT_EQ(answer(200, R"({"DocumentIncarnation": 1, "Events": []})"), std::nullopt);
  EXPECT_EQ(request_.path, "/metadata/scheduledevents?api-version=2020-07-01");
  EXPECT_THAT(request_.headers, ElementsAre("Metadata: true"));
  const std::string time = "Sat, 29 Nov 2025 07:10:00 GMT";
  EXPECT_EQ(answer(200, event("Preempt", "vm-30", time)), std::nullopt);
  EXPECT_EQ(answer(200, event("Freeze", "vm-3", time)), std::nullopt);
  for (const std::string type : {"Preempt", "Terminate", "Reboot", "Redeploy"}) {
    const auto notice = answer(200, event(type, "vm-3", time));
    ASSERT_TRUE(notice) << type;
    EXPECT_EQ(notice->ends_at, 1'764'400'200);
    EXPECT_THAT(notice->text, HasSubstr(type));
  }
  EXPECT_EQ(answer(200, event("Preempt", "vm-3", ""))->ends_at, kNow);  // It has started.
}

TEST_F(AzureDialectTest, RefusesOtherAnswers) {
  expect_refused(200, "a name", "expected the name of this machine");
  get_name();
  for (const std::string body : {"{}", "[]", R"({"Events": {}})", R"({"Events": null})"})
    expect_refused(200, body, "expected a list of events");
  expect_refused(200, event("Preempt", "vm-3", "soon"), "expected an event with the time");
  expect_refused(200, R"({"Events": [)", "Azure's metadata server");
  for (const std::string event :
       {"1", "null", "[]", "{}", R"({"EventType": 7})", R"({"EventType": "Preempt"})",
        R"({"EventType": "Preempt", "Resources": "vm-3"})",
        R"({"EventType": "Preempt", "Resources": [3, null]})"})
    expect_no_notice(R"({"Events": [)" + event + "]}");
  EXPECT_THROW(answer(429, ""), UnavailableError);
}

// Each answer, cut at each length and with each byte changed, is an error or an answer.
TEST_F(AwsDialectTest, DamagedAnswers) {
  const std::string whole = R"({"action": "terminate", "time": "2025-11-29T07:10:00Z"})";
  for (size_t i = 0; i < whole.size(); ++i)
    for (const std::string& body :
         {whole.substr(0, i), std::string(whole).replace(i, 1, 1, '\xff'),
          std::string(whole).replace(i, 1, 1, '\0'), std::string(whole).replace(i, 1, 1, '"')}) {
      AwsDialect dialect;
      dialect.next_request(kNow);
      dialect.read({200, "token", ""}, kNow);
      dialect.next_request(kNow);
      try {
        const auto notice = dialect.read({200, body, ""}, kNow);
        EXPECT_TRUE(notice && notice->ends_at == 1'764'400'200) << body;
      } catch (const DataLossError&) {
      }
    }
}

}  // namespace
}  // namespace crochet::inline v0::cloud::internal
