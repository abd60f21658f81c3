// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/internal/hooked_session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"

namespace crochet::inline v0 {

HookedSession::HookedSession(Session& session, const HookList& hooks)
    : session_(session), hooks_(hooks), requests_(hooks.size()) {}

FetchValues HookedSession::run(const Fetches& fetches, const Feeds& feeds,
                               const RunOptions& options, RunMetadata* metadata) {
  if (stop_)
    throw FailedPreconditionError(fmt::format("Run called even after should_stop requested: {}: {}",
                                              stop_->who, stop_->reason));
  const SessionRunArgs original{session_.graph().resolve(fetches), feeds, options};
  SessionRunContext context(original, session_, last_step());
  const auto keep_request = [&] {
    if (context.stop_requested()) request_stop(*context.stop_request());
    if (carried_over_) request_stop(*std::exchange(carried_over_, std::nullopt));
  };
  try {
    if (metadata == nullptr) run_metadata_ = {};
    FetchValues results =
        run_with_hooks(original, context, metadata != nullptr ? *metadata : run_metadata_);
    keep_request();
    return results;
  } catch (...) {
    keep_request();  // A request to stop is kept even if the run failed.
    throw;
  }
}

FetchValues HookedSession::run_with_hooks(const SessionRunArgs& original,
                                          SessionRunContext& context, RunMetadata& metadata) {
  outputs_.clear();
  flatten(original.fetches, outputs_);
  ask_hooks(context, original);
  values_.resize(outputs_.size());
  session_.run_into(outputs_, feeds_, values_, run_options_, &metadata);
  std::span<Tensor> rest = values_;  // Moved out: holding a value would make its next update copy.
  FetchValues results = unflatten(original.fetches, rest);
  tell_hooks(context, rest, metadata);
  return results;
}

void HookedSession::ask_hooks(SessionRunContext& context, const SessionRunArgs& original) {
  feeds_ = original.feeds;
  run_options_ = *original.options;
  for (size_t i = 0; i < hooks_.size(); ++i) {
    context.set_caller(&*hooks_[i]);
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

void HookedSession::tell_hooks(SessionRunContext& context, std::span<Tensor> values,
                               const RunMetadata& metadata) {
  for (size_t i = 0; i < hooks_.size(); ++i) {
    context.set_caller(&*hooks_[i]);
    hooks_[i]->after_run(context,
                         {requests_[i] ? unflatten(requests_[i]->fetches, values) : FetchValues(),
                          &run_options_, &metadata});
  }
}

void HookedSession::request_stop(StopRequest request) {
  if (stop_) return;
  stop_ = std::move(request);
  log_info(fmt::format("{} asks to stop: {}", stop_->who, stop_->reason));
}

void HookedSession::close() {
  if (!stop_) stop_ = StopRequest{"the program", "the session was closed"};
}

std::optional<int64_t> HookedSession::last_step() const {
  std::optional<int64_t> smallest;
  for (const HookHandle& hook : hooks_)
    if (const auto step = hook->last_step()) smallest = std::min(*step, smallest.value_or(*step));
  return smallest;
}

}  // namespace crochet::inline v0
