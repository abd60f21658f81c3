// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How a saver restores checkpoints.
#include <algorithm>
#include <atomic>
#include <set>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/listed.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/directory/internal/fallback_record.h"
#include "crochet/checkpoint/directory/internal/restore_candidates.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/internal/initial_values.h"
#include "crochet/checkpoint/saver/internal/publisher.h"
#include "crochet/checkpoint/saver/internal/restore_plan.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/checkpoint/saver/internal/unused_checkpoints.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"

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

// Calls `restore`; once more if it finds damage, which a file system may report by mistake: a sound
// checkpoint must not be set aside for that.
template <typename Restore>
RestoreReport restore_confirmed(const RestoreCandidate& candidate, const Restore& restore) {
  try {
    return restore();
  } catch (const DataLossError& error) {
    log_warning(fmt::format("checkpoint {} is read again: {}", candidate.prefix, error.what()));
  }
  return restore();
}

// True if there is nothing to tell: a program that takes any checkpoint's contents knows that it
// restores a part. Patterns are listed with what they left out, as one may be mistyped.
// A filter leaves out the others.
bool is_as_stored(const RestoreReport& report, const NamePatterns& surplus, bool selects_all) {
  return report.missing.empty() && report.kept.empty() && report.renamed.empty() &&
         report.reshaped.empty() && report.converted.empty() &&
         (report.surplus.empty() || surplus.is_all() || !selects_all);
}

// Each rule is applied to a run's checkpoints once: what the run saves has the new names.
void remove_applied(std::vector<StoredName>& rules, FileSystem& files, const std::string& prefix) {
  if (rules.empty()) return;
  const auto sidecar = read_sidecar(files, prefix);
  if (!sidecar) return;
  std::erase_if(rules, [&](const StoredName& rule) {
    return std::ranges::count(sidecar->renamed, internal::to_string(rule)) > 0;
  });
}

// Logs it once: other threads may share out a sum, and round it, in another way.
void warn_of_other_threads(const std::string& prefix, const CheckpointSidecar& sidecar) {
  static std::atomic<bool> has_warned = false;
  const std::string here = threads_here();
  if (sidecar.threads.empty() || sidecar.threads == here || has_warned.exchange(true)) return;
  log_warning(
      fmt::format("checkpoint {} was saved with {}, and this run has {}: arithmetic by several "
                  "threads may round differently",
                  prefix, sidecar.threads, here));
}

}  // namespace

// What a run saved since it started has the program's own values and structure: nothing may differ,
// and nothing is kept.
internal::RestoreRules Saver::rules_for(const std::string& prefix, Origin origin) const {
  const bool is_recovery = origin == Origin::kOwnRun && has_started_;
  if (is_recovery && (*publisher_)->has_published(prefix))
    return {.options = {.allow_surplus = restore_options_.allow_surplus}, .is_recovery = true};
  internal::RestoreRules rules{.options = restore_options_, .is_recovery = is_recovery};
  if (origin == Origin::kOwnRun) remove_applied(rules.options.rename, files(), prefix);
  return rules;
}

RestoreReport Saver::restore_from(Session& session, const CheckpointReader& reader, Origin origin,
                                  const std::function<void()>& initialize) {
  (*publisher_)->record_restore();
  record_initial_values(session);
  const internal::RestoreRules rules = rules_for(reader.prefix(), origin);
  const bool is_plain = rules.is_exact() && reader.format() == CheckpointFormat::kTensorBundle;
  if (const auto operations = is_plain ? operations_for(session) : nullptr)
    return restore_by(*operations, session, reader, initialize);
  RestoreReport report =
      internal::restore_state(session, reader, (*publisher_)->selection(), rules);
  if (!reader.has_checksums())
    log_warning(
        fmt::format("checkpoint {} has no checksums: damaged values in it cannot be detected",
                    reader.prefix()));
  if (!is_as_stored(report, rules.options.allow_surplus, (*publisher_)->selection().selects_all()))
    log_info(to_string(report));
  if (origin == Origin::kOwnRun) {
    warn_of_other_settings(session, reader.prefix());
    has_started_ = true;
  }
  return report;
}

void Saver::record_initial_values(Session& session) {
  if (const auto values = internal::InitialValues::find(session.graph()))
    (*publisher_)->set_initial_values(values->at_start());
}

// Of the program that starts, not of a recovery.
void Saver::warn_of_other_settings(Session& session, const std::string& prefix) {
  const auto values = internal::InitialValues::find(session.graph());
  if (!values || has_started_) return;
  const auto sidecar = read_sidecar(files(), prefix);
  if (!sidecar) return;
  const std::string text =
      values->first_differences(sidecar->initial_values, restore_options_.keep);
  if (!text.empty()) log_warning(text);
}

RestoreReport Saver::restore(Session& session, const std::string& prefix) {
  return restore_existing(session, prefix, Origin::kAny, {});
}

