// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/cloud/internal/mirror_thread.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/format/internal/file_names.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using crochet::internal::JournalEvent;
using crochet::internal::step_of_prefix;

// After a failure, with the store's own attempts before that.
constexpr Clock::Duration kPause = std::chrono::seconds(30);

}  // namespace

MirrorThread::MirrorThread(MirrorTask task, Clock& clock)
    : task_(std::move(task)), clock_(clock), mirror_(*task_.store, task_.place, clock) {}

MirrorThread::~MirrorThread() {
  if (!thread_.joinable()) return;  // Also in a forked process.
  const std::scoped_lock lock(mutex_);
  stop_.request_stop();
  changed_.notify_all();
}

void MirrorThread::bring_newest_back() {
  std::vector<Mirror::Copy> copies = mirror_.list({});
  std::erase_if(copies, [&](const Mirror::Copy& copy) {
    return !crochet::internal::parse_step(copy.manifest->checkpoint, task_.basename);
  });
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
    const MirrorManifest& manifest = *copy->manifest;
    const Clock::TimePoint start = clock_.now();
    try {
      bring_back(mirror_, *copy, task_.files, task_.directory);
    } catch (const DataLossError& error) {
      log_warning(error.what());
      continue;
    } catch (const NotFoundError& error) {
      log_warning(error.what());
      continue;
    }
    const double secs = to_seconds(clock_.now() - start);
    log_info(fmt::format("{}: brought back to {}, {} bytes in {:.1f} s",
                         mirror_.url_of(manifest.checkpoint), task_.directory, manifest.num_bytes(),
                         secs));
    if (task_.journal)
      task_.journal->record([&] {
        return JournalEvent("brought_back", step_of_prefix(manifest.checkpoint))
            .with("checkpoint", mirror_.url_of(manifest.checkpoint))
            .with("bytes", manifest.num_bytes())
            .with("secs", secs);
      });
    return;
  }
  if (!copies.empty())
    throw DataLossError(
        fmt::format("{}: none of {} copies is sound", task_.place.url(), copies.size()));
}

void MirrorThread::start() {
  if (!thread_.joinable())
    thread_ = crochet::internal::Thread(
        "mirror", [this] { run(); }, crochet::internal::Thread::Priority::kBackground);
}

void MirrorThread::wake() {
  const std::scoped_lock lock(mutex_);
  is_woken_ = true;
  changed_.notify_all();
}

void MirrorThread::finish(double secs) {
  if (!thread_.joinable()) return;
  const auto is_over = [this] { return has_ended_; };
  std::string left;
  {
    std::unique_lock lock(mutex_);
    is_ending_ = is_woken_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, std::chrono::seconds(1), is_over) && !current_.empty())
      log_info(fmt::format("MirrorHook waits up to {:.0f} s for the copy of {}", secs, current_));
    changed_.wait_for(lock, from_seconds(secs), is_over);
    left = has_ended_ ? failed_ : current_;
  }
  stop_.request_stop();
  thread_.join();
  if (!left.empty())
    log_warning(fmt::format("{}: {} was not copied; it is in {}, and the next start copies it",
                            task_.place.url(), left, task_.directory));
}

std::string MirrorThread::activity() const {
  const std::scoped_lock lock(mutex_);
  return current_.empty() ? "" : "copying " + current_;
}

bool MirrorThread::is_handled(const LocalCheckpoint& checkpoint) const {
  return std::ranges::find(handled_, checkpoint) != handled_.end();
}

void MirrorThread::tidy() {
  kept_since_ = 0;
  int num_kept = 0;
  const auto copies = mirror_.tidy(task_.max_to_keep, stop_.get_token());
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
    const MirrorManifest& manifest = *copy->manifest;
    const LocalCheckpoint copied{manifest.checkpoint, manifest.unix_time};
    if (!is_handled(copied)) handled_.push_back(copied);
    if (!manifest.is_pinned && ++num_kept == task_.max_to_keep) kept_since_ = manifest.unix_time;
  }
  is_tidy_ = true;
}

std::optional<LocalCheckpoint> MirrorThread::next() {
  const auto found = local_checkpoints(task_.files, task_.directory, task_.basename);
  // Those that have gone need not be remembered.
  std::erase_if(handled_, [&](const LocalCheckpoint& handled) {
    return std::ranges::find(found, handled) == found.end();
  });
  // No older one than those that would be kept.
  size_t num_newer = 0;
  for (auto checkpoint = found.rbegin(); checkpoint != found.rend(); ++checkpoint, ++num_newer) {
    if (task_.max_to_keep > 0 && num_newer >= static_cast<size_t>(task_.max_to_keep)) break;
    const bool would_stay = checkpoint->is_pinned || checkpoint->unix_time >= kept_since_;
    if (would_stay && !is_handled(*checkpoint)) return *checkpoint;
  }
  return std::nullopt;
}

void MirrorThread::copy(const LocalCheckpoint& checkpoint) {
  const auto opened = open_local(task_.files, task_.directory, checkpoint);
  if (!opened) return;
  const Clock::TimePoint start = clock_.now();
  mirror_.add(opened->described, opened->files, task_.num_parallel, stop_.get_token());
  handled_.push_back(checkpoint);
  is_tidy_ = false;
  if (task_.journal)
    task_.journal->record([&] {
      uint64_t num_bytes = 0;
      for (const SourceFile& file : opened->files) num_bytes += file.file->size();
      return JournalEvent("mirrored", step_of_prefix(checkpoint.name))
          .with("checkpoint", mirror_.url_of(checkpoint.name))
          .with("bytes", num_bytes)
          .with("secs", to_seconds(clock_.now() - start));
    });
}

void MirrorThread::report_failure(const std::string& name, const std::string& reason) {
  if (task_.journal)
    task_.journal->record([&] {
      return JournalEvent("mirror_failed", step_of_prefix(name))
          .with("checkpoint", name)
          .with("error", reason);
    });
  if (std::exchange(last_reason_, reason) != reason)
    log_warning(fmt::format("{} is not copied to {} now: {}", name.empty() ? "nothing" : name,
                            task_.place.url(), reason));
}

void MirrorThread::run() {
  const auto set_current = [this](const std::string& name) {
    const std::scoped_lock lock(mutex_);
    current_ = name;
  };
  while (!stop_.stop_requested()) {
    bool is_idle = true;
    bool has_failed = false;
    std::string name;
    try {
      if (!is_tidy_) tidy();
      if (const auto checkpoint = next()) {
        is_idle = false;
        name = checkpoint->name;
        set_current(name);
        copy(*checkpoint);
        last_reason_.clear();
      }
    } catch (const std::exception& error) {
      if (stop_.stop_requested()) break;
      is_tidy_ = false;  // It may have left parts.
      has_failed = true;
      report_failure(name, error.what());
    }
    std::unique_lock lock(mutex_);
    current_.clear();
    failed_ = has_failed ? (name.empty() ? "the newest checkpoint" : name) : "";
    if (has_failed ? is_ending_ : is_idle && is_ending_) break;
    const auto is_awake = [this] { return is_woken_ || is_ending_ || stop_.stop_requested(); };
    if (has_failed)
      changed_.wait_for(lock, kPause, is_awake);
    else if (is_idle)
      changed_.wait(lock, is_awake);
    is_woken_ = false;
  }
  const std::scoped_lock lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

}  // namespace crochet::inline v0::cloud::internal
