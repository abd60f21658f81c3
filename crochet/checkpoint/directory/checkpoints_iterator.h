// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/checkpoint_choice.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

struct CheckpointsIteratorOptions {
  // The minimum time between two checkpoints returned.
  double min_interval_secs = 0;
  // The maximum wait for a new checkpoint; unset: no limit.
  std::optional<double> timeout_secs = {};
  // Called after such a wait: true ends the iteration, false waits again. Empty: it ends.
  std::function<bool()> timeout_fn = {};
  CheckpointBasename checkpoint_basename = "model.ckpt";
  // Which ones to return: the newest each time there is a newer one, or the best each time there is
  // a better one.
  CheckpointChoice which = CheckpointChoice::newest();
  // Instead, every checkpoint, in the order of the steps: also those that a newer one supersedes
  // before they are returned, as long as the job keeps them.
  bool all_checkpoints = false;
  // With all_checkpoints: true for those to leave out, which an earlier process has handled. Asked
  // with the prefix. Empty: none.
  std::function<bool(const std::string& prefix)> is_done = {};
  // The last step of the job: the iteration ends when there is a checkpoint of this step or a later
  // one, and nothing new to return.
  std::optional<int64_t> final_step = {};
  // Ends the iteration.
  std::stop_token stop = {};
  // FileSystem::posix() and Clock::real() if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// Follows the checkpoints "<basename>-<step>" that a running job writes to a directory: returns the
// newest each time there is a new one, and waits for it. Checkpoints superseded meanwhile are
// skipped, unless all are requested, as is, with a warning, one whose index is damaged.
//
//   for (const std::string& prefix : checkpoints_iterator("runs/digits", {.timeout_secs = 600})) {
//     CheckpointReader reader(prefix);
//     ...
//   }
//
// The directory need not exist yet. It is only read, once a second. The job may remove a returned
// checkpoint at any time: reading it then throws NotFoundError or DataLossError, after which the
// caller should continue with the next one. The iteration also ends when a signal asks the process
// to end.
//
// Not thread-safe.
class CROCHET_EXPORT CheckpointsIterator {
 public:
  // Throws: InvalidArgumentError for a negative time, an empty directory name, the checkpoint of
  // one step, or the best of all checkpoints.
  explicit CheckpointsIterator(const std::string& checkpoint_dir,
                               CheckpointsIteratorOptions options = {});

  // The prefix of a checkpoint that was not returned before; unset at the end.
  // Throws: what timeout_fn throws, errors of the file system except for missing files, and
  // InvalidArgumentError for a metric of which it is unknown what is better.
  std::optional<std::string> next();

  class Iterator;
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  // A checkpoint that was written again counts as another one.
  using Identity = std::pair<std::string, double>;

  std::vector<Identity> candidates();
  std::vector<Identity>::iterator best_of(std::vector<Identity>& candidates) const;
  std::optional<Identity> find_new();
  // Unset at the timeout and at the end.
  std::optional<Identity> wait_for_new();
  bool is_final(const Identity& checkpoint) const;
  bool is_over() const;

  const CheckpointsIteratorOptions options_;
  FileSystem& files_;  // Not owned.
  const std::string directory_;
  Clock& clock_;  // Not owned.
  std::vector<Identity> returned_;
  std::vector<Identity> damaged_;
  bool has_all_ = false;  // As far as final_step.
  std::optional<Clock::TimePoint> last_time_;
};

class CROCHET_EXPORT CheckpointsIterator::Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = std::string;

  explicit Iterator(CheckpointsIterator& checkpoints) : checkpoints_(&checkpoints) { ++*this; }
  const std::string& operator*() const { return *prefix_; }
  Iterator& operator++() {
    prefix_ = checkpoints_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& iterator, std::default_sentinel_t) {
    return !iterator.prefix_.has_value();
  }

 private:
  CheckpointsIterator* checkpoints_;  // Not owned.
  std::optional<std::string> prefix_;
};

inline CheckpointsIterator::Iterator CheckpointsIterator::begin() { return Iterator(*this); }

// TensorFlow's name for it.
inline CheckpointsIterator checkpoints_iterator(std::string checkpoint_dir,
                                                CheckpointsIteratorOptions options = {}) {
  return CheckpointsIterator(checkpoint_dir, std::move(options));
}

}  // namespace crochet::inline v0