RestoreReport Saver::resume(Session& session, const std::string& prefix,
                            const std::function<void()>& initialize) {
  return restore_existing(session, prefix, Origin::kOwnRun, initialize);
}

RestoreReport Saver::restore_existing(Session& session, const std::string& prefix, Origin origin,
                                      const std::function<void()>& initialize) {
  check_built();
  if (!operations_for(session) && is_empty(session.graph())) return {};
  if (!checkpoint_exists(files(), prefix) || is_directory(files(), prefix))
    throw InvalidArgumentError(
        fmt::format("The passed save_path is not a valid checkpoint: {}", prefix));
  return restore_from(session, CheckpointReader(prefix, files()), origin, initialize);
}

// True if the newest checkpoint was saved after the run went back to this one: a run that is
// started again with the same option continues from it. If its sidecar is lost, the files that are
// set aside show it. Throws: FailedPreconditionError if nothing shows it.
bool Saver::has_gone_back(const std::vector<RestoreCandidate>& candidates,
                          const std::string& directory, const std::string& basename) const {
  const RestoreCandidate& newest = candidates.back();
  const std::string which = to_string(restore_options_.which);
  const auto sidecar_of = [](const RestoreCandidate& each) {
    return read_sidecar(each.directory->files(), each.prefix);
  };
  const auto sidecar = sidecar_of(newest);
  if (sidecar && sidecar->went_back_to == which) {
    log_info(fmt::format("{} was saved after the run went back to {}: it does not go back again",
                         newest.prefix, which));
    return true;
  }
  const auto has_sidecar = [&](const RestoreCandidate& each) {
    return sidecar_of(each).has_value();
  };
  if (sidecar || std::ranges::none_of(candidates, has_sidecar)) return false;
  const std::string unknown = fmt::format(
      "{} has no sidecar, so it is not known whether it was saved after the run went back to {}",
      newest.prefix, which);
  if (internal::has_abandoned(files(), directory, basename)) {
    log_warning(fmt::format(
        "{}; as it has gone back before, it does not go back again: to do that, move the files of "
        "this checkpoint away",
        unknown));
    return true;
  }
  throw FailedPreconditionError(fmt::format(
      "{}: to go back, move the files of this checkpoint away; to continue from it, do not go back",
      unknown));
}

// Leaves the checkpoint to which the saver goes back, and returns the newer ones.
std::vector<RestoreCandidate> Saver::abandon_newer(std::vector<RestoreCandidate>& candidates,
                                                   const std::string& directory) const {
  std::vector<internal::FoundCheckpoint> found;
  for (const RestoreCandidate& each : candidates)
    found.push_back(internal::look_at_checkpoint(each.directory->files(), each.prefix));
  const std::string chosen = internal::chosen_of(found, directory, restore_options_.which).prefix;
  const auto place = std::ranges::find(candidates, chosen, &RestoreCandidate::prefix);
  std::vector<RestoreCandidate> newer(place + 1, candidates.end());
  candidates = {*place};
  return newer;
}

std::vector<RestoreCandidate> Saver::abandon_later(
    std::vector<RestoreCandidate>& candidates) const {
  const auto is_later = [this](const RestoreCandidate& each) {
    return internal::look_at_checkpoint(each.directory->files(), each.prefix).step > latest_start_;
  };
  auto first_later = std::ranges::find_if(candidates, is_later);
  if (first_later == candidates.begin()) {
    log_warning(fmt::format("there is no checkpoint of step {} or before it: the oldest is {}",
                            *latest_start_, candidates.front().prefix));
    ++first_later;
  }
  std::vector<RestoreCandidate> later(first_later, candidates.end());
  candidates.erase(first_later, candidates.end());
  return later;
}

// Of the checkpoint that was asked for. Nobody asked for another one.
void Saver::throw_cannot_go_back(const std::string& prefix, const std::string& reason,
                                 const std::vector<RestoreCandidate>& others) const {
  std::vector<std::string> names;
  for (const RestoreCandidate& each : others)
    if (each.prefix != prefix) names.push_back(base_name(each.prefix));
  throw DataLossError(fmt::format(
      "{}, to which the run goes back ({}), cannot be used: {}; no file was changed; {}", prefix,
      to_string(restore_options_.which), reason,
      names.empty() ? "there is no other checkpoint"
                    : fmt::format("go back to one of {}, or do not go back, to continue from the "
                                  "newest",
                                  internal::listed(names))));
}

