// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How a saver takes checkpoints back.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/file/index_file.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/saver/restore_plan.h"
#include "crochet/checkpoint/saver/saver_core.h"
#include "crochet/io/path.h"

namespace crochet::internal {
namespace {

std::string reasons(const std::vector<RefusedCheckpoint>& refused) {
  constexpr size_t kMaxReasons = 10;
  std::string text;
  for (size_t i = 0; i < std::min(refused.size(), kMaxReasons); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", refused[i].prefix, refused[i].reason);
  return text;
}

}  // namespace

RestoreReport SaverCore::restore_from(Session& session, const CheckpointReader& reader) const {
  const bool is_plain = !options_.reshape && !options_.allow_missing &&
                        reader.format() == CheckpointFormat::kTensorBundle;
  if (const auto operations = is_plain ? operations_for(session) : nullptr)
    return restore_by(*operations, session, reader);
  const RestoreRules rules{.reshape = options_.reshape,
                           .allow_missing = options_.allow_missing,
                           .allow_surplus = options_.allow_surplus};
  RestoreReport report = RestorePlan(session.graph(), reader, selection_, rules).execute(session);
  if (!reader.has_checksums())
    log_warning("checkpoint {} has no checksums: damaged values in it cannot be noticed",
                reader.prefix());
  // What a mistyped name leaves out should not stay unseen.
  if (rules.reshape || rules.allow_missing || rules.allow_surplus)
    log_info("{}", to_string(report));
  return report;
}

RestoreReport SaverCore::restore(Session& session, const std::string& prefix) {
  check_built();
  if (!operations_for(session) && is_empty(session.graph())) return {};
  if (!checkpoint_exists(files_, prefix) || is_directory(files_, prefix))
    throw InvalidArgumentError("The passed save_path is not a valid checkpoint: {}", prefix);
  return restore_from(session, CheckpointReader(prefix, files_));
}

// That it is gone by now is damage; that keys are not in it is not.
RestoreReport SaverCore::restore_listed(Session& session, const Candidate& candidate) const {
  const auto open = [&] {
    try {
      return CheckpointReader(candidate.prefix, candidate.directory->files());
    } catch (const NotFoundError& error) {
      throw DataLossError("{}", error.what());
    }
  };
  return restore_from(session, open());
}

std::optional<std::string> SaverCore::restore_newest(Session& session, const std::string& directory,
                                                     const std::string& basename,
                                                     RestoreReport* report) {
  check_built();
  wait_for_announced_writes();
  std::vector<Candidate> candidates = this->candidates(directory, basename, checkpoint_candidates);
  if (candidates.empty()) return std::nullopt;
  std::vector<Candidate> damaged;
  std::vector<RefusedCheckpoint> refused;
  std::set<std::string> tried;
  while (!candidates.empty()) {
    const Candidate candidate = std::move(candidates.back());
    candidates.pop_back();
    tried.insert(candidate.prefix);
    throw_if_signalled("restoring");
    try {
      RestoreReport restored = restore_listed(session, candidate);
      take_stock_after_restore(directory, basename, candidate.prefix, damaged);
      restored.refused = std::move(refused);
      if (report != nullptr) *report = std::move(restored);
      return candidate.prefix;
    } catch (const DataLossError& error) {
      log_error("checkpoint {} cannot be used: {}", candidate.prefix, error.what());
      refused.push_back({candidate.prefix, error.what()});
      damaged.push_back(candidate);
    }
    if (!candidates.empty()) continue;
    // They may have been removed since they were listed, for newer ones that are there now.
    candidates = this->candidates(directory, basename, list_checkpoints);
    std::erase_if(candidates, [&](const Candidate& each) { return tried.contains(each.prefix); });
  }
  throw DataLossError(
      "{}: none of its {} checkpoints is sound (the newest is {}); no file was changed; "
      "to start afresh, use another directory or move them away; {}",
      directory, refused.size(), refused.front().prefix, reasons(refused));
}

// Failing at that is no reason not to train.
void SaverCore::take_stock_after_restore(const std::string& directory, const std::string& basename,
                                         const std::string& restored,
                                         const std::vector<Candidate>& damaged) {
  follow_directory(directory);
  const auto own = CheckpointDirectory::find(files_, directory);
  const bool list_is_known = own && learn_history(*own, basename);  // Else the next save does.
  {
    const std::lock_guard lock(mutex_);
    history_.set_verified(restored);
    for (const Candidate& one : damaged) history_.remove(one.prefix);
  }
  try {
    for (const Candidate& one : damaged) one.directory->set_aside(one.prefix);
    if (damaged.empty() || !list_is_known || !own->is_locked()) return;
    // No state file names what is in another directory.
    const std::vector<std::string> listed = last_checkpoints();
    if (directory_of(restored) == directory_of(join_path(directory, "x")))
      write_state_without(own->files(), {}, restored);
    else if (!listed.empty())
      write_state_without(own->files(), {}, listed.back());
  } catch (const Error& error) {
    log_warning("damaged checkpoints cannot be set aside: {}", error.what());
  }
}

}  // namespace crochet::internal
