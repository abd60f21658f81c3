// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/ranks/internal/rank_saves.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/internal/variable_selection.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/io/file_system.h"
#include "crochet/ranks/internal/group_agreement.h"
#include "crochet/ranks/internal/rank_contributions.h"

namespace crochet::inline v0::internal {
namespace {

// What is not larger goes by message to the chief, which writes it with its own: a file for each
// rank would cost more.
constexpr uint64_t kMaxSmallBytes = 64 << 10;

// True for values of a rank's own that are few bytes. A part of an array has a place among the
// files of all ranks, which a message does not have.
bool is_small(const SaveSource& source, const RankLayout& layout) {
  if (source.num_bytes() > kMaxSmallBytes) return false;
  const auto fits = [&](const NamedTensor& each) {
    return each.tensor.dtype() != DType::kString && layout.slice_of(each.name) == nullptr &&
           !layout.has_rows(each.name);
  };
  return std::ranges::all_of(source.snapshot().readable(), fits);
}

// The chief has made the directory.
void check_sees_directory(FileSystem& files, const std::string& prefix, const Group& group) {
  const std::string directory = directory_of(prefix);
  if (!files.exists(directory))
    throw FailedPreconditionError(
        fmt::format("rank {} of {} does not find {}, where rank 0 saves: all ranks need to see the "
                    "same directory",
                    group.rank(), group.size(), directory));
}

// Of a rank that writes nothing itself: not empty.
std::string encode(const std::vector<NamedTensor>& tensors) {
  MessageWriter message;
  message.number(static_cast<int64_t>(tensors.size()));
  for (const auto& [name, tensor] : tensors) {
    message.text(name).number(static_cast<int64_t>(tensor.dtype()));
    message.number(tensor.shape().rank());
    for (const int64_t size : tensor.shape().dimensions()) message.number(size);
    const auto bytes = tensor.bytes();
    message.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return message.take();
}

void decode_into(Snapshot& snapshot, const std::string& text) {
  MessageReader message(text);
  for (int64_t left = message.number(); left > 0; --left) {
    std::string name(message.text());
    const auto dtype = static_cast<DType>(message.number());
    std::vector<int64_t> sizes;
    for (int64_t rank = message.number(); rank > 0; --rank) sizes.push_back(message.number());
    Tensor tensor(dtype, Shape(sizes));
    const std::string_view bytes = message.text();
    std::ranges::copy(std::as_bytes(std::span(bytes)), tensor.writable_bytes().begin());
    snapshot.add({std::move(name), std::move(tensor)});
  }
}

}  // namespace

// A number of digits, as the names of temporary files have it.
std::string part_prefix(const std::string& base, int rank) {
  return rank == 0 ? base : fmt::format("{}{:07}", base, rank);
}

std::shared_ptr<Contributions> RankSaves::begin(const Saver& saver,
                                                const VariableSelection& selection,
                                                const std::string& prefix, Snapshot& snapshot) {
  const auto refuse = [this](const char* why) {
    throw FailedPreconditionError(
        fmt::format("rank 0 of {} cannot save: the ranks have the state together, and {}",
                    layout_->size(), why));
  };
  if (!agreement_.is_agreed()) refuse("they are not known to be after the same step now");
  const auto directory = CheckpointDirectory::to_save_in(saver.files(), directory_of(prefix));
  const std::string base = temporary_filename(prefix);
  if (!agreement_.is_saving()) agreement_.begin_saves(true);
  Group& group = *agreement_.group();
  group.broadcast(MessageWriter().text(prefix).text(base).take(), 0, agreement_.timeout_secs());
  const std::vector<std::string> answers = group.gather("", agreement_.timeout_secs());
  std::map<int, std::string> awaited;
  for (int rank = 1; rank < group.size(); ++rank) {
    const std::string& answer = answers.at(static_cast<size_t>(rank));
    if (answer.empty())
      awaited.emplace(rank, part_prefix(base, rank));
    else
      decode_into(snapshot, answer);
  }
  if (awaited.empty()) return nullptr;
  if (saver.options().format != CheckpointFormat::kTensorBundle)
    refuse("only in the format kTensorBundle, which `crochet convert` converts");
  awaited.emplace(0, base);
  std::vector<std::string> rows;
  for (const std::string& name : layout_->rows()) rows.push_back(selection.place_of(name).key);
  return std::make_shared<RankContributions>(
      directory.shared_files(), prefix, std::move(awaited), std::move(rows),
      RankWaiting{layout_->size(), agreement_.timeout_secs(), agreement_.lost()});
}

void RankSaves::meet(Session& session, Saver& saver, int64_t step) {
  if (agreement_.is_saving()) return agreement_.end_saves();
  if (!agreement_.begin_saves(false)) return;
  while (true) {
    const std::string message = agreement_.group()->broadcast("", 0, agreement_.timeout_secs());
    if (message.empty()) return;
    write_part(session, saver, message, step);
  }
}

void RankSaves::write_part(Session& session, Saver& saver, const std::string& message,
                           int64_t step) {
  Group& group = *agreement_.group();
  MessageReader reader(message);
  const std::string prefix(reader.text());
  const std::string part = part_prefix(std::string(reader.text()), group.rank());
  if (background_) {
    background_->take_finished();  // The chief reports errors.
    background_->wait_for_turn();
  }
  SaveSource source = SaverAccess::snapshot_of_part(saver, session, part);
  const bool is_written = !is_small(source, *layout_);
  if (is_written) check_sees_directory(saver.files(), prefix, group);
  group.gather(is_written ? "" : encode(source.snapshot().tensors()), agreement_.timeout_secs());
  if (!is_written) return;
  if (!background_) background_ = std::make_shared<BackgroundSaver>(saver);
  background_->enqueue_as(std::move(source), prefix, step);
}

void RankSaves::finish() {
  if (!background_) return;
  background_->wait();
  background_.reset();
}

}  // namespace crochet::inline v0::internal
