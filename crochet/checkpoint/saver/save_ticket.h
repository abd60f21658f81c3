// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/process_bound.h"

namespace crochet {

// How far a save has come. Each stage includes those before it.
enum class SaveStage {
  kSnapshotted,  // The state is held; training may change it.
  kWritten,      // The operating system has all bytes of the tensors.
  kDurable,      // The checkpoint is there, and would be after a power cut.
  kPublished,    // The state file names it too; older ones that nobody keeps are removed.
};

const char* save_stage_name(SaveStage stage);

// Follows one save; a SavePromise is its other side. A small value; copies follow the same save.
// Thread-safe.
//
// A forked process does not hear of its parent's saves: there, all but prefix() and step() throws
// FailedPreconditionError.
class SaveTicket {
 public:
  // "runs/digits/model.ckpt-200": where it is to be.
  const std::string& prefix() const;
  // Where it is: prefix(), or the same name in the fallback directory. Empty until it is published,
  // and if there was nothing to save.
  std::string location() const;
  int64_t step() const;
  SaveStage stage() const;
  // True once it is published or has failed for good.
  bool finished() const;
  // What kept the save from being published, retries included; null if nothing has.
  std::exception_ptr error() const;
  // Seconds from the snapshot until the stage; unset if it was not reached. Those of kPublished end
  // when the state file names it, before older ones are removed.
  std::optional<double> seconds(SaveStage stage) const;
  // Of data and index; 0 until they are durable.
  uint64_t num_bytes() const;
  // How often its writing was begun: 1 without a retry.
  int num_attempts() const;
  // Blocks until the stage is reached. Throws what made the save fail before.
  void wait(SaveStage stage = SaveStage::kPublished) const;
  // Blocks until the save is published or has failed.
  void wait_finished() const;

 private:
  friend class SavePromise;
  struct State;
  explicit SaveTicket(std::shared_ptr<ProcessBound<State>> state) : state_(std::move(state)) {}

  std::shared_ptr<ProcessBound<State>> state_;
};

}  // namespace crochet
