// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/export.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/checkpoint/saver/external_bundle.h"
#include "crochet/io/directory.h"
#include "crochet/session/rank_state.h"

namespace crochet::inline v0::internal {

// The parts of one checkpoint, written by the ranks that have its state together: each is a tensor
// bundle of its own, "<prefix>.tempstate<number>", whose index makes it durable. A rank that cannot
// write its part leaves a file with the reason. The chief merges the parts, of which no data is
// copied, and publishes the result.
//
// Ranks find each other's parts by looking into the directory, not by messages: the threads that
// write them need not wait for the threads that train.
//
// What is not published is removed by the destructor. Used by one thread at a time.
class RankParts {
 public:
  // `files` is the directory of the checkpoint; `prefixes` are those of the parts that are awaited,
  // by rank, with that of the chief.
  // `rows` are the keys at and beneath which each rank has rows, which the merge joins.
  RankParts(std::shared_ptr<Directory> files, std::string final_prefix,
            std::map<int, std::string> prefixes, std::vector<std::string> rows,
            const RankState& state);
  // Never throws.
  ~RankParts();
  RankParts(const RankParts&) = delete;
  RankParts& operator=(const RankParts&) = delete;

  // Where the chief writes its own part.
  const std::string& own_prefix() const { return prefixes_.at(0); }

  // Waits until the parts of all other ranks are durable, and merges them with that of the chief.
  // Requires: the chief's own is durable. Throws: the error of a rank that could not write its
  // part, and DeadlineExceededError that names the ranks whose parts are missing, after which it
  // has failed; DataLossError for a damaged part; what the file system throws, after which it may
  // be called again unless it has failed.
  void collect(Clock& clock);
  // The merged bundle, which is durable; null until collect() has returned.
  ExternalBundle* merged() { return is_collected_ ? merged_.get() : nullptr; }
  // True once all parts are durable.
  bool is_complete() const { return is_complete_; }

  bool failed() const { return error_ != nullptr || (merged_ && merged_->failed()); }
  void throw_if_failed() const;

 private:
  // The ranks that are still writing, and those that have failed.
  struct Progress {
    std::vector<int> missing;
    std::vector<int> failed;
  };
  Progress look() const;
  void wait_for_all(Clock& clock) const;
  bool joins_rows(std::string_view key) const;
  void remove_rest() noexcept;

  const ProcessOwner owner_;  // Of the files.
  const std::shared_ptr<Directory> files_;
  const std::string final_prefix_;
  const double timeout_secs_;
  const std::shared_ptr<const std::atomic<bool>> lost_;
  const int num_ranks_;
  const std::map<int, std::string> prefixes_;
  const std::vector<std::string> rows_;
  std::unique_ptr<ExternalBundle> merged_;
  bool is_complete_ = false;
  bool is_collected_ = false;
  std::exception_ptr error_;
};

// Leaves the reason why the part `prefix` is not written, for the chief. Never throws: the chief
// stops waiting by itself.
CROCHET_EXPORT void report_failed_part(FileSystem& files, const std::string& prefix,
                                       const std::exception_ptr& error) noexcept;

}  // namespace crochet::inline v0::internal
