// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/ranks/internal/save_proposal.h"
#include "crochet/training/internal/time_ledger.h"
#include "crochet/training/internal/wrapped_session.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Calls the hooks around each run and merges their requests with the caller's into
// one run of the engine.
class CROCHET_EXPORT HookedSession final : public WrappedSession {
 public:
  // Requires: the arguments outlive this; hence a temporary list does not compile.
  HookedSession(Session& session, const HookList& hooks, StopState& stop);
  HookedSession(Session& session, HookList&& hooks, StopState& stop) = delete;

  Graph& graph() const override { return graph_; }
  const std::string& target() const override { return session_.target(); }

  // Throws: FailedPreconditionError if the stop state refuses runs or once closed, if two hooks, or
  // a hook and the caller, feed the same output; whatever the hooks and the engine throw.
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr) override;
  bool should_stop() override { return closed_ || stop_.stop_request(); }
  void close() override { closed_ = true; }
  // Sets what is called in each run before the savers' after_run.
  // It may change what they do.
  using BeforeSavers = std::function<void(SaveProposal& proposal)>;
  void set_before_savers(BeforeSavers call) { before_savers_ = std::move(call); }
  // What the hooks do in the background now: "saving step 200".
  std::string activity() const;
  // Null if the state is certain to be that of a completed step, which all hooks before the savers
  // have seen and none has rejected; otherwise why it must not be saved. A hook that throws in
  // after_run may have meant to reject the step, unless a stop is pending, whose consequence the
  // error may be.
  const char* reason_not_to_save(bool stop_is_pending) const;
  RunTimes times() const { return times_.times(); }
  // See SessionRunContext. Of the last run.
  std::function<void()> repeatable_run() const;
  // The smallest step at which a hook will stop the run.
  std::optional<int64_t> last_step() const;

 private:
  // What threw an error in the last run, once the engine had begun. kHook: after the engine's run.
  enum class FailedIn { kNeither, kEngine, kHook };

  template <bool kIsMeasured>
  FetchValues run_with_hooks(RunMetadata* metadata);
  // For a session that is closed or should stop.
  [[noreturn]] void throw_refused() const;
  // Keeps the arguments of the caller, with its names resolved.
  void record_original(const Fetches& fetches, const Feeds& feeds, const RunOptions& options);
  void replace_original(const Fetches& fetches, const Feeds& feeds, const RunOptions& options);
  // `lap(i)` is called after each hook.
  template <typename Lap>
  void ask_hooks(SessionRunContext& context, const Lap& lap);
  // Adds the feeds and the options of a hook.
  void merge_request(const SessionRunHook& hook, const SessionRunArgs& request);
  // The same for the feeds of the caller, once all hooks were asked.
  void merge_callers_feeds();
  // The hook that feeds it in this run; null: none does.
  const SessionRunHook* feeder_of(const Output& output) const;
  // Adds the global step to the outputs. Throws: FailedPreconditionError if the graph has none.
  void add_global_step();
  // The caller's values, in any structure, which are moved out of `values`; the rest is the hooks'.
  FetchValues take_results(std::span<Tensor>& values);
  // `values` are the ones the hooks requested, hook by hook; they are moved out. `shared` is for
  // hooks that requested none.
  template <typename Lap>
  void tell_hooks(SessionRunContext& context, std::span<Tensor> values,
                  const SessionRunValues& shared, const Lap& lap);
  void call_before_savers(SessionRunContext& context);
  // Warns, once, of a request to save that no hook can fulfil.
  void check_save_request();

  Session& session_;
  Graph& graph_;
  const HookList& hooks_;
  StopState& stop_;
  TimeLedger& times_;  // The graph's.
  BeforeSavers before_savers_;
  FailedIn failed_in_ = FailedIn::kNeither;
  size_t num_told_ = 0;    // The hook that failed; those before it have returned from after_run.
  bool rejected_ = false;  // A hook rejected the last step.
  bool closed_ = false;
  bool warned_of_no_saver_ = false;
  Output global_step_;  // Unset until a hook asks for it.

  // State of the current run; members, so that repeated runs allocate nothing and copy little.
  SessionRunArgs original_;        // The caller's. The options are set.
  std::vector<Fetches> requests_;  // By hook; empty if it requested no value.
  std::vector<Output> outputs_;    // The caller's, then each hook's, then the step if requested.
  std::vector<Tensor> values_;
  bool is_merged_ = false;  // A hook has feeds or options, so that these two differ from original_.
  Feeds merged_feeds_;
  std::vector<const SessionRunHook*> feeders_;  // The hooks that these are from.
  RunOptions merged_options_;
  RunMetadata run_metadata_;
};

}  // namespace crochet::inline v0::internal
