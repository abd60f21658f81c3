// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/rank_saves.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/saver/background_saver.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/group/message_bytes.h"
#include "crochet/io/path.h"

namespace crochet::inline v0::internal {
namespace {

// What is not larger goes by message to the chief, which writes it with its own: a file for each
// rank would cost more.
constexpr uint64_t kMaxSmallBytes = 64 << 10;

// True for values of a rank's own that are few bytes. A part of an array has a place among the
// files of all ranks, which a message does not have.
bool is_small(const SaveSource& source, const RankState& state) {
  if (source.num_bytes() > kMaxSmallBytes) return false;
  const auto fits = [&](const NamedTensor& each) {
    return each.tensor.dtype() != DType::kString && state.part_of(each.name) == nullptr &&
           !state.has_rows(each.name);
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

RankState::Contribution decode(const std::string& text) {
  if (text.empty()) return {.is_written = true};
  MessageReader message(text);
  RankState::Contribution contribution;
  for (int64_t left = message.number(); left > 0; --left) {
    std::string name(message.text());
    const auto dtype = static_cast<DType>(message.number());
    std::vector<int64_t> sizes;
    for (int64_t rank = message.number(); rank > 0; --rank) sizes.push_back(message.number());
    Tensor tensor(dtype, Shape(sizes));
    const std::string_view bytes = message.text();
    std::ranges::copy(std::as_bytes(std::span(bytes)), tensor.writable_bytes().begin());
    contribution.tensors.push_back({std::move(name), std::move(tensor)});
  }
  return contribution;
}

}  // namespace

RankSaves::RankSaves(Graph& graph, std::shared_ptr<GroupRun> run)
    : run_(std::move(run)),
      group_(run_->group()),
      timeout_secs_(run_->timeout_secs()),
      state_(RankState::of(graph)) {
  if (!group_.is_chief()) return;
  state_->set_timeout_secs(timeout_secs_);
  state_->set_announce([this](const std::string& prefix, const std::vector<std::string>& parts) {
    return announce(prefix, parts);
  });
}

RankSaves::~RankSaves() { state_->set_announce({}); }

std::vector<RankState::Contribution> RankSaves::announce(const std::string& prefix,
                                                         const std::vector<std::string>& parts) {
  if (!run_->is_saving()) run_->begin_saves(true);
  MessageWriter message;
  message.text(prefix);
  for (const std::string& part : parts) message.text(part);
  group_.broadcast(message.take(), 0, timeout_secs_);
  std::vector<RankState::Contribution> contributions;
  for (const std::string& each : group_.gather("", timeout_secs_))
    contributions.push_back(decode(each));
  return contributions;
}

void RankSaves::meet(Session& session, Saver& saver, int64_t step) {
  if (run_->is_saving()) return run_->end_saves();
  if (!run_->begin_saves(false)) return;
  while (true) {
    const std::string message = group_.broadcast("", 0, timeout_secs_);
    if (message.empty()) return;
    write_part(session, saver, message, step);
  }
}

void RankSaves::write_part(Session& session, Saver& saver, const std::string& message,
                           int64_t step) {
  MessageReader reader(message);
  const std::string prefix(reader.text());
  for (int rank = 0; rank < group_.rank(); ++rank) reader.text();
  const std::string part(reader.text());
  if (background_) {
    background_->take_finished();  // The chief reports errors.
    background_->wait_for_turn();
  }
  SaveSource source = saver.snapshot_of_part(session, part);
  const bool is_written = !is_small(source, *state_);
  if (is_written) check_sees_directory(saver.files(), prefix, group_);
  group_.gather(is_written ? "" : encode(source.snapshot().tensors()), timeout_secs_);
  if (!is_written) return;
  if (!background_) background_ = std::make_shared<BackgroundSaver>(saver);
  background_->enqueue_as(std::move(source), prefix, step);
}

void RankSaves::finish() {
  if (background_) background_->wait();
}

void RankSavesHook::begin(Graph& graph) { saves_ = std::make_shared<RankSaves>(graph, run_); }

void RankSavesHook::meet(Session& session) {
  saves_->meet(session, *scaffold_->saver, read_global_step(session));
}

void RankSavesHook::after_create_session(Session& session, Coordinator&) {
  saves_->finish();  // Of an earlier session.
  meet(session);
}

void RankSavesHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (saves_->is_agreed()) meet(context.session());
}

void RankSavesHook::end(Session&) {
  saves_->finish();
  saves_.reset();
}

void RankSavesHook::on_error(std::exception_ptr) {
  if (!saves_) return;
  try {
    saves_->finish();
  } catch (const Error& error) {  // The child of a fork unwinds its parent's run.
    log_error(error.what());
  }
  saves_.reset();
}

}  // namespace crochet::inline v0::internal
