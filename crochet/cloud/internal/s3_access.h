// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "crochet/base/clock.h"
#include "crochet/cloud/internal/http_client.h"

namespace crochet::inline v0::cloud::internal {

// A place in a bucket: "s3://bucket/runs/digits". The prefix has no '/' at its ends.
struct S3Place {
  std::string bucket;
  std::string prefix;

  std::string url() const;
};

inline constexpr std::string_view kS3Scheme = "s3://";

// Throws: InvalidArgumentError for any other text, a bucket's name that S3 does not allow, and a
// prefix with empty parts, "." or "..", or with control characters.
S3Place parse_s3_url(std::string_view url);

// How a bucket is reached, from the variables that AWS's own tools read: AWS_ENDPOINT_URL_S3 or
// AWS_ENDPOINT_URL for another store than Amazon's, AWS_REGION or AWS_DEFAULT_REGION ("us-east-1"),
// AWS_CA_BUNDLE.
struct S3Server {
  HttpServer server;
  std::string region;
  // What begins a path: "/bucket" if the bucket is not a part of the host, else "".
  std::string root;
};

// Throws: InvalidArgumentError for an endpoint that is not http://host or https://host.
S3Server find_s3_server(const std::string& bucket);

struct S3Credentials {
  std::string key_id = {};
  std::string secret = {};
  std::string token = {};  // Empty: none.
  // In seconds since 1970-01-01 UTC. Unset: they do not end, or nobody knows.
  std::optional<double> ends_at = {};
};

// The credentials of this process, from where AWS's own tools look, in this order: the variables
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the file ~/.aws/credentials (or
// AWS_SHARED_CREDENTIALS_FILE), in it the profile "default" (or AWS_PROFILE); the role of the
// machine, which its metadata server has (AWS_EC2_METADATA_SERVICE_ENDPOINT), unless
// AWS_EC2_METADATA_DISABLED is "true".
// Throws: UnauthenticatedError, which names all of them, if none has any.
S3Credentials find_s3_credentials();

}  // namespace crochet::inline v0::cloud::internal
