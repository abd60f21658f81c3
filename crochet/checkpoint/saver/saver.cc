// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/bundle/string_coding.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/disk_space.h"
#include "crochet/checkpoint/file/new_checkpoint_writer.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/checkpoint/saver/saver_core.h"
#include "crochet/checkpoint/saver/saver_settings.h"
#include "crochet/io/path.h"

namespace crochet::internal {
namespace {

// What tickets and sidecars have for a save without a step.
constexpr int64_t kNoStep = -1;

// "<save_path>-<step>" without the step.
std::string save_path_of(const SaveTicket& ticket) {
  const std::string& prefix = ticket.prefix();
  return ticket.step() == kNoStep ? prefix : prefix.substr(0, prefix.rfind('-'));
}

// The data file in which the middle of an entry falls, if all are of the same size.
int shard_of(size_t begin, size_t size, size_t total, int num_shards) {
  if (total == 0) return 0;
  const double middle = static_cast<double>(begin) + static_cast<double>(size) / 2;
  return std::min(num_shards - 1,
                  static_cast<int>(middle / static_cast<double>(total) * num_shards));
}

// At most.
uint64_t stored_bytes(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString)
    return tensor.num_bytes() + internal::data_alignment(tensor) - 1;
  return tensor.num_bytes() + internal::max_strings_head_bytes(tensor.num_elements());
}

// About what the data files will have.
std::vector<uint64_t> bytes_of_shards(const Snapshot& snapshot, int num_shards) {
  std::vector<uint64_t> bytes(static_cast<size_t>(num_shards));
  const size_t total = snapshot.num_bytes();
  size_t done = 0;
  for (const auto& [name, tensor] : snapshot.tensors()) {
    const int shard = shard_of(done, tensor.num_bytes(), total, num_shards);
    bytes[static_cast<size_t>(shard)] += stored_bytes(tensor);
    done += tensor.num_bytes();
  }
  return bytes;
}

void add_all(CheckpointWriter& writer, const Snapshot& snapshot,
             const internal::VariableSelection& selection, int num_shards) {
  const size_t total = snapshot.num_bytes();
  size_t done = 0;
  int shard = 0;
  for (const auto& [name, tensor] : snapshot.tensors()) {
    for (; shard < shard_of(done, tensor.num_bytes(), total, num_shards); ++shard)
      writer.next_shard();
    done += tensor.num_bytes();
    const auto [key, slice] = selection.place_of(name);
    if (slice == nullptr)
      writer.add(key, tensor);
    else
      writer.add_slice(key, slice->full_shape, slice->slice, tensor);
  }
}

// The same state again, after an error that came after its publication: what is known of it stays.
// Another state of the same name: one that is pinned stays, under another name.
void take_over_what_is_known(CheckpointDirectory& directory, const std::string& prefix,
                             CheckpointSidecar& sidecar) {
  bool is_other_pinned = false;
  try {
    const auto old = load_if_sound(directory.files(), prefix);
    if (!old) return;
    if (old->index_crc32c == sidecar.index_crc32c) {
      sidecar.metrics.insert(old->metrics.begin(), old->metrics.end());
      sidecar.pinned = old->pinned;
    } else {
      is_other_pinned = old->pinned;
    }
  } catch (const Error& error) {
    log_warning("what was known of {} cannot be read: it counts as pinned: {}", prefix,
                error.what());
    sidecar.pinned = true;
  }
  if (is_other_pinned) directory.keep_pinned(prefix);
}

}  // namespace

SaverCore::SaverCore(SaverOptions options)
    : options_((internal::check_options(options), std::move(options))),
      selection_(options_.var_list, options_.filter),
      policies_(internal::policies_of(options_)),
      files_(options_.files ? *options_.files : FileSystem::posix()),
      clock_(options_.clock ? *options_.clock : Clock::real()),
      built_(!options_.defer_build),
      fallback_dir_(options_.fallback_dir),
      history_(policies_),
      retention_clock_(clock_) {
  if (options_.var_list && options_.var_list->empty() && !options_.allow_empty)
    throw InvalidArgumentError("No variables to save: var_list is empty");
  history_.set_last_preserved(retention_clock_.now(), 0);
}

