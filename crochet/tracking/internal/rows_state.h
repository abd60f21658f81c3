// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {

// The rows that this rank has of arrays that the ranks have together: each part is an array whose
// first dimension counts them. Beside the arrays, a save has how many there are.
class RowsState final : public PartedSaveable {
 public:
  // Throws: InvalidArgumentError for a part that has no rows.
  RowsState(std::string name, std::shared_ptr<PartedSaveable> parts);

  // Throw: FailedPreconditionError that names two parts with different numbers of rows.
  TensorMap save() const override;
  CapturedState capture() const override;
  // Throws: InvalidArgumentError that names two parts with different numbers of rows.
  std::vector<StatePart> parts_for(const StoredParts& stored) const override;
  std::vector<StatePart> present_parts(const StoredParts& stored) const override;
  void restore_parts(const StoredParts& stored, PartValues& values) override;

 private:
  std::string full_name(const std::string& key) const;
  TensorMap with_count(TensorMap state) const;

  const std::string name_;
  const std::shared_ptr<PartedSaveable> parts_;
};

}  // namespace crochet::inline v0::internal
