// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The second directory of a saver.
#include <algorithm>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/checkpoint/restore_plan.h"
#include "crochet/checkpoint/saver_core.h"
#include "crochet/io/path.h"

namespace crochet::internal {
namespace {

// "model.ckpt" of "d/model.ckpt-120".
std::string basename_of(const std::string& prefix) {
  const std::string base = base_name(prefix);
  return base.substr(0, base.rfind('-'));
}

std::optional<Code> code_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code();
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace

std::string SaverCore::fallback_dir() const {
  const std::lock_guard lock(mutex_);
  return fallback_dir_;
}

void SaverCore::set_fallback_dir(const std::string& directory) {
  if (directory.empty()) return;
  const std::lock_guard lock(mutex_);
  fallback_dir_ = directory;
}

void SaverCore::write_somewhere(const Snapshot& snapshot, SaveTicket& ticket) {
  try {
    return write(snapshot, ticket);
  } catch (const Error& error) {
    if (!can_fall_back(snapshot, ticket) || !may_try_again(ticket, std::current_exception())) throw;
    log_error("saving {} failed: {}; the second directory is tried", ticket.prefix(), error.what());
  }
  write_to_fallback(snapshot, ticket);
}

bool SaverCore::may_try_again(const SaveTicket& ticket, const std::exception_ptr& error) const {
  return may_help_to_try_again(ticket.prefix(), error);
}

bool SaverCore::may_help_to_try_again(const std::string& prefix,
                                      const std::exception_ptr& error) const {
  const auto code = code_of(error);
  if (code == Code::kInvalidArgument) {
    try {
      return !is_directory(files_, directory_of(prefix));
    } catch (const Error&) {
      return true;  // Something is wrong with it.
    }
  }
  return code != Code::kFailedPrecondition && code != Code::kUnimplemented;
}

// A checkpoint that is durable where it belongs needs no copy elsewhere.
bool SaverCore::can_fall_back(const Snapshot& snapshot, const SaveTicket& ticket) const {
  return !fallback_dir().empty() && ticket.stage() < SaveStage::kDurable &&
         snapshot.stored() == nullptr;
}

std::string SaverCore::fallback_prefix(const std::string& prefix) const {
  return join_path(fallback_dir(), base_name(prefix));
}

void SaverCore::write_to_fallback(const Snapshot& snapshot, SaveTicket& ticket) {
  const std::lock_guard writing(writing_);
  const std::string prefix = fallback_prefix(ticket.prefix());
  ticket.begin_attempt();
  if (snapshot.stored() != nullptr) {
    write_stored(snapshot, ticket, prefix, retention_time());
  } else {
    check_room(snapshot, prefix);
    write_or_clean_up(snapshot, ticket, prefix, retention_time());
  }
  log_warning("{} was written as {}", ticket.prefix(), prefix);
  try {
    tidy_fallback(prefix);
  } catch (const Error& error) {
    log_warning("the checkpoint {} is whole, tidying up behind it failed: {}", prefix,
                error.what());
  }
  ticket.publish(prefix);
}

void SaverCore::tidy_fallback(const std::string& newest) {
  const std::string directory = directory_of(newest);
  std::vector<std::string> kept = list_checkpoints(files_, directory, basename_of(newest));
  // After a restore of an older one there may be some of later steps.
  std::erase(kept, newest);
  kept.push_back(newest);
  const auto most = static_cast<size_t>(options_.max_to_keep);
  const size_t num_surplus = most == 0 || kept.size() <= most ? 0 : kept.size() - most;
  const std::vector<std::string> surplus(kept.begin(),
                                         kept.begin() + static_cast<std::ptrdiff_t>(num_surplus));
  kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(num_surplus));
  if (options_.write_state)
    update_checkpoint_state(
        files_, directory, newest, kept,
        {.latest_filename = options_.latest_filename, .save_relative_paths = true});
  for (const std::string& prefix : surplus) remove_or_warn(files_, prefix);
}

// That the second disk is not there today must not keep a run from what the first one has.
std::vector<std::string> SaverCore::candidates(const std::string& directory,
                                               const std::string& basename) const {
  const std::string second = fallback_dir();
  std::vector<std::string> found;
  try {
    if (!second.empty()) found = list_checkpoints(files_, second, basename);
  } catch (const Error& error) {
    log_warning("the second directory cannot be searched for checkpoints: {}", error.what());
  }
  if (found.empty()) return checkpoint_candidates(files_, directory, basename);
  // Those where they belong come behind: they are preferred.
  std::ranges::move(list_checkpoints(files_, directory, basename), std::back_inserter(found));
  std::ranges::stable_sort(found, {}, step_of_prefix);
  return found;
}

}  // namespace crochet::internal
