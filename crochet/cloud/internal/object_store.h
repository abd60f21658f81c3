// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/cloud/internal/http_client.h"

namespace crochet::inline v0::cloud::internal {

struct StoredObject {
  std::string key;
  uint64_t size = 0;
  double time = 0;  // When it was put, in seconds since 1970-01-01 UTC by the store's clock.
};

struct ObjectListing {
  std::vector<StoredObject> objects;  // Sorted by key.
  double time = 0;                    // Of the answer, by the store's clock.
};

// A bucket of objects, as S3 has them: an object is put whole or not at all, cannot be changed
// afterwards, and whatever has been put or removed shows at once in every later answer.
//
// Functions throw: UnavailableError if the store cannot do it now, which then may or may not be
// done; PermissionDeniedError and UnauthenticatedError for credentials; CancelledError, at once, if
// `stop` is requested. Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Puts an object, in one step, in place of one with this key. The store compares what has arrived
  // with checksums of `body`, of which this is the crc32c. Throws: what the body's function throws;
  // DataLossError if the bytes change on the way, again and again.
  virtual uint32_t put(const std::string& key, const HttpBody& body,
                       const std::stop_token& stop) = 0;
  // The same, if there is no object with this key. Throws: AlreadyExistsError if there is one,
  // which may also be that of an earlier attempt of this call.
  virtual void put_new(const std::string& key, const std::string& text,
                       const std::stop_token& stop) = 0;
  // Fills all of `into` with the bytes from `offset` on. Throws: NotFoundError; DataLossError if
  // the object ends before that.
  virtual void get(const std::string& key, uint64_t offset, std::span<std::byte> into,
                   const std::stop_token& stop) = 0;
  // A whole object. Throws: NotFoundError; ResourceExhaustedError if it is longer.
  virtual std::string get_text(const std::string& key, size_t max_bytes,
                               const std::stop_token& stop) = 0;
  // The objects whose keys begin with `prefix`.
  virtual ObjectListing list(const std::string& prefix, const std::stop_token& stop) = 0;
  // Does nothing if there is none.
  virtual void remove(const std::string& key, const std::stop_token& stop) = 0;
};

}  // namespace crochet::inline v0::cloud::internal
