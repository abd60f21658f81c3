// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// A table of names and bytes that all ranks of a job reach, such as c10d's TCPStore. Each rank has
// its own object, for one thread. Functions throw an UnavailableError if the table is out of reach.
class CROCHET_EXPORT KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;

  virtual void set(const std::string& key, std::string_view value) = 0;
  // The value, once the key has one; unset if it still has none after `timeout`, which may be 0.
  virtual std::optional<std::string> get(const std::string& key, Clock::Duration timeout) = 0;
  // Adds to a number, which is 0 at first, at once for all ranks. Returns the sum.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  // Does nothing if there is no such key.
  virtual void remove(const std::string& key) = 0;
};

}  // namespace crochet::inline v0
