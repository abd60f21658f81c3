// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"
#include "crochet/testing/key_value_store.h"

namespace crochet::inline v0 {

// A group whose ranks exchange messages through a KeyValueStore: for tests, with the time of a
// MemoryKeyValueStore. A store cannot tell which of its users are gone, so that a rank which is
// killed is noticed only when the limit is over.
//
// Keys begin with "crochet/<name>/<generation>/", so that several groups, and the generations of
// one, can share a store. Those of a call are removed by the next one: a group keeps no more than
// two keys for each rank, however long it lives.
//
// A rank that leaves is noticed within a second.
class CROCHET_EXPORT StoreGroup final : public Group {
 public:
  // Throws: InvalidArgumentError for options that a Group refuses; AlreadyExistsError if another
  // process was this rank of this generation; UnavailableError if the store is out of reach.
  StoreGroup(std::shared_ptr<KeyValueStore> store, const GroupOptions& options);
  // Leaves the group if an exception destroys it.
  ~StoreGroup() override;

 private:
  std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                       const Combine& combine) override;
  void send_failure(int64_t number, const std::string& message, const std::string& answer) override;

  struct Found {
    std::string value;
    bool is_failure = false;  // The answer of a rank that left, instead of the value.
  };

  std::string key(int64_t number, int rank) const;
  std::string answer_key(int64_t number) const;
  std::string collect(int64_t number, const std::string& message, WaitLimit& limit,
                      const Combine& combine);
  // The value of `key`; unset once the limit is over.
  std::optional<Found> wait_for(const std::string& key, WaitLimit& limit);
  std::vector<int> missing_ranks(int64_t number);

  const std::shared_ptr<KeyValueStore> store_;
  const std::string prefix_;
  const int num_exceptions_;  // In flight when the group was made.
};

}  // namespace crochet::inline v0
