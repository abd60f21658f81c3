// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "crochet/io/file_system.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/tracking/internal/restore_purpose.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::internal {

// A file that a run writes, with what a checkpoint has of it. A restore only notes that: files are
// changed once all of them were checked.
class RunOutput : public PartedSaveable {
 public:
  explicit RunOutput(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // The name under which it is tracked; empty if it is not.
  const std::string& name() const { return name_; }

  // Tracks it where `tracker` is. Throws: FailedPreconditionError in what may come and go;
  // AlreadyExistsError the second time.
  static void track(std::shared_ptr<RunOutput> output, Tracker& tracker);

  // Called when a run begins; the directory may be empty.
  void set_run_directory(std::string directory) { run_directory_ = std::move(directory); }
  // The path as the run's directory has it: relative to that.
  std::string stored_path() const;

  // Another rank has it: a write is an error with this reason from now on.
  virtual void refuse(const char* reason) = 0;
  // Whether start() can do what the restored state needs. `is_own`: without such a state, what is
  // there was written by an earlier life of this run. Changes nothing.
  virtual void check(bool is_own) = 0;
  virtual void start() = 0;
  // True after a restore in the course of a run, until start().
  virtual bool is_to_start() const = 0;
  virtual void begin_step() = 0;
  virtual void end_step() = 0;

 protected:
  // Called when it is tracked as the own one of a rank.
  virtual void set_rank(int64_t rank) { static_cast<void>(rank); }
  virtual std::string first_path() const { return path_; }
  const std::string& run_directory() const { return run_directory_; }
  // True if a restore is that of the run that wrote the file: only that continues with it.
  bool is_own_restore() const { return purpose_->is_same_training && purpose_->is_own_run; }

 private:
  const std::string path_;
  std::string name_;
  std::string run_directory_;
  std::shared_ptr<const RestorePurpose> purpose_;
};

// The path of a file that a program writes, as it stays if the program changes its working
// directory. Throws: InvalidArgumentError for a path that is empty or ends with a '/'.
std::string checked_output_path(const char* what, const std::string& path, FileSystem& files);

}  // namespace crochet::inline v0::internal
