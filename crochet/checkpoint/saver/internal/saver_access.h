// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/publisher.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/saver.h"

namespace crochet::inline v0::internal {

// What the library calls of a saver, and users do not: the private functions of these names.
struct SaverAccess {
  static SaveSource snapshot_for(const Saver& saver, Session& session, const std::string& prefix,
                                 JointSave* others = nullptr) {
    return saver.snapshot_for(session, prefix, others);
  }
  static SaveSource snapshot_of_part(const Saver& saver, Session& session,
                                     const std::string& part_prefix) {
    return saver.snapshot_of_part(session, part_prefix);
  }
  static void write(Saver& saver, const SaveSource& source, SavePromise& promise) {
    saver.write(source, promise);
  }
  static std::string save_with(Saver& saver, JointSave* others, Session& session,
                               const std::string& save_path, int64_t step) {
    return saver.save_with(others, session, save_path, step);
  }
  // Waits until save_async() would not: see BackgroundSaver::wait_for_turn().
  static void wait_for_turn(Saver& saver, const std::function<void()>& while_waiting) {
    if (saver.background_) saver.background_->wait_for_turn(while_waiting);
  }
  // For the same run in another directory, with `saver`'s rules for restores. A restore by `saver`
  // waits for what it writes.
  static std::shared_ptr<Saver> another(Saver& saver, SaverOptions options) {
    auto result = std::make_shared<Saver>(std::move(options), saver.restore_options_);
    saver.other_ = *result->publisher_;
    return result;
  }
  // `saver` records what `other` did of the run when one happened.
  static void record_as(Saver& saver, const Saver& other) {
    (*saver.publisher_)->record_as(**other.publisher_);
  }
  static void refuse(Saver& saver, const std::string& prefix, std::string reason) {
    saver.refuse(prefix, std::move(reason));
  }
  static void go_back_to(Saver& saver, int64_t step) { saver.go_back_to(step); }
  static void hold_unused(Saver& saver, bool held) { saver.hold_unused(held); }
  static void set_unused_aside(Saver& saver) { saver.set_unused_aside(); }
};

}  // namespace crochet::inline v0::internal
