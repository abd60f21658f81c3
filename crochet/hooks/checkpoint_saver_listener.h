// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/session/session.h"

namespace crochet {

// Called around the saves of a checkpoint hook, with the step that is saved; all on
// the training thread. Derive, and override what you need.
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;

  virtual void begin() {}
  // Before the state is taken.
  virtual void before_save(Session& /*session*/, int64_t /*step*/) {}
  // Once the checkpoint is published: at once by CheckpointSaverHook, at the next run by
  // AsyncCheckpointSaverHook. True asks to stop training. Not called for a save that failed.
  virtual bool after_save(Session& /*session*/, int64_t /*step*/) { return false; }
  // At the clean end, after the last save, with the last step.
  virtual void end(Session& /*session*/, int64_t /*step*/) {}
};

}  // namespace crochet
