// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/publisher.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/command_line.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/any_format/internal/storable_state.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/disk_space.h"
#include "crochet/checkpoint/directory/internal/fallback_record.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/checkpoint/saver/internal/external_bundle.h"
#include "crochet/checkpoint/saver/internal/failed_part.h"
#include "crochet/checkpoint/saver/internal/joint_save.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_settings.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/checkpoint/saver/internal/written_values.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

// "<save_path>-<step>" without the step.
std::string save_path_of(const SaveTicket& ticket) {
  const std::string& prefix = ticket.prefix();
  return ticket.step() == kNoStep ? prefix : prefix.substr(0, prefix.rfind('-'));
}

// If the same state is written again, after an error that followed its publication, keeps the
// content of its sidecar. If another state has the same name, and is pinned or stored elsewhere,
// keeps it under another name.
void keep_what_is_known(CheckpointDirectory& directory, const std::string& prefix,
                        CheckpointSidecar& sidecar) {
  bool is_other_pinned = false;
  try {
    const auto old = load_if_sound(directory.files(), prefix);
    if (old && old->index_crc32c == sidecar.index_crc32c) {
      sidecar.metrics.insert(old->metrics.begin(), old->metrics.end());
      sidecar.pinned = old->pinned;
    } else {
      is_other_pinned = old && old->pinned;
    }
  } catch (const Error& error) {
    log_warning(fmt::format("the old sidecar of {} cannot be read: it counts as pinned: {}", prefix,
                            error.what()));
    sidecar.pinned = true;
  }
  if (is_other_pinned) directory.keep(prefix, "it is pinned");
  if (directory.has_links(prefix)) directory.keep(prefix, "some of its files are links");
}

// Calls `step`, whose errors come from the snapshot, not from the place where it is saved. (Memory
// that is short now may be there later.) A write that was not announced ends a run that is checked
// for that; any other run has a whole snapshot next time.
template <typename Step>
decltype(auto) judging(SaveFault fault, const Snapshot& snapshot, const Step& step) {
  try {
    return step();
  } catch (const ResourceExhaustedError&) {
    throw;
  } catch (const UnannouncedWriteError&) {
    throw SaveFailed{std::current_exception(),
                     snapshot.is_trusted() ? SaveFault::kThisSave : SaveFault::kState};
  } catch (const Error&) {
    throw SaveFailed{std::current_exception(), fault};
  }
}

// The fallback directory keeps the newest checkpoints, and lists all that it keeps.
CheckpointListOptions fallback_list_of(const SaverOptions& options) {
  CheckpointListOptions list{.lists_all = true,
                             .latest_filename = options.latest_filename,
                             .writes_state = options.write_state};
  if (options.max_to_keep > 0) list.policies = {keep_newest(options.max_to_keep)};
  return list;
}

std::vector<std::string> texts_of(const std::vector<StoredName>& rules) {
  std::vector<std::string> texts;
  for (const StoredName& rule : rules) texts.push_back(to_string(rule));
  return texts;
}

}  // namespace

struct Publisher::Target {
  std::string prefix;
  CheckpointDirectory directory;
  CheckpointList& list;
  StoredValues& stored;
  double time;  // The time of the save by the list's clock.

  FileSystem& files() const { return directory.files(); }
};

class Publisher::Announcement {
 public:
  Announcement(Publisher& publisher, const std::string& prefix) : publisher_(publisher) {
    const std::lock_guard lock(publisher_.mutex_);
    place_ = publisher_.announced_.insert(prefix);
  }
  ~Announcement() {
    {
      const std::lock_guard lock(publisher_.mutex_);
      publisher_.announced_.erase(place_);
    }
    publisher_.write_ended_.notify_all();
  }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

 private:
  Publisher& publisher_;
  std::multiset<std::string>::iterator place_;
};

Publisher::Publisher(SaverOptions options, CheckpointListOptions list,
                     const std::vector<StoredName>& rename)
    : options_(checked(std::move(options))),
      renamed_(texts_of(rename)),
      selection_(options_.var_list, options_.filter),
      files_(FileSystem::or_posix(options_.files)),
      clock_(Clock::or_real(options_.clock)),
      list_(clock_, std::move(list)),
      fallback_list_(clock_, fallback_list_of(options_)),
      fallback_dir_(files_.fixed_path(options_.fallback_dir)) {}

