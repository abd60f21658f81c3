// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/saver.h"

#include <limits>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/directory/internal/checkpoint_list.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/joint_save.h"
#include "crochet/checkpoint/saver/internal/publisher.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_settings.h"
#include "crochet/checkpoint/saver/internal/unused_checkpoints.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/internal/rank_layout.h"

namespace crochet::inline v0 {
namespace {

internal::CheckpointListOptions list_of(const SaverOptions& options) {
  return {.policies = internal::policies_of(internal::checked(options)),
          .latest_filename = options.latest_filename,
          .writes_state = options.write_state};
}

// Something may write to memory that the object shares, once its address was handed out for
// writing: then the snapshot has its own.
Tensor unexposed(Tensor value) {
  if (!value.buffer().is_exposed() || !value.is_shared()) return value;
  if (value.dtype() == DType::kString) {
    value.mutable_strings();
  } else {
    value.writable_bytes();
  }
  return value;
}

void add_objects(Snapshot& snapshot, const std::vector<const RegisteredSaveable*>& objects,
                 const internal::VariableSelection& selection, const internal::RankLayout* own) {
  for (const RegisteredSaveable* const saveable : objects) {
    if (own != nullptr && !own->is_own(saveable->name)) continue;
    CapturedState state = saveable->object->capture();
    for (auto& [key, value] : state.tensors) {
      const std::string name = internal::full_name(saveable->name, key);
      if (selection.selects_part(saveable->name, name))
        snapshot.add({name, unexposed(std::move(value))});
    }
    for (std::shared_ptr<PendingCopies>& copies : state.copies) snapshot.add(std::move(copies));
  }
}

// With `own`, only what this rank alone has.
Snapshot capture_state(Session& session, const internal::VariableSelection& selection,
                       internal::VariableSelection::Selected selected,
                       const internal::RankLayout* ranks, const internal::RankLayout* own) {
  std::erase_if(selected.variables, [&](const Variable& variable) {
    const auto* const part = ranks != nullptr ? ranks->slice_of(variable.name()) : nullptr;
    return (part != nullptr && part->is_empty) || (own != nullptr && !own->is_own(variable.name()));
  });
  Snapshot snapshot = session.snapshot(selected.variables);
  add_objects(snapshot, selected.objects, selection, own);
  return snapshot;
}

internal::SlicePlaces part_places(const internal::RankLayout& ranks) {
  internal::SlicePlaces places;
  for (const auto& [name, part] : ranks.slices())
    if (!part.is_whole) places.emplace(name, part.place);
  return places;
}

// A rank that has only a part of the state saves with the others.
void check_saves_alone(const internal::RankLayout& ranks) {
  if (!ranks.is_shared()) return;
  throw FailedPreconditionError(fmt::format(
      "rank {} of {} cannot save: the ranks have the state together, and {}", ranks.rank(),
      ranks.size(),
      ranks.rank() != 0 ? "only rank 0 saves, which collects the parts of the others"
                        : "they save only within Loop::run(), train() and Loop::save(), of which "
                          "the first two take a request (Step::request_save)"));
}

Clock::TimePoint after(const Clock& clock, double seconds) {
  internal::check_at_least("deadline_secs", seconds, 0);
  return clock.now() + from_seconds(seconds);
}

}  // namespace

Saver::Saver(SaverOptions options, RestoreOptions restore)
    : Saver(options, list_of(options), std::move(restore)) {}

Saver::Saver(SaverOptions options, const internal::CheckpointListOptions& list,
             RestoreOptions restore)
    : restore_options_(internal::checked(std::move(restore))),
      publisher_("a saver", std::make_shared<internal::Publisher>(std::move(options), list,
                                                                  restore_options_.rename)),
      built_(!this->options().defer_build) {
  const VariableList& var_list = this->options().var_list;
  if (var_list && var_list->empty() && !this->options().allow_empty)
    throw InvalidArgumentError("No variables to save: var_list is empty");
}

Saver::~Saver() = default;

const SaverOptions& Saver::options() const { return publisher_.unchecked()->options(); }
FileSystem& Saver::files() const { return publisher_.unchecked()->files(); }
Clock& Saver::clock() const { return publisher_.unchecked()->clock(); }

std::string Saver::prefix_of(const std::string& save_path,
                             std::optional<int64_t> global_step) const {
  return publisher_.unchecked()->prefix_of(save_path, global_step);
}

void Saver::build(const Graph& graph) {
  static_cast<void>(*publisher_);  // Throws in a forked process.
  if (built_) return;
  is_empty(graph);
  built_ = true;
}

void Saver::check_built() const {
  static_cast<void>(*publisher_);
  if (!built_) throw FailedPreconditionError("a saver with defer_build was used before build()");
}

bool Saver::is_empty(const Graph& graph) const {
  const internal::VariableSelection& selection = (*publisher_)->selection();
  if (!selection.select(graph).empty()) return false;
  if (!options().allow_empty)
    throw InvalidArgumentError(fmt::format("No variables to save: {}",
                                           selection.selects_all()
                                               ? "the graph has neither variables nor objects"
                                               : "the filter excludes everything in the graph"));
  return true;
}

Snapshot Saver::snapshot(Session& session) const {
  return snapshot_for(session, "", nullptr, StateWriter::kCrochet).snapshot();
}

internal::SaveSource Saver::snapshot_for(Session& session, const std::string& prefix,
                                         internal::JointSave* others,
                                         std::optional<StateWriter> writer) const {
  check_built();
  const auto operations = operations_for(session, writer);
  const Graph& graph = session.graph();
  check_complete(graph, operations.get());
  const internal::VariableSelection& selection = (*publisher_)->selection();
  auto selected = selection.select(graph);
  if (!operations && selected.empty() && is_empty(graph)) return Snapshot();
  const auto ranks = internal::RankLayout::find(graph);
  const bool is_shared = ranks && !ranks->empty();
  if (is_shared && operations)
    throw FailedPreconditionError(
        "the graph's own operations cannot save variables that several ranks have together: set "
        "SaverOptions::writer to kCrochet");
  std::shared_ptr<internal::ExternalBundle> external;
  Snapshot snapshot;
  if (operations) {
    external = store(*operations, session, prefix);
    add_objects(snapshot, selected.objects, selection, nullptr);
  } else {
    snapshot = capture_state(session, selection, std::move(selected), ranks.get(), nullptr);
  }
  if (options().write_meta_graph) snapshot.set_meta_graph(graph.meta_graph());
  refused_.erase(prefix);
  const internal::SlicePlaces places = is_shared ? part_places(*ranks) : internal::SlicePlaces();
  // What no save could store ends a run before its first step, not in the background later.
  if (!has_checked_state_) (*publisher_)->check_can_store(prefix, {snapshot, places, ""});
  has_checked_state_ = true;
  if (!is_shared) return {std::move(snapshot), std::move(external)};
  if (others == nullptr) check_saves_alone(*ranks);
  auto parts = others != nullptr ? others->begin(*this, selection, prefix, snapshot) : nullptr;
  return {std::move(snapshot), places, std::move(parts)};
}

internal::SaveSource Saver::snapshot_of_part(Session& session,
                                             const std::string& part_prefix) const {
  check_built();
  const auto ranks = internal::RankLayout::of(session.graph());
  const internal::VariableSelection& selection = (*publisher_)->selection();
  return {capture_state(session, selection, selection.select(session.graph()), ranks.get(),
                        ranks.get()),
          part_places(*ranks), part_prefix};
}

void Saver::write(const internal::SaveSource& source, internal::SavePromise& promise) {
  internal::SaveAttempts once;
  try {
    (*publisher_)->save(source, promise, once);
  } catch (const internal::SaveFailed& failed) {
    std::rethrow_exception(failed.error);
  }
}

std::string Saver::save(Session& session, const std::string& save_path,
                        std::optional<int64_t> global_step) {
  return save_with(nullptr, session, save_path, global_step);
}

std::string Saver::save_with(internal::JointSave* others, Session& session,
                             const std::string& save_path, std::optional<int64_t> global_step) {
  check_built();
  internal::SavePromise promise(prefix_of(save_path, global_step),
                                global_step.value_or(internal::kNoStep), clock());
  const internal::SaveSource source = snapshot_for(session, promise.ticket().prefix(), others);
  if (source.empty()) return "";
  write(source, promise);
  return promise.ticket().location();
}

SaveTicket Saver::save_async(Session& session, const std::string& save_path, int64_t step) {
  if (!background_) background_ = std::make_shared<internal::BackgroundSaver>(*this);
  background_->take_finished();  // Callers have the tickets.
  background_->wait_for_turn();
  return background_->enqueue(snapshot_for(session, prefix_of(save_path, step), nullptr), save_path,
                              step);
}

void Saver::wait(std::optional<double> deadline_secs) {
  if (!background_) return;
  if (!deadline_secs) return background_->wait();
  if (background_->wait_until(after(clock(), *deadline_secs))) return;
  const std::string unsaved = background_->unfinished();
  if (unsaved.empty()) return;  // Saved meanwhile.
  throw background_->late_error(
      fmt::format("not saved within {:g} s: {}", *deadline_secs, unsaved));
}

void Saver::close(std::optional<double> deadline_secs) {
  if (!background_) return;
  if (!deadline_secs) return background_->wait();
  background_->close(after(clock(), *deadline_secs));
}

const std::string& Saver::fallback_dir() const { return (*publisher_)->fallback_dir(); }
std::string Saver::newest_text() const { return publisher_.unchecked()->newest_text(); }

std::vector<std::string> Saver::last_checkpoints() const {
  return (*publisher_)->list().prefixes();
}

void Saver::set_last_checkpoints(std::span<const std::string> prefixes) {
  std::vector<std::pair<std::string, double>> with_times;
  for (const std::string& prefix : prefixes)
    with_times.emplace_back(prefix, std::numeric_limits<double>::infinity());
  set_last_checkpoints_with_time(with_times);
}

void Saver::set_last_checkpoints_with_time(
    std::span<const std::pair<std::string, double>> prefixes_and_times) {
  std::vector<CheckpointRecord> records;
  for (const auto& [prefix, time] : prefixes_and_times)
    records.push_back({.prefix = prefix, .time = time, .step = internal::step_of_prefix(prefix)});
  (*publisher_)->list().set(std::move(records));
}

void Saver::recover_last_checkpoints(std::span<const std::string> prefixes) {
  std::vector<CheckpointRecord> records;
  for (const std::string& prefix : prefixes)
    if (const auto record = internal::find_record(files(), prefix)) records.push_back(*record);
  (*publisher_)->list().set(std::move(records));
}

void Saver::pin(const std::string& prefix) { set_pinned((*publisher_)->files(), prefix, true); }
void Saver::unpin(const std::string& prefix) { set_pinned((*publisher_)->files(), prefix, false); }

void Saver::record_metrics(const std::string& prefix,
                           const std::map<std::string, double>& metrics) {
  write_noted_metrics();  // Metrics noted earlier are older.
  crochet::record_metrics(files(), prefix, metrics);
}

void Saver::record_metrics_later(const std::string& prefix,
                                 const std::map<std::string, double>& metrics) {
  (*publisher_)->record_metrics_later(prefix, metrics);
}

void Saver::write_noted_metrics() { (*publisher_)->metrics().write(files()); }

}  // namespace crochet::inline v0
