// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/run_restore.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/loop/internal/restoring.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::internal {
namespace {

std::string message_of(const StartedSession& started) {
  const std::optional<RestoreReport>& restored = started.created.restored;
  return MessageWriter()
      .text(restored ? restored->prefix : "")
      .number(started.is_own ? 1 : 0)
      .take();
}

StartPoint point_in(const std::string& message) {
  MessageReader reader(message);
  std::string prefix(reader.text());
  return {std::move(prefix), reader.number() == 1};
}

}  // namespace

RunRestore::RunRestore(std::shared_ptr<Scaffold> scaffold, const CheckpointOptions& checkpoint,
                       RestoreOptions options)
    : scaffold_(std::move(scaffold)),
      dir_(scaffold_->saver->files().fixed_path(checkpoint.dir)),
      basename_(checkpoint.basename),
      options_(std::move(options)) {}

StartedSession RunRestore::start(RunAgreement& agreement, const CreateSession& create) const {
  Saver& saver = *scaffold_->saver;
  while (true) {
    std::optional<StartedSession> started;
    SaverAccess::hold_unused(saver, true);
    const StartPoint point = point_in(agreement.choose([&] {
      started = choose(create);
      return message_of(*started);
    }));
    std::string damage;
    try {
      if (!started)
        started = {.created = create([&](Session& session, const auto& initialize) {
                     return follow(session, point, initialize);
                   }),
                   .is_own = point.is_own};
    } catch (const DataLossError& error) {
      if (!point.is_own) throw;  // There is no other one to choose.
      damage = error.what();
    }
    const std::optional<std::string> found = agreement.first_of(damage);
    if (!found) {
      SaverAccess::hold_unused(saver, false);
      return *std::move(started);
    }
    if (started) started->created.session->close();
    SaverAccess::refuse(saver, point.prefix, *found);
  }
}

StartedSession RunRestore::choose(const CreateSession& create) const {
  bool is_own = true;
  CreatedSession created =
      create([&](Session& session,
                 const std::function<void()>& initialize) -> std::optional<RestoreReport> {
        Saver& saver = *scaffold_->saver;
        if (!dir_.empty())
          if (auto own = saver.restore_newest(session, dir_, basename_, initialize)) return own;
        if (options_.from.empty()) return std::nullopt;
        is_own = false;
        return restore_from(session, options_, &saver.files());
      });
  return {std::move(created), is_own};
}

std::optional<RestoreReport> RunRestore::follow(Session& session, const StartPoint& point,
                                                const std::function<void()>& initialize) const {
  if (point.prefix.empty()) return std::nullopt;
  if (point.is_own) return scaffold_->saver->resume(session, point.prefix, initialize);
  return restore_other(session, point.prefix);
}

RestoreReport RunRestore::restore_other(
    Session& session, const std::string& prefix,
    const std::function<bool(std::string_view name)>& is_left) const {
  RestoreOptions options = options_;
  options.from = prefix;
  options.which = CheckpointChoice::newest();
  return restore_from(session, options, &scaffold_->saver->files(), is_left);
}

RestoreReport RunRestore::finish(Session& session, const EarlyRestore& early) const {
  Saver& saver = *scaffold_->saver;
  // A part of a value that was restored has a name beneath the value's.
  const auto is_left = [&](std::string_view name) {
    return !is_any_at_or_above(name,
                               [&](std::string_view owner) { return early.names.contains(owner); });
  };
  const std::string& prefix = early.report.prefix;
  if (early.is_own) {
    Saver rest({.filter = is_left,
                .write_state = false,
                .allow_empty = true,
                .files = &saver.files(),
                .clock = &saver.clock()},
               for_saver(options_));
    rest.resume(session, prefix);
  } else {
    restore_other(session, prefix, is_left);
  }
  SaverAccess::set_unused_aside(saver);  // The hooks hold the lock now.
  log_info(fmt::format("the run continues from {}, which was restored before it", prefix));
  return early.report;
}

void RunRestore::go_back_to(int64_t step) const {
  SaverAccess::go_back_to(*scaffold_->saver, step);
}

bool RunRestore::has_checkpoint() const {
  Saver& saver = *scaffold_->saver;
  const auto holds_one = [&](const std::string& where) {
    return !where.empty() && saver.files().exists(where) &&
           !list_checkpoints(saver.files(), where, basename_).empty();
  };
  if (holds_one(dir_) || holds_one(saver.fallback_dir())) return true;
  if (dir_.empty()) return false;
  const auto place = find_fast_place(saver.files(), join_path(dir_, basename_.str()));
  return place && holds_one(*place);
}

}  // namespace crochet::inline v0::internal
