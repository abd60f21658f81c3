// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How a saver restores checkpoints.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/restore_candidates.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/checkpoint/file/index_file.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/saver/publisher.h"
#include "crochet/checkpoint/saver/restore_plan.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/path.h"

namespace crochet::inline v0 {
namespace {

using internal::RestoreCandidate;

std::string reasons(const std::vector<RefusedCheckpoint>& refused) {
  constexpr size_t kMaxReasons = 10;
  std::string text;
  for (size_t i = 0; i < std::min(refused.size(), kMaxReasons); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", refused[i].prefix, refused[i].reason);
  return text;
}

// A checkpoint removed meanwhile counts as damaged; one with missing keys does not.
CheckpointReader open_listed(const RestoreCandidate& candidate) {
  try {
    return CheckpointReader(candidate.prefix, candidate.directory->files());
  } catch (const NotFoundError& error) {
    throw DataLossError(error.what());
  }
}

}  // namespace

RestoreReport Saver::restore_from(Session& session, const CheckpointReader& reader) const {
  const bool is_plain = !options().reshape && !options().allow_missing &&
                        reader.format() == CheckpointFormat::kTensorBundle;
  if (const auto operations = is_plain ? operations_for(session) : nullptr)
    return restore_by(*operations, session, reader);
  const RestoreRules rules{.reshape = options().reshape,
                           .allow_missing = options().allow_missing,
                           .allow_surplus = options().allow_surplus};
  RestoreReport report = restore_state(session, reader, (*publisher_)->selection(), rules);
  if (!reader.has_checksums())
    log_warning(
        fmt::format("checkpoint {} has no checksums: damaged values in it cannot be detected",
                    reader.prefix()));
  // Shows what a mistyped name would leave out.
  if (rules.reshape || rules.allow_missing || rules.allow_surplus) log_info(to_string(report));
  return report;
}

RestoreReport Saver::restore(Session& session, const std::string& prefix) {
  check_built();
  if (!operations_for(session) && is_empty(session.graph())) return {};
  if (!checkpoint_exists(files(), prefix) || is_directory(files(), prefix))
    throw InvalidArgumentError(
        fmt::format("The passed save_path is not a valid checkpoint: {}", prefix));
  return restore_from(session, CheckpointReader(prefix, files()));
}

std::optional<std::string> Saver::restore_newest(Session& session, const std::string& directory,
                                                 const std::string& basename,
                                                 RestoreReport* report) {
  check_built();
  (*publisher_)->wait_for_announced_writes();
  const auto find = [&] {
    return internal::find_candidates(files(), directory, fallback_dir(), basename);
  };
  std::vector<RestoreCandidate> candidates = find();
  if (candidates.empty()) {
    internal::check_holds_no_checkpoint(files(), directory, basename);
    return std::nullopt;
  }
  std::vector<RestoreCandidate> damaged;
  std::vector<RefusedCheckpoint> refused;
  std::set<std::string> tried;
  while (!candidates.empty()) {
    const RestoreCandidate candidate = std::move(candidates.back());
    candidates.pop_back();
    tried.insert(candidate.prefix);
    throw_if_signalled("restoring");
    try {
      RestoreReport restored = restore_from(session, open_listed(candidate));
      update_list_after_restore(directory, basename, candidate.prefix, damaged);
      restored.refused = std::move(refused);
      if (report != nullptr) *report = std::move(restored);
      return candidate.prefix;
    } catch (const DataLossError& error) {
      log_error(fmt::format("checkpoint {} cannot be used: {}", candidate.prefix, error.what()));
      refused.push_back({candidate.prefix, error.what()});
      damaged.push_back(candidate);
    }
    if (!candidates.empty()) continue;
    // They may have been removed since they were listed, in favour of newer ones that now exist.
    candidates = find();
    std::erase_if(candidates,
                  [&](const RestoreCandidate& each) { return tried.contains(each.prefix); });
  }
  throw DataLossError(fmt::format(
      "{}: none of its {} checkpoints is sound (the newest is {}); no file was changed; "
      "to start afresh, use another directory or move them away; {}",
      directory, refused.size(), refused.front().prefix, reasons(refused)));
}

// A failure here must not prevent training.
void Saver::update_list_after_restore(const std::string& directory, const std::string& basename,
                                      const std::string& restored,
                                      const std::vector<RestoreCandidate>& damaged) {
  internal::CheckpointList& list = (*publisher_)->list();
  list.follow(directory);
  const auto own = internal::CheckpointDirectory::find(files(), directory);
  const bool list_is_known = own && list.learn(*own, basename);  // Otherwise the next save does it.
  std::vector<std::string> prefixes;
  for (const RestoreCandidate& one : damaged) prefixes.push_back(one.prefix);
  list.note_restored(restored, prefixes);
  try {
    for (const RestoreCandidate& one : damaged) one.directory->set_aside(one.prefix);
    if (damaged.empty() || !list_is_known || !own->is_locked()) return;
    // State files do not name checkpoints in another directory.
    const std::vector<std::string> listed = list.prefixes();
    if (directory_of(restored) == directory_of(join_path(directory, "x")))
      list.write_state_without(own->files(), {}, restored);
    else if (!listed.empty())
      list.write_state_without(own->files(), {}, listed.back());
  } catch (const Error& error) {
    log_warning(fmt::format("damaged checkpoints cannot be set aside: {}", error.what()));
  }
}

}  // namespace crochet::inline v0
