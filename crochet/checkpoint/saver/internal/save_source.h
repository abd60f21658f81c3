// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/session.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

class ExternalBundle;
class Contributions;

// Of the variables that are a part of one that several ranks have together, by name.
using SlicePlaces = std::map<std::string, SaveSliceInfo, std::less<>>;
// The input of one save: a snapshot and, if the graph's own operations save the variables
// (SaverOptions::writer), the files that they have written. If several ranks have the state
// together, the chief's also has the parts that the others write; theirs are parts.
//
// A value; copies share the tensors and the files.
class CROCHET_EXPORT SaveSource {
 public:
  SaveSource() = default;
  SaveSource(Snapshot snapshot,  // NOLINT(google-explicit-constructor)
             std::shared_ptr<ExternalBundle> external = {})
      : snapshot_(std::move(snapshot)), external_(std::move(external)) {}
  // That of the chief; of another rank, with the prefix of its part.
  SaveSource(Snapshot snapshot, SlicePlaces places, std::shared_ptr<Contributions> parts)
      : snapshot_(std::move(snapshot)), places_(std::move(places)), parts_(std::move(parts)) {}
  SaveSource(Snapshot snapshot, SlicePlaces places, std::string part_prefix)
      : snapshot_(std::move(snapshot)),
        places_(std::move(places)),
        part_prefix_(std::move(part_prefix)) {}

  const Snapshot& snapshot() const { return snapshot_; }
  // Null if all of the state is in the snapshot.
  ExternalBundle* external() const { return external_.get(); }
  // Null if the snapshot needs no parts of other ranks.
  Contributions* parts() const { return parts_.get(); }
  // Where this is to be written, as a part of a checkpoint; empty for a checkpoint.
  const std::string& part_prefix() const { return part_prefix_; }
  // Null for a whole variable.
  const SaveSliceInfo* place_of(std::string_view variable) const {
    const auto found = places_.find(variable);
    return found == places_.end() ? nullptr : &found->second;
  }

  // As Snapshot::take_copies().
  std::vector<std::shared_ptr<PendingCopies>> take_copies() { return snapshot_.take_copies(); }

  // True if there is nothing to save.
  bool empty() const { return snapshot_.empty() && !external_ && !parts_; }
  // The size of all elements and files; does not wait.
  uint64_t num_bytes() const;
  // True if the graph's operations or another rank could not write it; no later attempt can
  // succeed.
  bool is_lost() const;

 private:
  Snapshot snapshot_;
  std::shared_ptr<ExternalBundle> external_;
  SlicePlaces places_;
  std::shared_ptr<Contributions> parts_;
  std::string part_prefix_;
};

}  // namespace crochet::inline v0::internal
