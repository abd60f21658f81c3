// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The second directory of a saver.
#include <algorithm>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/checkpoint/saver/restore_plan.h"
#include "crochet/checkpoint/saver/saver_core.h"
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
  CheckpointDirectory directory = directory_for(ticket, prefix);
  if (snapshot.stored() != nullptr) {
    write_stored(directory, snapshot, ticket, prefix, retention_time());
  } else {
    check_room(directory.files(), snapshot, prefix);
    write_or_clean_up(directory, snapshot, ticket, prefix, retention_time());
  }
  log_warning("{} was written as {}", ticket.prefix(), prefix);
  try {
    tidy_fallback(directory, prefix);
  } catch (const Error& error) {
    log_warning("the checkpoint {} is whole, tidying up after it failed: {}", prefix, error.what());
  }
  ticket.publish(prefix);
}

void SaverCore::tidy_fallback(CheckpointDirectory& directory, const std::string& newest) {
  FileSystem& files = directory.files();
  std::vector<std::string> kept = list_checkpoints(files, directory.path(), basename_of(newest));
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
        files, directory.path(), newest, kept,
        {.latest_filename = options_.latest_filename, .save_relative_paths = true});
  directory.remove(surplus);
}

// That the second disk is not there today must not keep a run from what the first one has. `list`
// is asked of the first one if the second has nothing.
std::vector<SaverCore::Candidate> SaverCore::candidates(const std::string& directory,
                                                        const std::string& basename,
                                                        const ListCheckpoints& list) const {
  std::vector<Candidate> found;
  const auto add = [&](const std::string& path, const ListCheckpoints& list_there) {
    auto opened = CheckpointDirectory::find(files_, path);
    if (!opened) return;
    const auto shared = std::make_shared<CheckpointDirectory>(std::move(*opened));
    for (std::string& prefix : list_there(shared->files(), path, basename))
      found.push_back({shared, std::move(prefix)});
  };
  const std::string second = fallback_dir();
  try {
    if (!second.empty()) add(second, list_checkpoints);
  } catch (const Error& error) {
    log_warning("the second directory cannot be searched for checkpoints: {}", error.what());
  }
  add(directory, found.empty() ? list : list_checkpoints);
  // Those where they belong come last among equal steps: they are preferred.
  std::ranges::stable_sort(found, {},
                           [](const Candidate& each) { return step_of_prefix(each.prefix); });
  return found;
}

}  // namespace crochet::internal
