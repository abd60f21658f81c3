// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/internal/hooked_session.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/monitor/run_group.h"

namespace crochet::inline v0 {

HookedSession::HookedSession(Session& session, const HookList& hooks, StopState& stop)
    : session_(session), hooks_(hooks), stop_(stop), requests_(hooks.size()) {}

FetchValues HookedSession::run(const Fetches& fetches, const Feeds& feeds,
                               const RunOptions& options, RunMetadata* metadata) {
  if (closed_) throw FailedPreconditionError("the session is closed");
  if (const auto& stop = stop_.stop_request(); stop && !std::exchange(may_repeat_, false))
    throw FailedPreconditionError(fmt::format("Run called even after should_stop requested: {}: {}",
                                              stop->who, stop->reason));
  const SessionRunArgs original{session_.graph().resolve(fetches), feeds, options};
  SessionRunContext context(original, session_, std::nullopt, stop_);
  context.owner_ = this;
  outputs_.clear();
  flatten(original.fetches, outputs_);
  ask_hooks(context, original);
  if (context.is_global_step_requested()) add_global_step();
  values_.resize(outputs_.size());
  if (metadata == nullptr) metadata = &run_metadata_;
  session_.run_into(outputs_, feeds_, values_, run_options_, metadata);
  if (context.is_global_step_requested())
    context.set_global_step(global_step_value(values_.back()));
  std::span<Tensor> rest = values_;  // Moved out: holding a value would make its next update copy.
  FetchValues results = unflatten(original.fetches, rest);
  tell_hooks(context, rest, *metadata);
  check_save_request(context);
  return results;
}

void HookedSession::ask_hooks(SessionRunContext& context, const SessionRunArgs& original) {
  feeds_ = original.feeds;
  run_options_ = *original.options;
  for (size_t i = 0; i < hooks_.size(); ++i) {
    context.caller_ = &*hooks_[i];
    requests_[i] = hooks_[i]->before_run(context);
    if (!requests_[i]) continue;
    if (requests_[i]->fetches.as_output() == nullptr)
      requests_[i]->fetches = session_.graph().resolve(requests_[i]->fetches);
    flatten(requests_[i]->fetches, outputs_);
    add_feeds(*hooks_[i], requests_[i]->feeds);
    if (requests_[i]->options) merge(run_options_, *requests_[i]->options);
  }
}

void HookedSession::add_feeds(const SessionRunHook& hook, const Feeds& feeds) {
  for (const auto& feed : feeds) {
    if (std::ranges::find(feeds_, feed.first, &Feeds::value_type::first) != feeds_.end())
      throw FailedPreconditionError(
          fmt::format("Same tensor is fed twice: {} by {} and by the caller or another hook",
                      to_string(feed.first), hook.name()));
    feeds_.push_back(feed);
  }
}

void HookedSession::add_global_step() {
  if (!global_step_) global_step_ = session_.graph().global_step();
  if (!global_step_)
    throw FailedPreconditionError("a hook asked for the global step, but the graph has none");
  outputs_.push_back(global_step_);
}

void HookedSession::tell_hooks(SessionRunContext& context, std::span<Tensor> values,
                               const RunMetadata& metadata) {
  bool is_before_savers = static_cast<bool>(before_savers_);
  for (size_t i = 0; i < hooks_.size(); ++i) {
    if (is_before_savers && hooks_[i]->place() != HookPlace::kAsGiven) {
      call_before_savers(context);
      is_before_savers = false;
    }
    context.caller_ = &*hooks_[i];
    hooks_[i]->after_run(context,
                         {requests_[i] ? unflatten(requests_[i]->fetches, values) : FetchValues(),
                          &run_options_, &metadata});
  }
  if (is_before_savers) call_before_savers(context);
}

void HookedSession::call_before_savers(SessionRunContext& context) {
  internal::SaveWish wish{context.save_request_, context.step_rejected_};
  before_savers_(wish);
  context.save_request_ = std::move(wish.request);
  context.step_rejected_ = wish.is_rejected;
}

void HookedSession::check_save_request(const SessionRunContext& context) {
  if (!context.save_request() || warned_of_no_saver_) return;
  const auto is_saver = [](const HookHandle& hook) { return hook->place() == HookPlace::kSaver; };
  if (std::ranges::any_of(hooks_, is_saver)) return;
  if (const Group* const group = group_of(session_.graph()); group != nullptr && !group->is_chief())
    return;  // The chief saves.
  warned_of_no_saver_ = true;
  log_warning("a save was requested, but no hook of this run saves checkpoints");
}

std::string HookedSession::activity() const {
  std::vector<std::string> activities;
  for (const HookHandle& hook : hooks_)
    if (std::string activity = hook->activity(); !activity.empty())
      activities.push_back(std::move(activity));
  return fmt::format("{}", fmt::join(activities, ", "));
}

std::optional<int64_t> HookedSession::last_step() const {
  std::optional<int64_t> smallest;
  for (const HookHandle& hook : hooks_)
    if (const auto step = hook->last_step()) smallest = std::min(*step, smallest.value_or(*step));
  return smallest;
}

}  // namespace crochet::inline v0
