// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/hooked_session.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/ranks/internal/run_agreement.h"

namespace crochet::inline v0::internal {
namespace {

// As flatten() and unflatten(), without a call for the usual request, which is one output.
void add_outputs(const Fetches& fetches, std::vector<Output>& outputs) {
  if (const Output* const output = fetches.as_output())
    outputs.push_back(*output);
  else
    flatten(fetches, outputs);
}

FetchValues take_values(const Fetches& fetches, std::span<Tensor>& values) {
  if (fetches.as_output() == nullptr) return unflatten(fetches, values);
  Tensor& value = values.front();
  values = values.subspan(1);
  return FetchValues(std::move(value));
}

bool is_same_output(const Fetches& a, const Fetches& b) {
  return a.as_output() != nullptr && b.as_output() != nullptr && *a.as_output() == *b.as_output();
}

// Called after each hook.
template <bool kIsMeasured>
struct HookLap {
  TimeLedger& times;
  void operator()(size_t hook) const {
    if constexpr (kIsMeasured) times.lap_hook(hook);
  }
};

[[noreturn]] void throw_fed_twice(const Output& output, const SessionRunHook& hook,
                                  const std::string& other) {
  throw FailedPreconditionError(fmt::format("Same tensor is fed twice: {} by {} and by {}",
                                            to_string(output), hook.name(), other));
}

}  // namespace

HookedSession::HookedSession(Session& session, const HookList& hooks, StopState& stop)
    : session_(session),
      graph_(session.graph()),
      hooks_(hooks),
      stop_(stop),
      times_(TimeLedger::of(graph_)),
      original_{.options = RunOptions()},
      requests_(hooks.size()) {
  std::vector<std::string> names;
  for (const HookHandle& hook : hooks) names.push_back(hook->name());
  times_.set_hooks(std::move(names));
}

FetchValues HookedSession::run(const Fetches& fetches, const Feeds& feeds,
                               const RunOptions& options, RunMetadata* metadata) {
  if (closed_ || stop_.refuses_runs()) throw_refused();
  record_original(fetches, feeds, options);
  return times_.is_due() ? run_with_hooks<true>(metadata) : run_with_hooks<false>(metadata);
}

template <bool kIsMeasured>
FetchValues HookedSession::run_with_hooks(RunMetadata* metadata) {
  const HookLap<kIsMeasured> lap{times_};
  if constexpr (kIsMeasured) times_.begin_run();
  SessionRunContext context(original_, session_, std::nullopt, stop_);
  context.owner_ = this;
  outputs_.clear();
  add_outputs(original_.fetches, outputs_);
  failed_in_ = FailedIn::kNeither;
  ask_hooks(context, lap);
  if (context.is_global_step_requested_) add_global_step();
  values_.resize(outputs_.size());
  if (metadata == nullptr) metadata = &run_metadata_;
  const RunOptions& run_options = is_merged_ ? merged_options_ : *original_.options;
  if constexpr (kIsMeasured) times_.begin_engine();
  try {
    session_.run_into(outputs_, is_merged_ ? merged_feeds_ : original_.feeds, values_, run_options,
                      metadata);
  } catch (...) {
    failed_in_ = FailedIn::kEngine;
    throw;
  }
  if constexpr (kIsMeasured) times_.lap_engine();
  std::span<Tensor> rest = values_;  // Moved out: holding a value would make its next update copy.
  FetchValues results = original_.fetches.as_output() != nullptr
                            ? take_values(original_.fetches, rest)  // Cannot fail.
                            : take_results(rest);
  tell_hooks(context, rest, {.options = &run_options, .run_metadata = metadata}, lap);
  if constexpr (kIsMeasured) times_.end_run();
  if (context.save_request()) check_save_request();
  return results;
}

void HookedSession::throw_refused() const {
  if (closed_) throw FailedPreconditionError("the session is closed");
  throw FailedPreconditionError(fmt::format("Run called even after should_stop requested: {}: {}",
                                            stop_.stop_request()->who,
                                            stop_.stop_request()->reason));
}

// A loop passes the same in each step: then nothing is copied.
void HookedSession::record_original(const Fetches& fetches, const Feeds& feeds,
                                    const RunOptions& options) {
  if (!is_same_output(fetches, original_.fetches) || !feeds.empty() || !original_.feeds.empty() ||
      options != *original_.options)
    replace_original(fetches, feeds, options);
  if (!std::exchange(is_merged_, false)) return;
  merged_feeds_.clear();
  feeders_.clear();
}

// Not inline, since each step would pay for the registers that it needs.
[[gnu::noinline]] void HookedSession::replace_original(const Fetches& fetches, const Feeds& feeds,
                                                       const RunOptions& options) {
  if (!is_same_output(fetches, original_.fetches)) original_.fetches = graph_.resolve(fetches);
  original_.feeds = feeds;
  original_.options = options;
}

template <typename Lap>
void HookedSession::ask_hooks(SessionRunContext& context, const Lap& lap) {
  for (size_t i = 0; i < hooks_.size(); ++i) {
    context.caller_ = &*hooks_[i];
    const std::optional<SessionRunArgs> request = hooks_[i]->before_run(context);
    if (request) {
      if (!request->feeds.empty() || request->options) merge_request(*hooks_[i], *request);
      if (!is_same_output(request->fetches, requests_[i]))
        requests_[i] = graph_.resolve(request->fetches);
      add_outputs(requests_[i], outputs_);
    } else if (!requests_[i].empty()) {
      requests_[i] = Fetches();
    }
    lap(i);
  }
  if (is_merged_) merge_callers_feeds();
}

void HookedSession::merge_request(const SessionRunHook& hook, const SessionRunArgs& request) {
  if (!std::exchange(is_merged_, true)) merged_options_ = *original_.options;
  for (const auto& feed : request.feeds) {
    if (const SessionRunHook* const other = feeder_of(feed.first))
      throw_fed_twice(feed.first, hook, other->name());
    merged_feeds_.push_back(feed);
    feeders_.push_back(&hook);
  }
  if (request.options) merge(merged_options_, *request.options);
}

void HookedSession::merge_callers_feeds() {
  for (const auto& feed : original_.feeds)
    if (const SessionRunHook* const hook = feeder_of(feed.first))
      throw_fed_twice(feed.first, *hook, "the caller");
  merged_feeds_.insert(merged_feeds_.end(), original_.feeds.begin(), original_.feeds.end());
}

const SessionRunHook* HookedSession::feeder_of(const Output& output) const {
  const auto found = std::ranges::find(merged_feeds_, output, &Feeds::value_type::first);
  return found == merged_feeds_.end() ? nullptr : feeders_[found - merged_feeds_.begin()];
}

void HookedSession::add_global_step() {
  if (!global_step_) global_step_ = graph_.global_step();
  if (!global_step_)
    throw FailedPreconditionError("a hook asked for the global step, but the graph has none");
  outputs_.push_back(global_step_);
}

// Not inline, as replace_original().
[[gnu::noinline]] FetchValues HookedSession::take_results(std::span<Tensor>& values) {
  try {
    return take_values(original_.fetches, values);
  } catch (...) {
    failed_in_ = FailedIn::kHook;  // No hook has accepted the step.
    num_told_ = 0;
    throw;
  }
}

template <typename Lap>
void HookedSession::tell_hooks(SessionRunContext& context, std::span<Tensor> values,
                               const SessionRunValues& shared, const Lap& lap) {
  size_t num_told = 0;
  try {
    if (context.is_global_step_requested_) context.global_step_ = global_step_value(values_.back());
    bool is_before_savers = static_cast<bool>(before_savers_);
    for (; num_told < hooks_.size(); ++num_told) {
      SessionRunHook& hook = *hooks_[num_told];
      if (is_before_savers && hook.place() != HookPlace::kAsGiven) {
        call_before_savers(context);
        is_before_savers = false;
      }
      context.caller_ = &hook;
      const Fetches& request = requests_[num_told];
      if (request.empty())
        hook.after_run(context, shared);
      else
        hook.after_run(context,
                       {take_values(request, values), shared.options, shared.run_metadata});
      lap(num_told);
    }
    if (is_before_savers) call_before_savers(context);
  } catch (...) {
    failed_in_ = FailedIn::kHook;
    num_told_ = num_told;
    rejected_ = context.step_rejected();
    throw;
  }
  rejected_ = context.step_rejected();
}

void HookedSession::call_before_savers(SessionRunContext& context) {
  SaveProposal proposal{context.save_request_, context.step_rejected_};
  before_savers_(proposal);
  context.save_request_ = std::move(proposal.request);
  context.step_rejected_ = proposal.is_rejected;
}

void HookedSession::check_save_request() {
  if (warned_of_no_saver_) return;
  const auto is_saver = [](const HookHandle& hook) { return hook->place() == HookPlace::kSaver; };
  if (std::ranges::any_of(hooks_, is_saver)) return;
  if (!agreement_of(graph_)->is_chief()) return;  // The chief saves.
  warned_of_no_saver_ = true;
  log_warning("a save was requested, but no hook of this run saves checkpoints");
}

const char* HookedSession::reason_not_to_save(bool stop_is_pending) const {
  if (rejected_) return "a hook rejected it";
  if (failed_in_ == FailedIn::kEngine && !session_.is_unchanged_by_error())
    return "what failed may have changed the state (EndOptions::save_on_error says that it has "
           "not)";
  if (failed_in_ != FailedIn::kHook) return nullptr;
  const auto rest =
      std::span(hooks_).subspan(std::min(num_told_ + (stop_is_pending ? 1 : 0), hooks_.size()));
  const auto is_before_savers = [](const HookHandle& hook) {
    return hook->place() == HookPlace::kAsGiven;
  };
  return std::ranges::any_of(rest, is_before_savers) ? "a hook has not accepted it" : nullptr;
}

std::function<void()> HookedSession::repeatable_run() const {
  return [&session = session_, outputs = outputs_,
          feeds = is_merged_ ? merged_feeds_ : original_.feeds,
          options = is_merged_ ? merged_options_ : *original_.options] {
    std::vector<Tensor> values(outputs.size());
    session.run_into(outputs, feeds, values, options, nullptr);
  };
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

}  // namespace crochet::inline v0::internal
