// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/base/export.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

// Called around each save of a checkpoint hook, with the saved step, on the training thread.
// Derive from it and override what you need.
class CROCHET_EXPORT CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;

  virtual void begin() {}
  // Called before the snapshot is taken.
  virtual void before_save(Session& /*session*/, int64_t /*step*/) {}
  // Called once the checkpoint is published: at once by CheckpointSaverHook, before the next run by
  // AsyncCheckpointSaverHook. True asks to stop training. Not called for a save that failed.
  virtual bool after_save(Session& /*session*/, int64_t /*step*/) { return false; }
  // Called at the clean end, after the last save, with the last step.
  virtual void end(Session& /*session*/, int64_t /*step*/) {}
};

}  // namespace crochet::inline v0
