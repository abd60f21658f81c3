// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver.h"

#include <algorithm>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/bundle_writer.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/checkpoint_sidecar.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/checkpoint/restore_plan.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

// Data and sidecar get their names before the index does: without it they are no checkpoint.
void remove_if_unpublished(FileSystem& files, const std::string& prefix) noexcept {
  try {
    if (!checkpoint_exists(files, prefix)) remove_checkpoint(files, prefix);
  } catch (const std::exception& error) {
    log(Severity::kWarning, error.what());
  }
}

// Renames damaged checkpoints, so that nothing takes them for sound ones; the state file names
// those that are left. Failing at that is no reason not to train.
void set_aside_if_possible(FileSystem& files, const std::vector<std::string>& damaged,
                           const std::vector<std::string>& left) {
  try {
    for (const std::string& prefix : damaged) set_aside(files, prefix);
    update_checkpoint_state(files, directory_of(left.back()), left.back(), left,
                            {.save_relative_paths = true});
  } catch (const Error& error) {
    log_warning("damaged checkpoints cannot be set aside: {}", error.what());
  }
}

}  // namespace

Saver::Saver(const SaverOptions& options)
    : max_to_keep_(options.max_to_keep),
      files_(options.files ? *options.files : FileSystem::posix()),
      clock_(options.clock ? *options.clock : Clock::real()) {
  if (max_to_keep_ < 0)
    throw InvalidArgumentError("max_to_keep is {}, expected 0 (keep all) or more", max_to_keep_);
}

Snapshot Saver::snapshot(Session& session) const {
  const std::vector<Variable> variables = session.graph().variables();
  Snapshot snapshot = session.snapshot(variables);
  for (const RegisteredSaveable& saveable : session.graph().saveables())
    for (auto& [key, value] : saveable.object->save())
      snapshot.add({key.empty() ? saveable.name : join_path(saveable.name, key), value});
  return snapshot;
}

void Saver::write(const Snapshot& snapshot, SaveTicket& ticket) {
  const std::lock_guard writing(writing_);
  try {
    write_files(snapshot, ticket);
  } catch (...) {
    remove_if_unpublished(files_, ticket.prefix());
    throw;
  }
  remember(ticket.prefix());
  const std::vector<std::string> too_old = surplus();
  const std::vector<std::string> all = last_checkpoints();
  update_checkpoint_state(files_, directory_of(ticket.prefix()), ticket.prefix(),
                          {all.begin() + static_cast<ptrdiff_t>(too_old.size()), all.end()});
  remove_surplus(too_old);
  ticket.reach(SaveStage::kPublished);
}

void Saver::write_files(const Snapshot& snapshot, SaveTicket& ticket) {
  BundleWriter writer(files_, ticket.prefix());
  for (const NamedTensor& entry : snapshot.tensors()) writer.add(entry.name, entry.tensor);
  ticket.reach(SaveStage::kWritten);
  writer.write_and_sync();
  ticket.reach(SaveStage::kDurable);
  write_sidecar(files_, ticket.prefix(),
                {.step = ticket.step(),
                 .unix_time = clock_.wall_time(),
                 .size_bytes = writer.total_bytes(),
                 .index_crc32c = writer.index_crc32c()});
  writer.publish();
}

std::shared_ptr<void> Saver::announce_write() {
  {
    const std::lock_guard lock(mutex_);
    ++announced_writes_;
  }
  return {nullptr, [this](void*) {
            {
              const std::lock_guard lock(mutex_);
              --announced_writes_;
            }
            write_ended_.notify_all();
          }};
}

std::string Saver::save(Session& session, const std::string& save_path, int64_t step) {
  SaveTicket ticket(fmt::format("{}-{}", save_path, step), step, clock_);
  write(snapshot(session), ticket);
  return ticket.prefix();
}

void Saver::restore(Session& session, const std::string& prefix) {
  const CheckpointReader reader(prefix, files_);
  RestorePlan(session.graph(), reader).execute(session);
}

std::optional<std::string> Saver::restore_newest(Session& session, const std::string& directory,
                                                 const std::string& basename) {
  {
    std::unique_lock lock(mutex_);  // What is still being saved may be the newest.
    write_ended_.wait(lock, [this] { return announced_writes_ == 0; });
  }
  std::vector<std::string> candidates = checkpoint_candidates(files_, directory, basename);
  if (candidates.empty()) return std::nullopt;
  std::vector<std::string> damaged;
  while (!candidates.empty()) {
    const std::string prefix = candidates.back();
    throw_if_signalled("restoring");
    try {
      restore(session, prefix);
      if (!damaged.empty()) set_aside_if_possible(files_, damaged, candidates);
      const std::lock_guard lock(mutex_);
      last_checkpoints_ = candidates;
      return prefix;
    } catch (const Error& error) {
      if (error.code() != Code::kDataLoss && error.code() != Code::kNotFound) throw;
      log_error("checkpoint {} cannot be used: {}", prefix, error.what());
    }
    damaged.push_back(prefix);
    candidates.pop_back();
  }
  throw DataLossError(
      "{}: none of its {} checkpoints is sound (the newest is {}); no file was changed; "
      "to start afresh, use another directory or move them away",
      directory, damaged.size(), damaged.front());
}

std::vector<std::string> Saver::last_checkpoints() const {
  const std::lock_guard lock(mutex_);
  return last_checkpoints_;
}

void Saver::remember(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  std::erase(last_checkpoints_, prefix);
  last_checkpoints_.push_back(prefix);
}

std::vector<std::string> Saver::surplus() const {
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<ptrdiff_t>(last_checkpoints_.size()) - max_to_keep_;
  if (max_to_keep_ == 0 || number <= 0) return {};
  return {last_checkpoints_.begin(), last_checkpoints_.begin() + number};
}

void Saver::remove_surplus(const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    try {
      remove_checkpoint(files_, prefix);
    } catch (const Error& error) {
      log_warning("checkpoint {} is not needed any more and cannot be removed: {}", prefix,
                  error.what());
      continue;
    }
    const std::lock_guard lock(mutex_);
    std::erase(last_checkpoints_, prefix);
  }
}

}  // namespace crochet
