// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoints_iterator.h"

#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/check_number.h"
#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"

namespace crochet::inline v0 {
namespace {

constexpr std::chrono::seconds kPollEvery(1);

bool is_readable(FileSystem& files, const std::string& prefix) {
  try {
    const CheckpointReader reader(prefix, files);
    return true;
  } catch (const NotFoundError&) {  // Removed meanwhile.
    return false;
  } catch (const DataLossError& error) {
    log_warning(fmt::format("checkpoint {} is skipped: {}", prefix, error.what()));
    return false;
  }
}

}  // namespace

CheckpointsIterator::CheckpointsIterator(std::string checkpoint_dir,
                                         CheckpointsIteratorOptions options)
    : directory_(std::move(checkpoint_dir)),
      options_(std::move(options)),
      files_(options_.files ? *options_.files : FileSystem::posix()),
      clock_(options_.clock ? *options_.clock : Clock::real()) {
  if (directory_.empty())
    throw InvalidArgumentError("checkpoints_iterator: the directory is empty");
  internal::check_at_least("checkpoints_iterator: min_interval_secs", options_.min_interval_secs,
                           0);
  internal::check_at_least("checkpoints_iterator: timeout_secs", options_.timeout_secs, 0);
}

std::optional<std::string> CheckpointsIterator::next() {
  if (last_time_) {
    const Clock::Duration left =
        *last_time_ + from_seconds(options_.min_interval_secs) - clock_.now();
    if (left > Clock::Duration::zero()) sleep_unless_signalled(clock_, left, options_.stop);
  }
  while (!is_over()) {
    if (auto found = wait_for_new()) {
      last_time_ = clock_.now();
      std::string prefix = found->first;
      seen_.insert(*std::move(found));
      return prefix;
    }
    if (is_over()) break;
    if (!options_.timeout_fn) {
      log_info(
          fmt::format("{}: no new checkpoint for {} seconds", directory_, *options_.timeout_secs));
      break;
    }
    if (options_.timeout_fn()) break;
  }
  return std::nullopt;
}

bool CheckpointsIterator::is_over() const {
  return pending_signal() != 0 || options_.stop.stop_requested();
}

std::optional<CheckpointsIterator::Identity> CheckpointsIterator::wait_for_new() {
  const Clock::TimePoint start = clock_.now();
  while (!is_over()) {
    if (auto found = newest()) return found;
    const Clock::Duration waited = clock_.now() - start;
    if (options_.timeout_secs && waited + kPollEvery > from_seconds(*options_.timeout_secs)) break;
    sleep_unless_signalled(clock_, kPollEvery, options_.stop);
  }
  return std::nullopt;
}

// The newest checkpoint, if it is readable and was not seen before.
std::optional<CheckpointsIterator::Identity> CheckpointsIterator::newest() {
  const std::vector<std::string> prefixes =
      list_checkpoints(files_, directory_, options_.checkpoint_basename);
  const std::set<std::string> existing(prefixes.begin(), prefixes.end());
  std::erase_if(seen_, [&](const Identity& each) { return !existing.contains(each.first); });
  for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
    const auto time = internal::time_of_checkpoint(files_, *prefix);
    if (!time) continue;  // Removed meanwhile.
    Identity identity(*prefix, *time);
    if (seen_.contains(identity)) return std::nullopt;
    if (is_readable(files_, *prefix)) return identity;
    seen_.insert(std::move(identity));
  }
  return std::nullopt;
}

}  // namespace crochet::inline v0
