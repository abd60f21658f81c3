// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"

namespace crochet {

struct CheckpointsIteratorOptions {
  // The least time between two checkpoints that are given out.
  double min_interval_secs = 0;
  // The longest wait for a new checkpoint; unset: without limit.
  std::optional<double> timeout_secs = {};
  // Asked after such a wait: true ends the iteration, false waits again. Empty: it ends.
  std::function<bool()> timeout_fn = {};
  std::string checkpoint_basename = "model.ckpt";
  // Ends the iteration.
  std::stop_token stop = {};
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// Follows the checkpoints "<basename>-<step>" that a running job writes into a directory: gives the
// newest each time there is a new one, and waits for it. Those that were overtaken meanwhile are
// passed over, and so, with a warning, is one whose index is damaged.
//
//   for (const std::string& prefix : checkpoints_iterator("runs/digits", {.timeout_secs = 600})) {
//     CheckpointReader reader(prefix);
//     ...
//   }
//
// The directory need not be there yet. It is only read, and looked at once a second. A checkpoint
// that was given out may be removed by the job at any time: reading it is then a NotFoundError or
// DataLossError, after which the next one is the way to go on. The iteration also ends when
// a signal asks the process to end.
//
// For one thread.
class CheckpointsIterator {
 public:
  // Throws: InvalidArgumentError for a time that is negative, or no directory.
  explicit CheckpointsIterator(std::string checkpoint_dir, CheckpointsIteratorOptions options = {});

  // The prefix of a checkpoint that was not given out before; nothing at the end.
  // Throws: what timeout_fn throws, and the file system but for missing files.
  std::optional<std::string> next();

  class Iterator;
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  // A checkpoint that was written anew is another one.
  using Identity = std::pair<std::string, double>;

  std::optional<Identity> newest();
  // When its index was written; nothing if it is gone.
  std::optional<double> time_of(const std::string& prefix) const;
  bool is_readable(const std::string& prefix) const;
  // Without result at the timeout and at the end.
  std::optional<Identity> wait_for_new();
  bool is_over() const;
  void forget_all_but(const std::set<std::string>& prefixes);

  const std::string directory_;
  const CheckpointsIteratorOptions options_;
  FileSystem& files_;        // Not owned.
  Clock& clock_;             // Not owned.
  std::set<Identity> seen_;  // Given out, or found damaged.
  std::optional<Clock::TimePoint> last_time_;
};

class CheckpointsIterator::Iterator {
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
  return CheckpointsIterator(std::move(checkpoint_dir), std::move(options));
}

}  // namespace crochet
