// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoints_iterator.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

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

template <typename Value>
bool contains(const std::vector<Value>& values, const Value& value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

CheckpointsIterator::CheckpointsIterator(const std::string& checkpoint_dir,
                                         CheckpointsIteratorOptions options)
    : options_(std::move(options)),
      files_(FileSystem::or_posix(options_.files)),
      directory_(files_.fixed_path(checkpoint_dir)),
      clock_(Clock::or_real(options_.clock)) {
  if (directory_.empty())
    throw InvalidArgumentError("checkpoints_iterator: the directory is empty");
  internal::check_at_least("checkpoints_iterator: min_interval_secs", options_.min_interval_secs,
                           0);
  internal::check_at_least("checkpoints_iterator: timeout_secs", options_.timeout_secs, 0);
  if (options_.which.step())
    throw InvalidArgumentError(
        fmt::format("checkpoints_iterator: which is {}: choose the newest or the best, as new ones "
                    "follow; crochet::load() reads a single one",
                    to_string(options_.which)));
  if (options_.all_checkpoints && !options_.which.is_newest())
    throw InvalidArgumentError(fmt::format(
        "checkpoints_iterator: all_checkpoints excludes which, {}", to_string(options_.which)));
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
      returned_.push_back(*std::move(found));
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
  return has_all_ || pending_signal() != 0 || options_.stop.stop_requested();
}

std::optional<CheckpointsIterator::Identity> CheckpointsIterator::wait_for_new() {
  const Clock::TimePoint start = clock_.now();
  while (!is_over()) {
    if (auto found = find_new()) return found;
    if (has_all_) break;
    const Clock::Duration waited = clock_.now() - start;
    if (options_.timeout_secs && waited + kPollEvery > from_seconds(*options_.timeout_secs)) break;
    sleep_unless_signalled(clock_, kPollEvery, options_.stop);
  }
  return std::nullopt;
}

// The checkpoints that exist and are not known to be damaged, those to try first last.
std::vector<CheckpointsIterator::Identity> CheckpointsIterator::candidates() {
  std::vector<Identity> candidates;
  for (const std::string& prefix :
       list_checkpoints(files_, directory_, options_.checkpoint_basename))
    if (const auto time = internal::time_of_checkpoint(files_, prefix))  // Else removed meanwhile.
      candidates.emplace_back(prefix, *time);
  const auto is_gone = [&](const Identity& each) { return !contains(candidates, each); };
  std::erase_if(returned_, is_gone);
  std::erase_if(damaged_, is_gone);
  std::erase_if(candidates, [&](const Identity& each) { return contains(damaged_, each); });
  if (options_.all_checkpoints) {
    if (options_.is_done)
      std::ranges::copy_if(candidates, std::back_inserter(returned_), [&](const Identity& each) {
        return !contains(returned_, each) && options_.is_done(each.first);
      });
    std::erase_if(candidates, [&](const Identity& each) { return contains(returned_, each); });
    std::ranges::reverse(candidates);
  }
  return candidates;
}

// The chosen one of the readable checkpoints, if it was not returned before.
std::optional<CheckpointsIterator::Identity> CheckpointsIterator::find_new() {
  std::vector<Identity> left = candidates();
  while (!left.empty()) {
    const auto chosen = options_.which.is_newest() ? left.end() - 1 : best_of(left);
    if (chosen == left.end() || contains(returned_, *chosen)) break;
    if (is_readable(files_, chosen->first)) return *chosen;
    damaged_.push_back(*chosen);
    left.erase(chosen);
  }
  const auto is_final = [this](const Identity& each) { return this->is_final(each); };
  has_all_ = std::ranges::any_of(left, is_final) || std::ranges::any_of(returned_, is_final);
  return std::nullopt;
}

bool CheckpointsIterator::is_final(const Identity& checkpoint) const {
  return options_.final_step &&
         internal::parse_step(base_name(checkpoint.first), options_.checkpoint_basename.str()) >=
             options_.final_step;
}

// The end if none has the metric yet.
std::vector<CheckpointsIterator::Identity>::iterator CheckpointsIterator::best_of(
    std::vector<Identity>& candidates) const {
  std::vector<internal::FoundCheckpoint> found;
  for (const Identity& each : candidates)
    found.push_back(internal::look_at_checkpoint(files_, each.first));
  const internal::FoundCheckpoint* const best =
      internal::find_best(found, directory_, options_.which);
  return best == nullptr ? candidates.end() : candidates.begin() + (best - found.data());
}

}  // namespace crochet::inline v0
