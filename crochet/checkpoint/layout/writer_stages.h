// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/process_owner.h"

namespace crochet::internal {

// How far a checkpoint's writer has come, and that it is called in order. An error ends it.
class WriterStages {
 public:
  enum Stage { kAdding, kWritten, kSynced, kPublished, kFailed };

  // `prefix` is named in errors.
  explicit WriterStages(std::string prefix) : prefix_(std::move(prefix)) {}

  Stage now() const { return stage_; }
  void reach(Stage stage) { stage_ = stage; }
  // True while there are files that nobody else will remove. In a forked process they are its
  // parent's.
  bool is_unfinished() const {
    return owner_.is_here() && stage_ != kPublished && stage_ != kFailed;
  }

  // Runs `step`, which belongs to the stage `required`; if it throws, so does this, behind
  // `clean_up`, and the writer has failed. Throws: FailedPreconditionError in any other stage,
  // and in a process that was forked since.
  template <typename Step, typename CleanUp>
  void run(Stage required, const char* call, const Step& step, const CleanUp& clean_up) {
    owner_.check(prefix_);
    if (stage_ == kFailed)
      throw FailedPreconditionError("{}: {} after an error; write anew", prefix_, call);
    if (stage_ != required)
      throw FailedPreconditionError("{}: {} out of order: add, write_and_sync, publish", prefix_,
                                    call);
    try {
      step();
    } catch (...) {
      stage_ = kFailed;
      clean_up();
      throw;
    }
  }

 private:
  ProcessOwner owner_;
  std::string prefix_;
  Stage stage_ = kAdding;
};

}  // namespace crochet::internal
