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
#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/checkpoint/saver/internal/external_bundle.h"
#include "crochet/checkpoint/saver/internal/joint_save.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// How a save waits for the parts of other ranks.
struct RankWaiting {
  int num_ranks;
  double timeout_secs;
  // Becomes true once the group is lost: parts that are missing then may never be written.
  std::shared_ptr<const std::atomic<bool>> lost;
};

// The parts of one checkpoint, written by the ranks that have its state together: each is a tensor
// bundle of its own, "<prefix>.tempstate<number>", whose index makes it durable. A rank that cannot
// write its part leaves a file with the reason. The chief merges the parts, of which no data is
// copied, and publishes the result.
//
// Ranks find each other's parts by looking into the directory, not by messages: the threads that
// write them need not wait for the threads that train.
//
// What is not published is removed by the destructor. Used by one thread at a time.
class RankContributions final : public Contributions {
 public:
  // `files` is the directory of the checkpoint; `prefixes` are those of the parts that are awaited,
  // by rank, with that of the chief.
  // `rows` are the keys at and beneath which each rank has rows, which the merge joins.
  RankContributions(std::shared_ptr<Directory> files, std::string final_prefix,
                    std::map<int, std::string> prefixes, std::vector<std::string> rows,
                    RankWaiting waiting);
  // Never throws.
  ~RankContributions() override;

  const std::string& own_prefix() const override { return prefixes_.at(0); }
  void collect(Clock& clock) override;
  ExternalBundle* merged() override { return is_collected_ ? merged_.get() : nullptr; }
  bool is_complete() const override { return is_complete_; }
  bool failed() const override { return error_ != nullptr || (merged_ && merged_->failed()); }
  void throw_if_failed() const override;

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
  const RankWaiting waiting_;
  const std::map<int, std::string> prefixes_;
  const std::vector<std::string> rows_;
  std::unique_ptr<ExternalBundle> merged_;
  bool is_complete_ = false;
  bool is_collected_ = false;
  std::exception_ptr error_;
};

}  // namespace crochet::inline v0::internal
