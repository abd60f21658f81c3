// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/save_ticket.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <iterator>
#include <mutex>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"

namespace crochet::inline v0 {
namespace {

constexpr const char* kStageNames[] = {"snapshotted", "written", "durable", "published"};
constexpr size_t kNumStages = std::size(kStageNames);
static_assert(kNumStages == static_cast<size_t>(SaveStage::kPublished) + 1);

}  // namespace

const char* save_stage_name(SaveStage stage) { return kStageNames[static_cast<size_t>(stage)]; }

struct SaveTicket::State {
  State(std::string its_prefix, int64_t its_step, Clock& its_clock)
      : prefix(std::move(its_prefix)), step(its_step), clock(its_clock), start(clock.now()) {}

  bool finished() const { return stage == SaveStage::kPublished || error != nullptr; }

  // Read or change one of the guarded members.
  template <typename T>
  T get(T State::*member) {
    const std::lock_guard lock(mutex);
    return this->*member;
  }
  template <typename T>
  void set(T State::*member, T value) {
    const std::lock_guard lock(mutex);
    this->*member = std::move(value);
  }

  const std::string prefix;
  const int64_t step;
  Clock& clock;  // Not owned; outlives this.
  const Clock::TimePoint start;

  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  SaveStage stage = SaveStage::kSnapshotted;
  std::string location;
  uint64_t num_bytes = 0;
  uint64_t shared_bytes = 0;
  int num_attempts = 0;
  std::exception_ptr error;
  SaveFault fault = SaveFault::kNone;
  std::array<std::optional<double>, kNumStages> seconds = {0.0};
};

const std::string& SaveTicket::prefix() const { return state_->unchecked().prefix; }
int64_t SaveTicket::step() const { return state_->unchecked().step; }

SaveStage SaveTicket::stage() const { return (*state_)->get(&State::stage); }
std::string SaveTicket::location() const { return (*state_)->get(&State::location); }
uint64_t SaveTicket::num_bytes() const { return (*state_)->get(&State::num_bytes); }
uint64_t SaveTicket::shared_bytes() const { return (*state_)->get(&State::shared_bytes); }
int SaveTicket::num_attempts() const { return (*state_)->get(&State::num_attempts); }
std::exception_ptr SaveTicket::error() const { return (*state_)->get(&State::error); }

SaveFault SaveTicket::fault() const { return (*state_)->get(&State::fault); }

bool SaveTicket::finished() const {
  const std::lock_guard lock((*state_)->mutex);
  return (*state_)->finished();
}

std::optional<double> SaveTicket::seconds(SaveStage stage) const {
  return (*state_)->get(&State::seconds)[static_cast<size_t>(stage)];
}

void SaveTicket::wait(SaveStage stage) const {
  std::unique_lock lock((*state_)->mutex);
  (*state_)->changed.wait(lock, [&] { return (*state_)->stage >= stage || (*state_)->error; });
  if ((*state_)->stage < stage) std::rethrow_exception((*state_)->error);
}

void SaveTicket::wait_finished() const {
  std::unique_lock lock((*state_)->mutex);
  (*state_)->changed.wait(lock, [&] { return (*state_)->finished(); });
}

internal::SavePromise::SavePromise(std::string prefix, int64_t step, Clock& clock)
    : ticket_(std::make_shared<internal::ProcessBound<SaveTicket::State>>(
          "a save ticket", std::move(prefix), step, clock)) {}

void internal::SavePromise::begin_attempt() {
  const std::lock_guard lock((*ticket_.state_)->mutex);
  ++(*ticket_.state_)->num_attempts;
}

void internal::SavePromise::set_num_bytes(uint64_t num_bytes, uint64_t shared_bytes) {
  (*ticket_.state_)->set(&SaveTicket::State::shared_bytes, shared_bytes);
  (*ticket_.state_)->set(&SaveTicket::State::num_bytes, num_bytes);
}

void internal::SavePromise::record_named() { record_time(SaveStage::kPublished); }

void internal::SavePromise::publish(const std::string& location) {
  (*ticket_.state_)->set(&SaveTicket::State::location, location);
  reach(SaveStage::kPublished);
}

void internal::SavePromise::record_time(SaveStage stage) {
  const double seconds = to_seconds((*ticket_.state_)->clock.now() - (*ticket_.state_)->start);
  const std::lock_guard lock((*ticket_.state_)->mutex);
  (*ticket_.state_)->seconds[static_cast<size_t>(stage)] = seconds;
}

void internal::SavePromise::reach(SaveStage stage) {
  if (stage != SaveStage::kPublished || !ticket_.seconds(stage)) record_time(stage);
  {
    const std::lock_guard lock((*ticket_.state_)->mutex);
    (*ticket_.state_)->stage = std::max((*ticket_.state_)->stage, stage);
  }
  (*ticket_.state_)->changed.notify_all();
}

void internal::SavePromise::fail(const std::exception_ptr& error, SaveFault fault) noexcept {
  SaveTicket::State& state = ticket_.state_->unchecked();
  {
    const std::lock_guard lock(state.mutex);
    if (state.finished()) return;
    state.fault = fault;
    state.error = error;
  }
  state.changed.notify_all();
}

}  // namespace crochet::inline v0
