// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "crochet/monitor/hook_list.h"
#include "crochet/monitor/hooked_session.h"
#include "crochet/monitor/recoverable_session.h"
#include "crochet/monitor/session_creator.h"
#include "crochet/monitor/step_context.h"

namespace crochet {

struct MonitoredSessionOptions {
  // Unset: recovers for ever.
  std::optional<int> max_recoveries = {};
  // Asked before each recovery; empty: always possible.
  std::function<bool()> can_recover = {};
  // How long threads registered with the coordinator may go on once a session is closed. Those
  // that go on all the same are logged, and waited for once the engine's session is closed.
  double stop_grace_period_secs = 120;
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// A session that runs hooks, recovers, and knows when to stop. It is the engine's
// session in three wrappers: hooks, threads, recovery (docs/architecture.md).
//
//   MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), {StopAtStepHook(...)});
//   run_in_scope(session, [&] {
//     while (!session.should_stop()) session.run(train_op);
//   });
//
// For one thread. What it calls, hooks and operations, may ask it for anything and may request a
// stop; run, run_step_fn and close throw a FailedPreconditionError there, and abort does nothing.
class MonitoredSession {
 public:
  // Calls begin of all hooks, makes the graph final, creates the session, calls
  // after_create_session. Hooks whose last_step() is reached already stop the run here.
  // Throws: what those throw; then the hooks that began got on_error.
  MonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                   MonitoredSessionOptions options = {});
  // The same with a ChiefSessionCreator that has its defaults.
  explicit MonitoredSession(Graph& graph, HookList hooks = {},
                            MonitoredSessionOptions options = {});
  // Without close() before, the run ended by an error: see abort().
  virtual ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  Graph& graph() const { return creator_->graph(); }

  // One run, with the hooks around it. The options that hooks ask for are merged into the caller's;
  // `metadata`, unless null, gets what the run records of itself. Throws: FailedPreconditionError
  // once the run was asked to stop or is closed; what the engine and the hooks throw, unless it was
  // recovered.
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr);
  // Calls `step_fn(StepContext&)`, which makes its runs itself, with hooks and without, and returns
  // what it returns. If it throws an AbortedError or UnavailableError, from wherever, the session
  // is recovered and `step_fn` called again as a whole, side effects and all.
  // Progress, for max_recoveries, is counted by the context's run_with_hooks.
  //
  //   const float loss = session.run_step_fn([&](StepContext& context) {
  //     context.session().run(shuffle);                        // no hooks
  //     return context.run_with_hooks(loss).scalar<float>();
  //   });
  template <typename StepFn>
  decltype(auto) run_step_fn(StepFn step_fn) {
    static_assert(!std::is_member_function_pointer_v<StepFn>,
                  "crochet needs the object whose member function is called: "
                  "session.run_step_fn(&Model::step_fn, model)");
    static_assert(
        std::is_member_function_pointer_v<StepFn> || std::invocable<StepFn&, StepContext&>,
        "crochet calls a step function with one parameter, a StepContext&");
    if constexpr (std::invocable<StepFn&, StepContext&>) return retry_step(step_fn);
  }
  // The same with a member function: run_step_fn(&Model::step_fn, model).
  template <typename StepFn, typename Object>
  requires std::invocable<StepFn, Object&, StepContext&>
  decltype(auto) run_step_fn(StepFn step_fn, Object& object) {
    const auto bound = [&](StepContext& context) -> decltype(auto) {
      return std::invoke(step_fn, object, context);
    };
    return retry_step(bound);
  }

  // From within a hook or an operation it says whether a stop was requested, and recovers nothing.
  bool should_stop();
  // Asks to stop, on the program's own behalf.
  void request_stop(std::string reason);

  // Ends the run cleanly: end of all hooks, then the session. All is done even if something
  // throws; the first error is rethrown. Calling it again does nothing.
  void close();
  // Ends the run because of an error: on_error of all hooks, then the session. Never throws.
  // Returns what the run failed with: the error that a thread of the session reported, as its
  // cause, unless it is one to recover from; else `error`.
  std::exception_ptr abort(std::exception_ptr error) noexcept;

  // Who asked to stop, and why.
  std::optional<StopRequest> stop_request() const;
  int num_recoveries() const {
    return recoverable_ != nullptr ? recoverable_->num_recoveries() : 0;
  }
  // The step found when the first session was created; unset if the graph counts none.
  std::optional<int64_t> first_step() const { return first_step_; }
  // The step now, or when the session was closed.
  std::optional<int64_t> current_step();

 protected:
  enum class Recovery { kOn, kOff };
  MonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                   MonitoredSessionOptions options, Recovery recovery);
  // Null when there is none: closed, or lost in a failed recovery.
  Session* engine_session() const;

 private:
  friend class StepContext;
  class Call;
  class Life;

  template <typename StepFn>
  std::invoke_result_t<StepFn&, StepContext&> retry_step(StepFn& step_fn) {
    check_open("run_step_fn");
    StepContext context(*this);
    if (recoverable_ == nullptr) return step_fn(context);
    return recoverable_->retry(
        [&]() -> std::invoke_result_t<StepFn&, StepContext&> { return step_fn(context); });
  }
  // The error that a thread of the session reported, unless it is one to recover from, or `error`.
  std::exception_ptr cause_of(std::exception_ptr error) const noexcept;
  // abort() of a session that is open.
  std::exception_ptr end_by(std::exception_ptr error) noexcept;
  void create_stack(Recovery recovery);
  FetchValues run_once(const Fetches& fetches, const Feeds& feeds, const RunOptions& options,
                       RunMetadata* metadata);
  void check_open(const char* what) const;
  std::unique_ptr<WrappedSession> create_life();
  void begin_hooks();
  void register_hook_state();
  void stop_if_finished();
  // What is left to do once the hooks have heard of the end.
  void release();

  const std::unique_ptr<SessionCreator> creator_;
  const HookList hooks_;
  const MonitoredSessionOptions options_;
  const bool recovers_;
  const bool graph_was_finalized_;
  size_t num_begun_ = 0;  // The hooks before this one began.
  std::vector<std::string> hook_state_names_;
  std::optional<int64_t> first_step_;
  std::optional<int64_t> closed_at_step_;
  std::optional<StopRequest> stop_;
  const char* calling_ = nullptr;              // What calls hooks and operations now.
  std::exception_ptr error_of_thread_;         // Of the last life, once it was closed.
  Life* life_ = nullptr;                       // The present one, owned by stack_.
  RecoverableSession* recoverable_ = nullptr;  // The stack, if it recovers.
  std::unique_ptr<WrappedSession> stack_;
  bool closed_ = false;
};

// Python's `with session:`. Runs the body, then closes. An OutOfRangeError or StopIteration ends
// the run cleanly. Any other error aborts it, and what abort() returns is thrown: if a thread of
// the session reported an error, too, that one, which is usually why the body failed.
void run_in_scope(MonitoredSession& session, const std::function<void()>& body);

}  // namespace crochet
