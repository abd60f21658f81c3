// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/clock.h"

namespace crochet {

// How far a save has come. Each stage includes those before it.
enum class SaveStage {
  kSnapshotted,  // The state is held; training may change it.
  kWritten,      // All bytes were handed to the operating system.
  kDurable,      // They would survive a power cut, under temporary names.
  kPublished,    // The checkpoint exists, and the state file names it.
};

const char* save_stage_name(SaveStage stage);

// Follows one save. A small value; copies follow the same save. Thread-safe.
class SaveTicket {
 public:
  // A save that has reached kSnapshotted.
  SaveTicket(std::string prefix, int64_t step, Clock& clock);

  // "runs/digits/model.ckpt-200".
  const std::string& prefix() const;
  int64_t step() const;
  SaveStage stage() const;
  // True once it is published or has failed for good.
  bool finished() const;
  // What kept the save from being published, retries included; null if nothing has.
  std::exception_ptr error() const;
  // Seconds from the snapshot until the stage; unset if it was not reached.
  std::optional<double> seconds(SaveStage stage) const;
  // Blocks until the stage is reached. Throws what made the save fail before.
  void wait(SaveStage stage = SaveStage::kPublished) const;
  // Blocks until the save is published or has failed.
  void wait_finished() const;

  // For those who save.
  void reach(SaveStage stage);
  void fail(std::exception_ptr error);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace crochet
