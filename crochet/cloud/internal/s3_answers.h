// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crochet/cloud/internal/object_store.h"

namespace crochet::inline v0::cloud::internal {

// What S3 answers in XML. Answers are not trusted.

// Why a request failed; empty if the answer does not say it.
struct S3Failure {
  std::string code = {};     // "NoSuchKey".
  std::string message = {};  // For people.
};
S3Failure read_s3_failure(const std::string& body);

// A page of a listing.
struct S3Page {
  std::vector<StoredObject> objects = {};
  std::string next = {};  // The token with which the next page is asked for; empty: the last one.
};
// Throws: DataLossError for anything else.
S3Page read_s3_page(const std::string& body);

// As URLs have it. A '/' stays in a path, and nowhere else.
enum class UrlPart { kPath, kValue };
std::string url_encoded(std::string_view text, UrlPart part);
// Throws: DataLossError for a '%' without two hexadecimal digits.
std::string url_decoded(std::string_view text);

}  // namespace crochet::inline v0::cloud::internal