void SaverCore::build(const Graph& graph) {
  if (built_) return;
  is_empty(graph);
  built_ = true;
}

void SaverCore::check_built() const {
  if (!built_)
    throw FailedPreconditionError("a saver with defer_build needs build() before it is used");
}

bool SaverCore::is_empty(const Graph& graph) const {
  if (!selection_.select(graph).empty()) return false;
  if (!options_.allow_empty)
    throw InvalidArgumentError("No variables to save: {}",
                               selection_.selects_all()
                                   ? "the graph has neither variables nor objects"
                                   : "the filter refuses all that the graph has");
  return true;
}

std::string SaverCore::prefix_of(const std::string& save_path,
                                 std::optional<int64_t> global_step) const {
  const std::string name = base_name(save_path);
  if (name.empty() || name == "." || name == "..")
    throw InvalidArgumentError("save_path \"{}\" has no name for the checkpoint", save_path);
  if (!global_step) {
    if (base_name(save_path) == options_.latest_filename)
      throw InvalidArgumentError("latest_filename \"{}\" collides with save_path \"{}\"",
                                 options_.latest_filename, save_path);
    return save_path;
  }
  return options_.pad_step_number ? fmt::format("{}-{:08d}", save_path, *global_step)
                                  : fmt::format("{}-{}", save_path, *global_step);
}

Snapshot SaverCore::snapshot(Session& session, const std::string& prefix) const {
  check_built();
  const auto operations = prefix.empty() ? nullptr : operations_for(session);
  check_complete(session.graph(), operations.get());
  const auto selected = selection_.select(session.graph());
  if (!operations && selected.empty() && is_empty(session.graph())) return {};
  Snapshot snapshot;
  if (operations)
    snapshot.set_stored(store(*operations, session, prefix));
  else
    snapshot = session.snapshot(selected.variables);
  for (const RegisteredSaveable* const saveable : selected.objects)
    for (auto& [key, value] : saveable->object->save())
      snapshot.add({key.empty() ? saveable->name : join_path(saveable->name, key), value});
  if (options_.write_meta_graph) snapshot.set_meta_graph(session.graph().meta_graph());
  return snapshot;
}

void SaverCore::write(const Snapshot& snapshot, SaveTicket& ticket, SpaceCheck check) {
  if (is_stored_elsewhere(snapshot, ticket)) {
    if (ticket.num_attempts() == 0) ticket.begin_attempt();  // The one where it belongs.
    return write_to_fallback(snapshot, ticket);
  }
  const std::string& prefix = ticket.prefix();
  std::unique_lock writing(writing_);
  ticket.begin_attempt();
  if (snapshot.empty()) return ticket.publish("");
  CheckpointDirectory directory = directory_for(ticket, prefix);
  FileSystem& files = directory.files();
  follow_directory(directory.path());
  if (ticket.step() != kNoStep) {
    const std::string basename = base_name(save_path_of(ticket));
    if (!learn_history(directory, basename)) do_without_history(directory.path(), basename);
  }
  const double time = retention_time();
  // What is durable already stays as it is: an attempt to write it again would put it at risk.
  if (ticket.stage() < SaveStage::kDurable && snapshot.stored() != nullptr) {
    write_stored(directory, snapshot, ticket, prefix, time);
  } else if (ticket.stage() < SaveStage::kDurable) {
    if (check == SpaceCheck::kRefuse) check_room(files, snapshot, prefix);
    write_or_clean_up(directory, snapshot, ticket, prefix, time);
  }
  note_published(files, prefix, time);
  write_noted_metrics();
  writing.unlock();
  const std::vector<std::string> surplus = sweep(files);
  writing.lock();
  write_state_without(files, surplus, prefix);
  ticket.note_named();
  remove_surplus(directory, surplus);
  ticket.publish(prefix);
}

CheckpointDirectory SaverCore::directory_for(const SaveTicket& ticket,
                                             const std::string& prefix) const {
  try {
    return CheckpointDirectory::to_save_in(files_, directory_of(prefix));
  } catch (const NotFoundError& error) {
    throw InvalidArgumentError("Parent directory of {} doesn't exist, can't save. {}",
                               save_path_of(ticket), error.what());
  }
}