std::string Publisher::prefix_of(const std::string& save_path,
                                 std::optional<int64_t> global_step) const {
  const CheckpointBasename name(base_name(save_path));
  if (!global_step) {
    if (name.str() == options_.latest_filename.str())
      throw InvalidArgumentError(
          fmt::format("latest_filename \"{}\" collides with save_path \"{}\"",
                      options_.latest_filename.str(), save_path));
    return files_.fixed_path(save_path);
  }
  return files_.fixed_path(options_.pad_step_number
                               ? fmt::format("{}-{:08d}", save_path, *global_step)
                               : fmt::format("{}-{}", save_path, *global_step));
}

Publisher::Target Publisher::target_of(const SaveTicket& ticket, const std::string& prefix,
                                       CheckpointList& list, StoredValues& stored) const {
  try {
    Target target{.prefix = prefix,
                  .directory = CheckpointDirectory::to_save_in(files_, directory_of(prefix)),
                  .list = list,
                  .stored = stored,
                  .time = 0};
    list.follow(target.directory.path());
    if (ticket.step() != kNoStep) list.learn(target.directory, base_name(save_path_of(ticket)));
    target.time = list.now();
    return target;
  } catch (const NotFoundError& error) {
    throw InvalidArgumentError(fmt::format("Parent directory of {} doesn't exist, can't save. {}",
                                           save_path_of(ticket), error.what()));
  }
}

void Publisher::set_went_back_to(std::string which) {
  const std::lock_guard lock(mutex_);
  went_back_to_ = std::move(which);
}

void Publisher::set_initial_values(std::map<std::string, std::string> values) {
  const std::lock_guard lock(mutex_);
  initial_values_ = std::move(values);
}

void Publisher::record_as(const Publisher& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  went_back_to_ = other.went_back_to_;
  initial_values_ = other.initial_values_;
}

