// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace crochet::inline v0::cloud::internal {

struct HttpRequest {
  bool is_put = false;  // Else a GET.
  std::string path = {};
  std::vector<std::string> headers = {};  // "Metadata: true".
  double timeout_secs = 5;
};

struct HttpResponse {
  int status = 0;
  std::string body = {};
  std::string etag = {};  // The header. Empty without one.
};

// What a server may answer.
inline constexpr size_t kMaxBodyBytes = 64 * 1024;

// Requests by HTTP to one host, and to no other. Not thread-safe.
class HttpClient {
 public:
  // Throws: InvalidArgumentError for a text that is not a host, with a port or without.
  explicit HttpClient(const std::string& host);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Unset, at once, if `stop` is requested. Throws: UnavailableError if there is no answer in time,
  // or none of HTTP; ResourceExhaustedError for one that is too long.
  std::optional<HttpResponse> send(const HttpRequest& request, const std::stop_token& stop);

 private:
  struct Handles;

  std::string url_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace crochet::inline v0::cloud::internal
