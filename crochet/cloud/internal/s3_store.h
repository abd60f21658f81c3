// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/cloud/internal/object_store.h"
#include "crochet/cloud/internal/s3_access.h"

namespace crochet::inline v0::cloud::internal {

// A bucket of Amazon S3, or of a store that speaks as it does.
// https://docs.aws.amazon.com/AmazonS3/latest/API/ (2026)
//
// A request that the store cannot answer now is sent again, six times within about a quarter of a
// minute; with credentials that have expired, once more with new ones.
class S3Store final : public ObjectStore {
 public:
  // Asks nothing yet. Requires: `clock` outlives this. Throws: InvalidArgumentError for an endpoint
  // of another kind than http and https.
  S3Store(std::string bucket, Clock& clock);
  ~S3Store() override;

  uint32_t put(const std::string& key, const HttpBody& body, const std::stop_token& stop) override;
  void put_new(const std::string& key, const std::string& text,
               const std::stop_token& stop) override;
  void get(const std::string& key, uint64_t offset, std::span<std::byte> into,
           const std::stop_token& stop) override;
  std::string get_text(const std::string& key, size_t max_bytes,
                       const std::stop_token& stop) override;
  ObjectListing list(const std::string& prefix, const std::stop_token& stop) override;
  void remove(const std::string& key, const std::stop_token& stop) override;

 private:
  // Sends a request until it is answered. `key` and `query` are not yet encoded; `what` is for
  // messages. Throws: as ObjectStore's functions.
  HttpResponse send(const std::string& what, const std::string& key, const std::string& query,
                    HttpRequest request, const std::stop_token& stop);
  uint32_t put_with(const std::string& key, const HttpBody& body, bool is_new,
                    const std::stop_token& stop);
  S3Credentials credentials(bool is_renewed);
  std::string url_of(const std::string& key) const;

  // What the threads of a process share. A forked one has connections of its own.
  struct Shared {
    std::mutex mutex;  // Guards what follows.
    std::optional<S3Credentials> credentials;
    std::vector<std::unique_ptr<HttpClient>> clients;
  };
  // A client for one thread at a time; kept, with its connection, for the next.
  class Lease;

  const std::string bucket_;
  const S3Server server_;
  Clock& clock_;  // Not owned; outlives this.
  crochet::internal::PerProcess<Shared> shared_;
};

}  // namespace crochet::inline v0::cloud::internal
