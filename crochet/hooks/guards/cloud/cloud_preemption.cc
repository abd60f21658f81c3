// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/cloud/cloud_preemption.h"

#include <utility>

#include "crochet/cloud/internal/http_client.h"
#include "crochet/hooks/guards/cloud/internal/metadata_dialect.h"

namespace crochet::inline v0::cloud {
namespace {

class MetadataSource final : public PreemptionSource {
 public:
  MetadataSource(std::unique_ptr<internal::MetadataDialect> dialect, const MetadataServer& server)
      : dialect_(std::move(dialect)), client_(server.host), clock_(Clock::or_real(server.clock)) {}

  std::optional<PreemptionNotice> wait(const std::stop_token& stop) override {
    if (!clock_.sleep_for(from_seconds(std::exchange(pause_secs_, 0)), stop)) return std::nullopt;
    const auto response = client_.send(dialect_->next_request(clock_.wall_time()), stop);
    if (!response) return std::nullopt;
    std::optional<PreemptionNotice> notice = dialect_->read(*response, clock_.wall_time());
    pause_secs_ = dialect_->pause_secs();
    return notice;
  }

 private:
  const std::unique_ptr<internal::MetadataDialect> dialect_;
  internal::HttpClient client_;
  Clock& clock_;
  double pause_secs_ = 0;  // Before the next request.
};

template <typename Dialect>
std::shared_ptr<PreemptionSource> source(const MetadataServer& server) {
  return std::make_shared<MetadataSource>(std::make_unique<Dialect>(), server);
}

}  // namespace

std::shared_ptr<PreemptionSource> gce_preemption(const MetadataServer& server) {
  return source<internal::GceDialect>(server);
}
std::shared_ptr<PreemptionSource> aws_preemption(const MetadataServer& server) {
  return source<internal::AwsDialect>(server);
}
std::shared_ptr<PreemptionSource> azure_preemption(const MetadataServer& server) {
  return source<internal::AzureDialect>(server);
}

}  // namespace crochet::inline v0::cloud