std::optional<RestoreReport> Saver::restore_newest(Session& session, const std::string& directory,
                                                   const CheckpointBasename& basename,
                                                   const std::function<void()>& initialize) {
  check_built();
  (*publisher_)->wait_for_announced_writes();
  if (const auto other = other_.lock()) other->wait_for_announced_writes();
  const auto find = [&] {
    return internal::find_candidates(files(), directory, fallback_dir(), basename);
  };
  std::vector<RestoreCandidate> candidates = find();
  if (candidates.empty()) {
    internal::check_holds_no_checkpoint(files(), directory, basename);
    if (!restore_options_.which.is_newest())
      throw NotFoundError(
          fmt::format("{}: no checkpoint in this directory, where the run goes back to {}",
                      directory, to_string(restore_options_.which)));
    record_initial_values(session);
    has_started_ = true;
    return std::nullopt;
  }
  const std::vector<RestoreCandidate> all = candidates;
  const bool goes_back =
      !restore_options_.which.is_newest() && !has_gone_back(candidates, directory, basename);
  internal::UnusedCheckpoints unused{.directory = directory, .basename = basename};
  if (goes_back)
    unused.abandoned = abandon_newer(candidates, directory);
  else if (latest_start_)
    unused.abandoned = abandon_later(candidates);
  std::vector<RefusedCheckpoint> refused;
  std::set<std::string> tried;
  for (const RestoreCandidate& each : unused.abandoned) tried.insert(each.prefix);
  while (!candidates.empty()) {
    const RestoreCandidate candidate = std::move(candidates.back());
    candidates.pop_back();
    tried.insert(candidate.prefix);
    throw_if_signalled("restoring");
    try {
      if (const auto known = refused_.find(candidate.prefix); known != refused_.end())
        throw DataLossError(known->second);
      RestoreReport restored = restore_confirmed(candidate, [&] {
        return restore_from(session, open_listed(candidate), Origin::kOwnRun, initialize);
      });
      record_restored(candidate, std::move(unused));
      restored.refused = std::move(refused);
      return restored;
    } catch (const DataLossError& error) {
      if (goes_back) throw_cannot_go_back(candidate.prefix, error.what(), all);
      log_error(fmt::format("checkpoint {} cannot be used: {}", candidate.prefix, error.what()));
      refused.push_back({candidate.prefix, error.what()});
      unused.damaged.push_back(candidate);
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

void Saver::record_restored(const RestoreCandidate& restored, internal::UnusedCheckpoints unused) {
  const auto sidecar = read_sidecar(restored.directory->files(), restored.prefix);
  if (sidecar) warn_of_other_threads(restored.prefix, *sidecar);
  (*publisher_)
      ->set_went_back_to(!restore_options_.which.is_newest() ? to_string(restore_options_.which)
                         : sidecar                           ? sidecar->went_back_to
                                                             : "");
  latest_start_.reset();
  unused.restored = restored.prefix;
  unused_ = std::make_shared<internal::UnusedCheckpoints>(std::move(unused));
  set_unused_aside();
}

void Saver::refuse(const std::string& prefix, std::string reason) {
  refused_.insert_or_assign(prefix, std::move(reason));
}

void Saver::hold_unused(bool held) {
  holds_unused_ = held;
  set_unused_aside();
}

// A failure here must not prevent training.
void Saver::set_unused_aside() {
  if (!unused_ || holds_unused_) return;
  const internal::UnusedCheckpoints& unused = *unused_;
  internal::CheckpointList& list = (*publisher_)->list();
  list.follow(unused.directory);
  const auto own = internal::CheckpointDirectory::find(files(), unused.directory);
  // If it cannot be read now, the next save reads it.
  const bool list_is_known = own && list.learn(*own, unused.basename);
  list.record_restored(unused.restored, unused.prefixes());
  if (unused.prefixes().empty()) return unused_.reset();
  try {
    set_aside(unused.damaged, internal::Unused::kDamaged);
    // From the newest on: a killed process leaves no gap.
    set_aside(unused.abandoned, internal::Unused::kAbandoned);
    if (own && own->is_locked())
      internal::clear_fallback_use(files(), join_path(unused.directory, unused.basename));
    if (!list_is_known || !own->is_locked()) return;
    // State files do not name checkpoints in another directory.
    const std::vector<std::string> listed = list.prefixes();
    if (directory_of(unused.restored) == directory_of(join_path(unused.directory, "x")))
      list.write_state_without(own->files(), {}, unused.restored);
    else if (!listed.empty())
      list.write_state_without(own->files(), {}, listed.back());
  } catch (const Error& error) {
    log_warning(fmt::format("unused checkpoints cannot be set aside: {}", error.what()));
  }
  unused_.reset();
}

// By their directories as they are now: the lock may have been taken since they were found.
void Saver::set_aside(const std::vector<RestoreCandidate>& checkpoints,
                      internal::Unused why) const {
  for (auto each = checkpoints.rbegin(); each != checkpoints.rend(); ++each)
    if (auto directory = internal::CheckpointDirectory::find(files(), each->directory->path()))
      directory->set_aside(each->prefix, why);
}

}  // namespace crochet::inline v0
