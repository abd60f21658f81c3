// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/ranks/internal/rank_contributions.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/checkpoint/bundle/merge_bundles.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/failed_part.h"
#include "crochet/io/file_system.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::internal {
namespace {

// How often the directory is looked into: soon after the chief's own part is written, as the others
// are then usually about to be.
constexpr Clock::Duration kFirstPause = std::chrono::milliseconds(1);
constexpr Clock::Duration kLongestPause = std::chrono::milliseconds(50);
// For parts that are being written when the group is lost.
constexpr Clock::Duration kGraceOfLost = std::chrono::seconds(10);

}  // namespace

RankContributions::RankContributions(std::shared_ptr<Directory> files, std::string final_prefix,
                                     std::map<int, std::string> prefixes,
                                     std::vector<std::string> rows, RankWaiting waiting)
    : files_(std::move(files)),
      final_prefix_(std::move(final_prefix)),
      waiting_(std::move(waiting)),
      prefixes_(std::move(prefixes)),
      rows_(std::move(rows)) {}

RankContributions::~RankContributions() {
  if (owner_.is_here()) remove_rest();
}

void RankContributions::throw_if_failed() const {
  if (error_) std::rethrow_exception(error_);
  if (merged_) merged_->throw_if_failed();
}

RankContributions::Progress RankContributions::look() const {
  Progress progress;
  for (const auto& [rank, prefix] : prefixes_) {
    if (files_->exists(index_filename(prefix))) continue;
    const bool has_failed = files_->exists(failed_part_filename(prefix));
    (has_failed ? progress.failed : progress.missing).push_back(rank);
  }
  return progress;
}

void RankContributions::wait_for_all(Clock& clock) const {
  const Clock::TimePoint start = clock.now();
  Clock::TimePoint deadline = start + from_seconds(waiting_.timeout_secs);
  bool is_lost = false;
  for (Clock::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const auto [missing, failed] = look();
    // If one has failed, too, the others are waited for: what they write is to be removed.
    if (missing.empty() && failed.empty()) return;
    if (missing.empty()) throw_failed_part(*files_, prefixes_.at(failed.front()), failed.front());
    if (!is_lost && waiting_.lost->load()) {
      is_lost = true;
      deadline = std::min(deadline, clock.now() + kGraceOfLost);
    }
    if (clock.now() >= deadline)
      throw DeadlineExceededError(fmt::format(
          "{}: the part{} of rank{} {} of {} {} missing after {:.1f} s: a rank was lost or is "
          "slow, or does not see this directory",
          final_prefix_, missing.size() == 1 ? "" : "s", missing.size() == 1 ? "" : "s",
          fmt::join(missing, ", "), waiting_.num_ranks, missing.size() == 1 ? "is" : "are",
          to_seconds(clock.now() - start)));
    clock.sleep_for(pause);
  }
}

void RankContributions::collect(Clock& clock) {
  throw_if_failed();
  try {
    if (!is_complete_) wait_for_all(clock);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
  is_complete_ = true;
  if (!merged_) merged_ = std::make_unique<ExternalBundle>(files_, final_prefix_);
  // A merge that was interrupted is continued; its index comes last.
  if (!files_->exists(index_filename(merged_->prefix()))) {
    std::vector<std::string> inputs;
    for (const auto& [rank, prefix] : prefixes_) inputs.push_back(prefix);
    merge_bundles(*files_, inputs, merged_->prefix(),
                  [this](std::string_view key) { return joins_rows(key); });
  }
  merged_->set_synced();
  merged_->open();
  is_collected_ = true;
}

bool RankContributions::joins_rows(std::string_view key) const {
  return std::ranges::any_of(rows_, [&](const std::string& root) { return is_at(key, root); });
}

// Finds the files by name: a part may be half written.
void RankContributions::remove_rest() noexcept {
  if (is_collected_) return;
  try {
    const std::string directory = directory_of(final_prefix_);
    for (const std::string& name : files_->list(directory))
      for (const auto& [rank, prefix] : prefixes_)
        if (name.starts_with(base_name(prefix) + ".")) files_->remove(join_path(directory, name));
  } catch (const std::exception& error) {
    log_lazily(Severity::kWarning, [&] {
      return fmt::format("parts of {} are not removed: {}", final_prefix_, error.what());
    });
  }
}

}  // namespace crochet::inline v0::internal
