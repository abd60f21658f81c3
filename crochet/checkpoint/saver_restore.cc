// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How a saver takes checkpoints back.
#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/restore_plan.h"
#include "crochet/checkpoint/saver_core.h"
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
  if (is_empty(session.graph())) return {};
  if (!checkpoint_exists(files_, prefix) || is_directory(files_, prefix))
    throw InvalidArgumentError("The passed save_path is not a valid checkpoint: {}", prefix);
  return restore_from(session, CheckpointReader(prefix, files_));
}

// That it is gone by now is damage; that keys are not in it is none.
RestoreReport SaverCore::restore_listed(Session& session, const std::string& prefix) const {
  const auto open = [&] {
    try {
      return CheckpointReader(prefix, files_);
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
  std::vector<std::string> candidates = this->candidates(directory, basename);
  if (candidates.empty()) return std::nullopt;
  std::vector<RefusedCheckpoint> damaged;
  while (!candidates.empty()) {
    const std::string prefix = candidates.back();
    throw_if_signalled("restoring");
    try {
      RestoreReport restored = restore_listed(session, prefix);
      follow_directory(directory);
      const bool list_is_known = learn_history(directory, basename);  // Else the next save does.
      note_verified(prefix);
      if (!damaged.empty()) set_aside_if_possible(damaged, directory, prefix, list_is_known);
      restored.refused = std::move(damaged);
      if (report != nullptr) *report = std::move(restored);
      return prefix;
    } catch (const DataLossError& error) {
      log_error("checkpoint {} cannot be used: {}", prefix, error.what());
      damaged.push_back({prefix, error.what()});
    }
    candidates.pop_back();
  }
  throw DataLossError(
      "{}: none of its {} checkpoints is sound (the newest is {}); no file was changed; "
      "to start afresh, use another directory or move them away; {}",
      directory, damaged.size(), damaged.front().prefix, reasons(damaged));
}

void SaverCore::note_verified(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  history_.set_verified(prefix);
}

// Failing at that is no reason not to train.
void SaverCore::set_aside_if_possible(const std::vector<RefusedCheckpoint>& damaged,
                                      const std::string& directory, const std::string& newest,
                                      bool list_is_known) {
  std::vector<std::string> listed;
  {
    const std::lock_guard lock(mutex_);
    for (const RefusedCheckpoint& one : damaged) history_.remove(one.prefix);
    listed = history_.prefixes();
  }
  // No state file names what is in another directory.
  const bool is_elsewhere = directory_of(newest) != directory_of(join_path(directory, "x"));
  try {
    for (const RefusedCheckpoint& one : damaged) set_aside(files_, one.prefix);
    if (!list_is_known) return;
    if (!is_elsewhere)
      write_state_without({}, newest);
    else if (!listed.empty())
      write_state_without({}, listed.back());
  } catch (const Error& error) {
    log_warning("damaged checkpoints cannot be set aside: {}", error.what());
  }
}

}  // namespace crochet::internal
