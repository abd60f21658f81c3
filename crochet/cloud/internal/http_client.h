// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace crochet::inline v0::cloud::internal {

enum class HttpMethod { kGet, kPut, kDelete };

// What is sent with a PUT. The bytes are read as they are sent, again if they have to be sent
// again.
struct HttpBody {
  uint64_t size = 0;
  // Fills all of `into` with the bytes from `offset` on.
  std::function<void(uint64_t offset, std::span<std::byte> into)> read = {};
};

// AWS's signature of version 4, of the request without its body:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html (2026).
struct AwsSignature {
  std::string service = {};  // "s3".
  std::string region = {};
  std::string key_id = {};
  std::string secret = {};
};

// What a server may answer with, unless a request expects more.
inline constexpr size_t kMaxBodyBytes = 64 * 1024;

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string path = {};                  // With the query, encoded.
  std::vector<std::string> headers = {};  // "Metadata: true".
  HttpBody body = {};
  std::optional<AwsSignature> signature = {};
  double timeout_secs = 5;  // For the whole; 0: as long as it takes.
  double stall_secs = 0;    // The longest time without a byte; 0: no limit.
  size_t max_body_bytes = kMaxBodyBytes;
  // Receives the body of an answer of success, instead of HttpResponse::body.
  std::span<std::byte> into = {};
};

struct HttpResponse {
  int status = 0;
  std::string body = {};
  // Headers. Empty without one.
  std::string etag = {};
  std::string date = {};
  size_t num_received = 0;  // Bytes in HttpRequest::into.
};

// A server, and how it is reached.
struct HttpServer {
  std::string host;  // "127.0.0.1:8080".
  bool is_https = false;
  // Whether the proxies of the environment may be used.
  bool may_use_proxy = false;
  // The file of the authorities to trust instead of the system's. Empty: those.
  std::string authorities = {};
};

// Requests by HTTP to one host, and to no other. Not thread-safe.
class HttpClient {
 public:
  // Throws: InvalidArgumentError for a text that is not a host, with a port or without.
  explicit HttpClient(const HttpServer& server);
  explicit HttpClient(const std::string& host) : HttpClient(HttpServer{.host = host}) {}
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Unset, at once, if `stop` is requested. Throws: UnavailableError if there is no answer in time,
  // or none of HTTP; ResourceExhaustedError for one that is too long; what the body's function
  // throws.
  std::optional<HttpResponse> send(const HttpRequest& request, const std::stop_token& stop);

 private:
  struct Handles;

  const HttpServer server_;
  const std::string url_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace crochet::inline v0::cloud::internal
