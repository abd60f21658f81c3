// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/cloud/internal/http_client.h"
#include "crochet/hooks/guards/preemption_hook.h"

namespace crochet::inline v0::cloud::internal {

// How one cloud is asked for notices, without the network: which request is next, and what its
// answer says. Answers are not trusted.
class MetadataDialect {
 public:
  virtual ~MetadataDialect() = default;

  // `now` in seconds since 1970-01-01 UTC, as in read().
  virtual HttpRequest next_request(double now) = 0;
  // A notice that has not been returned before. Throws: UnavailableError for a server that cannot
  // answer now; DataLossError, with what was found and expected, for any other answer.
  virtual std::optional<PreemptionNotice> read(const HttpResponse& response, double now) = 0;
  // The time to wait before the next request, in seconds.
  virtual double pause_secs() const = 0;
};

// "TRUE" and "FALSE" of instance/preempted.
class GceDialect final : public MetadataDialect {
 public:
  HttpRequest next_request(double now) override;
  std::optional<PreemptionNotice> read(const HttpResponse& response, double now) override;
  double pause_secs() const override { return 1; }  // The server itself waits.

 private:
  std::string etag_;  // Of the last answer.
};

// A token, then spot/instance-action and the recommendation to rebalance in turn.
class AwsDialect final : public MetadataDialect {
 public:
  HttpRequest next_request(double now) override;
  std::optional<PreemptionNotice> read(const HttpResponse& response, double now) override;
  double pause_secs() const override { return pause_secs_; }

 private:
  enum class Question { kToken, kAction, kRebalance };

  void read_token(const HttpResponse& response, double now);

  Question asked_ = Question::kToken;
  Question next_ = Question::kAction;  // Once there is a token.
  std::string token_;
  double pause_secs_ = 0;
  bool is_token_new_ = false;  // No question was answered with it.
  double token_ends_ = 0;
  std::string last_recommendation_;
};

// The name of this machine, then the events of all that belong together.
class AzureDialect final : public MetadataDialect {
 public:
  HttpRequest next_request(double now) override;
  std::optional<PreemptionNotice> read(const HttpResponse& response, double now) override;
  double pause_secs() const override { return 1; }

 private:
  std::optional<std::string> name_;  // Unset until it is known.
  bool asked_for_name_ = false;
};

}  // namespace crochet::inline v0::cloud::internal
