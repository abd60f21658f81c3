// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/ranks/ranks.h"
#include "crochet/session/session.h"
#include "crochet/training/coordinator.h"

namespace crochet::inline v0 {

namespace internal {
class HookedSession;
}  // namespace internal

// What a hook adds to a run.
struct SessionRunArgs {
  Fetches fetches = {};
  Feeds feeds = {};
  // Merged with the options of other hooks and the caller: see merge().
  std::optional<RunOptions> options = {};
};

// What a run returned to one hook: the values of its own fetches, in their structure; empty
// if it requested none.
struct SessionRunValues {
  FetchValues results = {};
  // Of the whole run: its options, and what it recorded. Never null in after_run.
  const RunOptions* options = nullptr;
  const RunMetadata* run_metadata = nullptr;
};

// Where the time of a process's part of a run goes, in seconds. What a run of less than a
// millisecond consists of is measured in a sample of them; the other times are exact.
struct RunTimes {
  double total = 0;       // Since the run began.
  double setup = 0;       // Creating sessions, with their restores, and waiting before recoveries.
  double saving = 0;      // Training waited for saves.
  double slowed = 0;      // By how much steps took longer while a save was being written.
  double evaluation = 0;  // Of EvaluationHook.
  double waiting = 0;     // For other ranks, until they agreed.
  double hooks = 0;       // Of all hooks, without the times above.
  std::map<std::string, double> by_hook = {};

  // The rest: the steps themselves, and what the program does between them.
  double steps() const {
    return std::max(0.0, total - setup - saving - slowed - evaluation - waiting - hooks);
  }
};

// The process will be ended from outside: the state is to be saved before that.
struct StopBefore {
  double time = 0;  // When, in seconds since 1970-01-01 UTC.
  // How long the next run may take, with its hooks.
  double run_secs = 0;
  std::string_view reason = {};  // "the deadline is 06:30". Outlives the run.
  const class SessionRunHook* who = nullptr;
};

// The current run: one object per attempt, shared by all hooks.
class CROCHET_EXPORT SessionRunContext {
 public:
  // Requires: the arguments outlive this; hence temporaries do not compile.
  SessionRunContext(const SessionRunArgs& original_args, Session& session,
                    std::optional<int64_t> last_step, StopState& stop)
      : original_args_(original_args), session_(session), last_step_(last_step), stop_(stop) {}
  SessionRunContext(SessionRunArgs&& original_args, Session& session,
                    std::optional<int64_t> last_step, StopState& stop) = delete;

  // The caller's arguments.
  const SessionRunArgs& original_args() const { return original_args_; }
  // The engine's session; runs of it call no hooks.
  Session& session() const { return session_; }
  // The step at which training will end, if a hook knows it: see SessionRunHook::last_step.
  std::optional<int64_t> last_step() const;

  // In before_run: has the run fetch the global step, for all hooks that ask for it. Cheaper than
  // to return a request of it. A context of the program's own, such as a test's, reads it at once.
  void request_global_step() {
    is_global_step_requested_ = true;
    if (owner_ == nullptr) read_own_global_step();
  }
  // In after_run: the step before the run. Throws: FailedPreconditionError unless it was requested.
  int64_t global_step() const;

  // What hooks do in the background now: see SessionRunHook::activity. Empty: nothing.
  std::string activity() const;

  // Where the time of the run has gone so far. Empty in a context of the program's own.
  RunTimes times() const;

  // In after_run: makes the engine's run again when it is called, with the same requests and feeds,
  // and drops the values. Calls no hooks. Requires: the session exists.
  std::function<void()> repeatable_run() const;

  // Ends the loop after this run. The first request is kept, with the hook that made it.
  void request_stop(std::string reason, int signal = 0);
  bool stop_requested() const { return stop_request().has_value(); }
  const std::optional<StopRequest>& stop_request() const { return stop_.stop_request(); }
  // The same, as of SIGTERM, for another hook.
  void request_stop(const StopBefore& stop, const std::string& reason);

  // In after_run, each time until then: has the savers, which come after the other hooks, end the
  // loop early enough for a last save. The earliest time counts.
  void request_stop_before(double time, double run_secs, std::string_view reason);
  const std::optional<StopBefore>& stop_before() const { return stop_before_; }

  // Asks the savers, which come after the other hooks, for a checkpoint of the state after this
  // run. The reason is logged; the first request counts.
  void request_save(std::string reason = "");
  // The reason, unset without a request.
  const std::optional<std::string>& save_request() const { return save_request_; }

  // Marks the state after this run as one not to be kept: savers, which come after the other
  // hooks, do not save it, not even as the last one.
  void reject_step() { step_rejected_ = true; }
  bool step_rejected() const { return step_rejected_; }

  // In after_run: rejects the state after this run, and all since an earlier step. The run recovers
  // from the newest checkpoint of `step` or an earlier one, or else from the oldest; the newer ones
  // are renamed to `<name>.abandoned`. Counts as a recovery. In a group, every rank must call it
  // after the same step. Throws, to leave the hook: an AbortedError with the reason.
  [[noreturn]] void go_back_to(int64_t step, const std::string& reason);

 private:
  friend class internal::HookedSession;

