// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "crochet/base/export.h"
#include "crochet/session/snapshot.h"

namespace crochet::inline v0 {

namespace internal {
class ExternalBundle;
}  // namespace internal

// The input of one save: a snapshot and, if the graph's own operations save the variables
// (SaverOptions::writer), the files that they have written.
//
// A value; copies share the tensors and the files.
class CROCHET_EXPORT SaveSource {
 public:
  SaveSource() = default;
  SaveSource(Snapshot snapshot,  // NOLINT(google-explicit-constructor)
             std::shared_ptr<internal::ExternalBundle> external = {})
      : snapshot_(std::move(snapshot)), external_(std::move(external)) {}

  const Snapshot& snapshot() const { return snapshot_; }
  // Null if all of the state is in the snapshot.
  internal::ExternalBundle* external() const { return external_.get(); }

  // True if there is nothing to save.
  bool empty() const { return snapshot_.empty() && !external_; }
  // The size of all elements and files; does not wait.
  uint64_t num_bytes() const;
  // True if the graph's operations could not write it; no later attempt can succeed.
  bool is_lost() const;

 private:
  Snapshot snapshot_;
  std::shared_ptr<internal::ExternalBundle> external_;
};

}  // namespace crochet::inline v0