void Publisher::save(const SaveSource& source, SavePromise& promise, SaveAttempts& attempts,
                     const WhenDurable& when_durable) {
  std::exception_ptr error;
  do {
    try {
      return attempt(source, promise, attempts.space_check(), when_durable);
    } catch (const SaveFailed&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    if (source.is_lost()) throw SaveFailed{error, SaveFault::kThisSave};
  } while (attempts.repeats_after(error));
  const SaveTicket& ticket = promise.ticket();
  if (!can_fall_back(source, ticket)) throw SaveFailed{error, SaveFault::kPlace};
  const std::string there = fall_back(ticket.prefix(), error, ticket.num_attempts());
  try {
    write_to_fallback(source, promise, there);
  } catch (const SaveFailed&) {
    throw;
  } catch (...) {
    log_failed_fallback(ticket.prefix(), std::current_exception());
    throw SaveFailed{error, SaveFault::kPlace};
  }
}

void Publisher::attempt(const SaveSource& source, SavePromise& promise, SpaceCheck check,
                        const WhenDurable& when_durable) {
  const SaveTicket& ticket = promise.ticket();
  if (!source.part_prefix().empty()) return write_part(source, promise, check);
  if (is_stored_in_fallback(source, ticket)) {
    if (ticket.num_attempts() == 0) promise.begin_attempt();  // The attempt in its own directory.
    return write_to_fallback(source, promise, source.external()->final_prefix());
  }
  std::unique_lock writing(writing_);
  promise.begin_attempt();
  if (source.empty()) return promise.publish("");
  Target target = target_of(ticket, ticket.prefix(), list_, stored_);
  prepare_record(save_path_of(ticket));
  // A durable checkpoint is left as it is: writing it again would put it at risk.
  if (ticket.stage() < SaveStage::kDurable) make_durable(target, source, promise, check);
  if (when_durable) when_durable();
  tidy(target, promise, writing);
  if (std::exchange(has_used_fallback_, false)) clear_fallback_use(files_, save_path_of(ticket));
  promise.publish(target.prefix);
}

void Publisher::prepare_record(const std::string& save_path) {
  if (fallback_dir().empty() || recorded_path_ == save_path) return;
  recorded_path_ = save_path;
  prepare_fallback_record(files_, save_path, fallback_dir());
  has_used_fallback_ = true;  // Perhaps by an earlier process.
}

std::string Publisher::fall_back(const std::string& prefix, const std::exception_ptr& error,
                                 int num_attempts) const {
  log_lazily(Severity::kError, [&] {
    return fmt::format("saving {} failed: {}; trying the fallback directory after {} attempt{}",
                       prefix, describe(error), num_attempts, num_attempts == 1 ? "" : "s");
  });
  return join_path(fallback_dir(), base_name(prefix));
}

void Publisher::log_failed_fallback(const std::string& prefix, const std::exception_ptr& error) {
  log_lazily(Severity::kError, [&] {
    return fmt::format("saving {} into the fallback directory failed, too: {}", prefix,
                       describe(error));
  });
}

void Publisher::write_to_fallback(const SaveSource& source, SavePromise& promise,
                                  const std::string& prefix) {
  const SaveTicket& ticket = promise.ticket();
  std::unique_lock writing(writing_);
  promise.begin_attempt();
  Target target = target_of(ticket, prefix, fallback_list_, fallback_stored_);
  make_durable(target, source, promise, SpaceCheck::kRefuse);
  log_warning(fmt::format("{} was written as {}", ticket.prefix(), target.prefix));
  if (ticket.step() != kNoStep) {
    has_used_fallback_ = true;
    record_fallback_use(files_, save_path_of(ticket), fallback_dir(), ticket.step());
  }
  try {
    tidy(target, promise, writing);
  } catch (const Error& error) {
    log_warning(fmt::format("the checkpoint {} is complete, but the cleanup after it failed: {}",
                            target.prefix, error.what()));
  }
  promise.publish(target.prefix);
}

void Publisher::make_durable(Target& target, const SaveSource& source, SavePromise& promise,
                             SpaceCheck check) {
  const Snapshot& snapshot = source.snapshot();
  judging(SaveFault::kThisSave, snapshot, [&] { return snapshot.readable(); });
  if (source.external() != nullptr) {
    source.external()->throw_if_failed();
    source.external()->add(snapshot.tensors());
    return adopt_files(target, *source.external(), snapshot, promise);
  }
  if (source.parts() != nullptr) return collect_parts(target, source, promise, check);
  UnchangedValues unchanged =
      find_unchanged(target.files(), target.prefix, target.stored, snapshot, check);
  try {
    const auto writer = new_writer(target.files(), target.prefix, options_.num_shards,
                                   target.stored, source, unchanged);
    writer->write();
    promise.reach(SaveStage::kWritten);
    writer->write_and_sync();
    complete(snapshot, target.prefix);
    write_notes(target, snapshot, promise.ticket().step(),
                {.num_bytes = writer->total_bytes(),
                 .shared_bytes = writer->linked_bytes(),
                 .index_crc32c = writer->index_crc32c()});
    writer->publish();
    promise.set_num_bytes(writer->total_bytes(), writer->linked_bytes());
    promise.reach(SaveStage::kDurable);
    remove_replaced(target.files(), target.prefix, options_.format, writer->num_files());
    if (shares()) target.stored.replace(target.files(), target.prefix, *writer, snapshot);
  } catch (const ResourceExhaustedError& error) {
    if (remove_unless_published(target.files(), target.prefix)) record_published(target);
    throw ResourceExhaustedError(fmt::format(
        "{}{}", error.what(),
        text_if_full(target.files(), target.prefix, bytes_to_write(snapshot, unchanged))));
  } catch (...) {
    if (remove_unless_published(target.files(), target.prefix)) record_published(target);
    throw;
  }
}

bool Publisher::shares() const {
  return options_.share_unchanged && options_.format == CheckpointFormat::kTensorBundle;
}

UnchangedValues Publisher::find_unchanged(FileSystem& files, const std::string& prefix,
                                          StoredValues& stored, const Snapshot& snapshot,
                                          SpaceCheck check) {
  if (is_restored_.exchange(false)) {
    stored_.forget();
    fallback_stored_.forget();
  }
  UnchangedValues unchanged;
  if (shares())
    unchanged = judging(SaveFault::kState, snapshot, [&] {
      return stored.find_unchanged(files, directory_of(prefix), snapshot);
    });
  if (options_.check_free_space && check == SpaceCheck::kRefuse)
    throw_if_full(files, prefix, bytes_to_write(snapshot, unchanged));
  return unchanged;
}

// A torn snapshot is torn in every directory; the next one may be whole. The same holds for what
// could not be made durable elsewhere.
void Publisher::complete(const Snapshot& snapshot, const std::string& checkpoint) {
  judging(SaveFault::kThisSave, snapshot, [&] {
    snapshot.verify();
    snapshot.make_durable(checkpoint);
  });
}

std::unique_ptr<CheckpointWriter> Publisher::new_writer(FileSystem& files,
                                                        const std::string& prefix, int num_shards,
                                                        StoredValues& stored,
                                                        const SaveSource& source,
                                                        UnchangedValues& unchanged) const {
  const auto make = [&] {
    return new_checkpoint_writer(
        options_.format, files, prefix,
        {.num_shards = num_shards,
         .expected_bytes = bytes_of_shards(source.snapshot(), num_shards, unchanged),
         .linked_files = unchanged.files});
  };
  std::unique_ptr<CheckpointWriter> writer;
  try {
    writer = make();
  } catch (const Error& error) {
    if (unchanged.files.empty()) throw;
    log_warning(
        fmt::format("{} shares no bytes with the checkpoint before it: {}", prefix, error.what()));
    stored.record_refused_links();
    unchanged = {};
    writer = make();
  }
  try {
    add_all(*writer, source, selection_, num_shards, unchanged);
  } catch (...) {
    // If no writer could store it, that is the reason.
    judging(SaveFault::kState, source.snapshot(), [&] { check_can_store(prefix, source); });
    throw;
  }
  return writer;
}

// Its own part is written first, while the other ranks write theirs.
void Publisher::collect_parts(Target& target, const SaveSource& source, SavePromise& promise,
                              SpaceCheck check) {
  Contributions& parts = *source.parts();
  parts.throw_if_failed();
  if (!parts.is_complete())
    write_bundle(target.directory, parts.own_prefix(), target.prefix, source, check);
  if (parts.merged() == nullptr) parts.collect(clock_);
  adopt_files(target, *parts.merged(), source.snapshot(), promise);
}

void Publisher::write_part(const SaveSource& source, SavePromise& promise, SpaceCheck check) {
  const std::lock_guard writing(writing_);
  promise.begin_attempt();
  const auto directory =
      CheckpointDirectory::to_save_in(files_, directory_of(source.part_prefix()));
  write_bundle(directory, source.part_prefix(),
               join_path(directory_of(source.part_prefix()), base_name(promise.ticket().prefix())),
               source, check);
  promise.reach(SaveStage::kDurable);
  promise.publish(source.part_prefix());
}

void Publisher::write_bundle(const CheckpointDirectory& directory, const std::string& prefix,
                             const std::string& checkpoint, const SaveSource& source,
                             SpaceCheck check) {
  const Snapshot& snapshot = source.snapshot();
  FileSystem& files = directory.files();
  UnchangedValues unchanged = find_unchanged(files, prefix, stored_, snapshot, check);
  // One file, since there are as many as ranks.
  const auto writer = new_writer(files, prefix, 1, stored_, source, unchanged);
  writer->write_and_sync();
  complete(snapshot, checkpoint);
  writer->publish();
  if (!shares()) return;
  stored_.replace_part(checkpoint, *writer, snapshot, [&](std::string_view name) {
    const auto [key, slice] = place_of(std::string(name), source, selection_);
    return slice == nullptr ? key : slice_key(key, slice->slice);
  });
}

void Publisher::adopt_files(Target& target, ExternalBundle& external, const Snapshot& snapshot,
                            SavePromise& promise) {
  try {
    promise.reach(SaveStage::kWritten);
    external.sync();
    complete(snapshot, target.prefix);
    write_notes(target, snapshot, promise.ticket().step(),
                {.num_bytes = external.num_bytes(), .index_crc32c = external.index_crc32c()});
    external.publish();
  } catch (...) {
    // The next attempt needs the files that have their final names.
    if (external.is_being_published() && checkpoint_exists(target.files(), target.prefix))
      record_published(target);
    else if (!external.is_being_published())
      remove_unless_published(target.files(), target.prefix);
    throw;
  }
  promise.set_num_bytes(external.num_bytes());
  promise.reach(SaveStage::kDurable);
  remove_replaced(target.files(), target.prefix, CheckpointFormat::kTensorBundle,
                  external.num_shards());
}

void Publisher::write_notes(Target& target, const Snapshot& snapshot, int64_t step,
                            const Written& written) {
  CheckpointSidecar sidecar{.step = step,
                            .unix_time = std::max(0.0, clock_.wall_time()),
                            .retention_time = target.time,
                            .size_bytes = written.num_bytes,
                            .shared_bytes = written.shared_bytes,
                            .index_crc32c = written.index_crc32c,
                            .threads = threads_here(),
                            .metrics = metrics_.of(target.prefix),
                            .renamed = renamed_};
  if (options_.record_command_line) sidecar.command_line = own_command_line();
  {
    const std::lock_guard lock(mutex_);
    sidecar.went_back_to = went_back_to_;
    sidecar.initial_values = initial_values_;
  }
  if (const auto& best = options_.keep_best) sidecar.better[best->metric] = best->better;
  keep_what_is_known(target.directory, target.prefix, sidecar);
  write_sidecar(target.files(), target.prefix, sidecar);
  // Before publication: a later error would make the next attempt write everything again.
  if (snapshot.meta_graph() != nullptr)
    replace_file(target.files(), target.prefix + ".meta", *snapshot.meta_graph());
}

bool Publisher::has_published(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  return first_published_ && directory_of(*first_published_) == directory_of(prefix) &&
         step_of_prefix(prefix).value_or(-1) >= step_of_prefix(*first_published_).value_or(0);
}

std::string Publisher::newest_text() const {
  const std::lock_guard lock(mutex_);
  if (!newest_published_) return "this process has written no checkpoint";
  const auto& [prefix, since] = *newest_published_;
  const double secs = to_seconds(clock_.now() - since);
  const auto age = secs < 120    ? fmt::format("{:.0f} s", secs)
                   : secs < 7200 ? fmt::format("{:.0f} min", secs / 60)
                                 : fmt::format("{:.1f} h", secs / 3600);
  return fmt::format("the newest checkpoint is {}, {} old", prefix, age);
}

void Publisher::record_published(Target& target) {
  {
    const std::lock_guard lock(mutex_);
    if (!first_published_) first_published_ = target.prefix;
    newest_published_ = {target.prefix, clock_.now()};
  }
  metrics_.forget_recorded(target.files(), target.prefix);
  target.list.add(target.prefix, target.time);
}

void Publisher::tidy(Target& target, SavePromise& promise, std::unique_lock<std::mutex>& writing) {
  record_published(target);
  metrics_.write(files_);
  writing.unlock();
  const std::vector<std::string> surplus = target.list.sweep(target.files());
  writing.lock();
  const std::string newest = target.list.newest_beside(target.prefix);
  target.list.write_state_without(target.files(), surplus, newest);
  promise.record_named();
  target.list.remove_surplus(target.directory, surplus);
}

void Publisher::report_failed_part(const std::string& prefix,
                                   const std::exception_ptr& error) noexcept {
  try {
    const auto directory = CheckpointDirectory::find(files_, directory_of(prefix));
    if (directory) internal::report_failed_part(directory->files(), prefix, error);
  } catch (const std::exception& other) {
    log_lazily(Severity::kWarning, [&] { return fmt::format("{}: {}", prefix, other.what()); });
  }
}

void Publisher::check_can_store(const std::string& prefix, const SaveSource& source) const {
  StorableState state(options_.format, prefix);
  for (const NamedTensor& named : source.snapshot().unread()) {
    const auto [key, slice] = place_of(named.name, source, selection_);
    if (slice == nullptr)
      state.add(key, named.tensor);
    else
      state.add_slice(key, slice->full_shape, slice->slice, named.tensor);
  }
}

// A checkpoint that is durable in its own directory needs no copy in the fallback directory.
bool Publisher::can_fall_back(const SaveSource& source, const SaveTicket& ticket) const {
  return !fallback_dir().empty() && ticket.stage() < SaveStage::kDurable &&
         source.external() == nullptr && source.parts() == nullptr && source.part_prefix().empty();
}

bool Publisher::is_stored_in_fallback(const SaveSource& source, const SaveTicket& ticket) const {
  if (source.external() == nullptr || fallback_dir().empty()) return false;
  return source.external()->final_prefix() != ticket.prefix();
}

std::shared_ptr<void> Publisher::announce_write(const std::string& prefix) {
  return std::make_shared<Announcement>(*this, prefix);
}

void Publisher::wait_for_announced_writes() {
  std::unique_lock lock(mutex_);
  while (!write_ended_.wait_for(lock, kSignalSlice, [this] { return announced_.empty(); }))
    throw_if_signalled("waiting for a save before restoring");
}

void Publisher::record_metrics_later(const std::string& prefix,
                                     const std::map<std::string, double>& metrics) {
  metrics_.note(prefix, metrics, [this](const std::string& noted) {
    const std::lock_guard lock(mutex_);
    return announced_.contains(noted);
  });
}

}  // namespace crochet::inline v0::internal