  void read_own_global_step();

  const SessionRunArgs& original_args_;
  Session& session_;
  const std::optional<int64_t> last_step_;  // In a test.
  StopState& stop_;
  const class SessionRunHook* caller_ = nullptr;  // The hook that is called with this.
  std::optional<StopBefore> stop_before_;
  std::optional<std::string> save_request_;
  std::optional<int64_t> global_step_;  // Before the run.
  bool is_global_step_requested_ = false;
  const class internal::HookedSession* owner_ = nullptr;  // Null: made by a test.
  bool step_rejected_ = false;
};

// Where a hook belongs in the list: where the user put it; after those hooks, since it saves what
// they did in this step; or after the savers, since it guards them.
enum class HookPlace { kAsGiven, kSaver, kLast };

// Extends a training loop: derive from it and override what you need; by default each
// function does nothing. All are called on the training thread, hooks in list order, by
// the monitored session that owns the list:
//
//   begin                    once, before there is a session; the graph may be extended
//   after_create_session     after each creation of a session, restored or initialised;
//                            again after every recovery
//   before_run, after_run    around each run; no after_run if the run failed
//   before_end, end          once, when the run ends cleanly: end after before_end of all hooks
//   on_error                 once instead of end, when the run fails with an error
//
// An AbortedError or UnavailableError thrown by any but begin, end and on_error makes the session
// recover; other errors end the run. If an end() throws, end() of the other hooks is still called,
// and the first error is thrown afterwards.
class CROCHET_EXPORT SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;

  // A second begin, with the same graph, must not change it.
  virtual void begin(Graph& /*graph*/) {}
  virtual void after_create_session(Session& /*session*/, Coordinator& /*coordinator*/) {}
  // What this hook requests from the coming run. May be called again without an after_run
  // in between if the run failed and the session recovered.
  virtual std::optional<SessionRunArgs> before_run(SessionRunContext& /*context*/) { return {}; }
  virtual void after_run(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) {}
  // The last step is made: savers take their last snapshot now, so that nothing that end() of any
  // hook does is in it. Also called before on_error, if a stop was requested and the state is that
  // of a completed step.
  virtual void before_end(Session& /*session*/) {}
  virtual void end(Session& /*session*/) {}
  // The run fails with this error, and end will not be called. What this throws is logged.
  virtual void on_error(std::exception_ptr /*error*/) {}

  // The hook's own state that belongs in checkpoints, called after begin.
  // Stored under "hooks/<name()>/<key>"; restored before after_create_session. A
  // checkpoint that lacks some of it, or has more, is accepted with a warning.
  virtual SaveableMap saveables() { return {}; }

  // The step at which this hook will stop the run, if it knows. Called after
  // after_create_session; a run that has already reached that step makes no further step.
  virtual std::optional<int64_t> last_step() const { return std::nullopt; }

  // Why the state that was restored needs no further step, by this hook's own state; unset if it
  // does. Called after after_create_session. In a Loop, such a run makes no step, unless
  // EndOptions::continue_finished is set.
  virtual std::optional<StopRequest> finished() const { return std::nullopt; }

  // What this hook does in the background now, for a line of progress: "saving step 200". Empty:
  // nothing.
  virtual std::string activity() const { return {}; }

  // Where Loop and train put it in the list.
  virtual HookPlace place() const { return HookPlace::kAsGiven; }

  // True for a hook that only writes: lines of a log, curves, checkpoints. In a group, only the
  // chief has it: train() and Loop drop it in other ranks.
  virtual bool is_for_chief() const { return false; }

  // The class's name, for logs and checkpoints; without run-time type information "SessionRunHook".
  virtual std::string name() const;
};

// A hook in a list: made from a temporary, which it adopts, or from a shared_ptr, for hooks whose
// results are read afterwards. A named hook does not compile, since its results would be lost with
// the copy.
//
//   const auto stop = std::make_shared<StopAtStepHook>(StopAtStepHookOptions{.num_steps = 10});
//   HookList hooks = {SignalHook({SIGTERM}), stop};
//
// Throws: InvalidArgumentError for a null pointer.
class CROCHET_EXPORT HookHandle {
 public:
  template <typename Hook>
  requires std::derived_from<std::remove_cvref_t<Hook>, SessionRunHook> HookHandle(Hook&& hook) {
    constexpr bool kIsTemporary = !std::is_lvalue_reference_v<Hook> && !std::is_const_v<Hook>;
    static_assert(kIsTemporary,
                  "crochet does not copy a named hook into a list: make it with "
                  "std::make_shared<Hook>(...) and pass the pointer");
    if constexpr (kIsTemporary) hook_ = std::make_shared<Hook>(std::move(hook));
  }

  template <std::derived_from<SessionRunHook> Hook>
  HookHandle(std::shared_ptr<Hook> hook) : hook_(std::move(hook)) {
    if (!hook_) throw InvalidArgumentError("a hook in the list is a null pointer");
  }

  SessionRunHook* operator->() const { return hook_.get(); }
  SessionRunHook& operator*() const { return *hook_; }

 private:
  std::shared_ptr<SessionRunHook> hook_;
};

using HookList = std::vector<HookHandle>;

}  // namespace crochet::inline v0
