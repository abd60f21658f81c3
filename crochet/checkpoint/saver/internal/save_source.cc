// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/save_source.h"

#include "crochet/checkpoint/saver/internal/external_bundle.h"
#include "crochet/checkpoint/saver/internal/joint_save.h"

namespace crochet::inline v0::internal {

uint64_t SaveSource::num_bytes() const {
  return snapshot_.num_bytes() + (external_ ? external_->num_bytes() : 0);
}

bool SaveSource::is_lost() const {
  return (external_ && external_->failed()) || (parts_ && parts_->failed());
}

}  // namespace crochet::inline v0::internal