void SaverCore::check_room(FileSystem& files, const Snapshot& snapshot,
                           const std::string& prefix) const {
  if (options_.check_free_space) throw_if_full(files, prefix, bytes_of_checkpoint(snapshot));
}

void SaverCore::write_or_clean_up(CheckpointDirectory& directory, const Snapshot& snapshot,
                                  SaveTicket& ticket, const std::string& prefix, double time) {
  FileSystem& files = directory.files();
  try {
    write_files(directory, snapshot, ticket, prefix, time);
  } catch (const ResourceExhaustedError& error) {
    if (remove_unless_published(files, prefix)) note_published(files, prefix, time);
    throw ResourceExhaustedError("{}{}", error.what(),
                                 note_if_full(files, prefix, bytes_of_checkpoint(snapshot)));
  } catch (...) {
    if (remove_unless_published(files, prefix)) note_published(files, prefix, time);
    throw;
  }
}

void SaverCore::write_files(CheckpointDirectory& directory, const Snapshot& snapshot,
                            SaveTicket& ticket, const std::string& prefix, double time) {
  FileSystem& files = directory.files();
  const auto writer = new_checkpoint_writer(options_.format, files, prefix, options_.num_shards,
                                            bytes_of_shards(snapshot, options_.num_shards));
  add_all(*writer, snapshot, selection_, options_.num_shards);
  writer->write();
  ticket.reach(SaveStage::kWritten);
  writer->write_and_sync();
  snapshot.verify();
  write_notes(directory, snapshot, ticket, prefix, time,
              {.num_bytes = writer->total_bytes(), .index_crc32c = writer->index_crc32c()});
  writer->publish();
  ticket.set_num_bytes(writer->total_bytes());
  ticket.reach(SaveStage::kDurable);
  remove_replaced(files, prefix, options_.format, options_.num_shards);
}

void SaverCore::write_notes(CheckpointDirectory& directory, const Snapshot& snapshot,
                            const SaveTicket& ticket, const std::string& prefix, double time,
                            const Written& written) {
  FileSystem& files = directory.files();
  CheckpointSidecar sidecar{.step = ticket.step(),
                            .unix_time = std::max(0.0, clock_.wall_time()),
                            .retention_time = time,
                            .size_bytes = written.num_bytes,
                            .index_crc32c = written.index_crc32c,
                            .metrics = noted_metrics_of(prefix)};
  take_over_what_is_known(directory, prefix, sidecar);
  write_sidecar(files, prefix, sidecar);
  // Before it is published: an error after that would write the whole again.
  if (snapshot.meta_graph() != nullptr)
    replace_file(files, prefix + ".meta", *snapshot.meta_graph());
}

void SaverCore::write_state_without(FileSystem& files, const std::vector<std::string>& surplus,
                                    const std::string& newest) {
  if (!options_.write_state) return;
  UpdateCheckpointStateOptions state{.latest_filename = options_.latest_filename,
                                     .removing_paths = surplus,
                                     .save_relative_paths = true};
  std::vector<std::string> listed;
  {
    const std::lock_guard lock(mutex_);
    listed = history_.prefixes_without(surplus);
    // TensorFlow's savers do not write it: only those that need it do.
    if (policies_.size() > 1) state.last_preserved_timestamp = history_.last_preserved_time();
  }
  update_checkpoint_state(files, directory_of(newest), newest, listed, state);
}

void SaverCore::remove_surplus(CheckpointDirectory& directory,
                               const std::vector<std::string>& prefixes) {
  const std::vector<std::string> removed = directory.remove(prefixes);
  const std::lock_guard lock(mutex_);
  for (const std::string& prefix : removed) history_.remove(prefix);
}

std::string SaverCore::save(Session& session, const std::string& save_path,
                            std::optional<int64_t> global_step) {
  check_built();
  SaveTicket ticket(prefix_of(save_path, global_step), global_step.value_or(kNoStep), clock_);
  const Snapshot state = snapshot(session, ticket.prefix());
  if (state.empty()) return "";
  write_somewhere(state, ticket);
  return ticket.location();
}

}  // namespace crochet::internal
