// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_owner.h"

namespace crochet::inline v0::internal {

// Enforces the contract of every WritableFile: after an error the file is dead, after close() it is
// closed, and a forked process does not write to its parent's file.
class WritableState {
 public:
  explicit WritableState(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Runs one append or sync; if it throws, the file is dead from then on.
  // Throws: FailedPreconditionError if the file is already dead or closed, and in a process
  // forked since the file was opened.
  template <typename Operation>
  void run(const char* name, const Operation& operation) {
    owner_.check(path_);
    check_open(name);
    if (failed_)
      throw FailedPreconditionError(path_ + ": " + name + " after an error: the file is dead");
    failed_ = true;
    operation();
    failed_ = false;
  }

  // True after an error.
  bool is_dead() const { return failed_; }
  bool is_closed() const { return closed_; }

  // Throws: FailedPreconditionError the second time.
  void close() {
    check_open("close");
    closed_ = true;
  }

 private:
  void check_open(const char* name) const {
    if (closed_) throw FailedPreconditionError(path_ + ": " + name + " on a closed file");
  }

  ProcessOwner owner_;
  std::string path_;
  bool failed_ = false;
  bool closed_ = false;
};

}  // namespace crochet::inline v0::internal
