// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/ranks/ranks.h"
#include "crochet/session/session.h"
#include "crochet/training/session_creator.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

class MonitoredSession;

namespace internal {
class RecoverableSession;
class WrappedSession;
class RunAgreement;
class StartedRun;
class TimeLedger;
class TimeSpan;
struct SaveProposal;
}  // namespace internal

// What MonitoredSession::run_step_fn passes to a step function; valid during the call.
class CROCHET_EXPORT StepContext {
 public:
  // The engine's session; its runs call no hooks. After a recovery it is the new one.
  Session& session() const;

  // One run, with the hooks around it. An AbortedError or UnavailableError must leave the step
  // function, which is then called again as a whole.
  // Throws: as MonitoredSession::run, and errors that run would recover from.
  FetchValues run_with_hooks(const Fetches& fetches, const Feeds& feeds = {},
                             const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  // Requests a stop and leaves the step function by throwing StopIteration, which ends a
  // scope cleanly: see run_in_scope.
  [[noreturn]] void request_stop(std::string reason = "requested by the step function");

 private:
  friend class MonitoredSession;
  explicit StepContext(MonitoredSession& owner) : owner_(owner) {}

  MonitoredSession& owner_;
};

struct MonitoredSessionOptions {
  // Unset: no limit.
  std::optional<int> max_recoveries = {};
  // Asked before each recovery; empty: always possible.
  std::function<bool()> can_recover = {};
  // How long threads registered with the coordinator may keep running once a session is closed.
  // Threads that run longer are logged, and waited for once the engine's session is closed.
  double stop_grace_period_secs = 120;
  // Clock::real() if null. Not owned.
  Clock* clock = nullptr;
  // Whether a hook that finds the run finished (SessionRunHook::finished) stops it before the first
  // step. TensorFlow's sessions train on, so this is for Loop.
  bool ends_if_finished = false;
  // Whether any error that ends the run saves the last completed step first, if the state is
  // certain to be that of the step. TensorFlow saves nothing then, so this is for Loop; others do
  // it if a stop is pending.
  bool saves_on_error = false;
};

// A session that calls hooks, recovers from preemption, and tracks when to stop. It is the
// engine's session in three wrappers: hooks, threads, recovery (docs/architecture.md).
//
//   MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), {StopAtStepHook(...)});
//   run_in_scope(session, [&] {
//     while (!session.should_stop()) session.run(train_op);
//   });
//
// Not thread-safe. Hooks and operations that it calls may query it and may request a stop;
// from them, run, run_step_fn and close throw a FailedPreconditionError, and abort only logs.
class CROCHET_EXPORT MonitoredSession {
 public:
  // Calls begin of all hooks, makes the graph final, creates the session, calls
  // after_create_session. A hook whose last_step() has already been reached stops the run here.
  // Throws: what those calls throw, after calling on_error of the hooks that began.
  MonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                   MonitoredSessionOptions options = {});
  // The same with a ChiefSessionCreator with default options.
  explicit MonitoredSession(Graph& graph, HookList hooks = {},
                            MonitoredSessionOptions options = {});
  // Without a close() before, the run counts as failed: see abort().
  virtual ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  Graph& graph() const { return creator_->graph(); }

  // One run, with the hooks around it. Options requested by hooks are merged into the caller's;
  // `metadata`, unless null, receives what the run recorded. Throws: FailedPreconditionError once a
  // stop was requested or the session is closed; what the engine and the hooks throw, unless the
  // session recovers from it.
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr);
  // Calls `step_fn(StepContext&)`, which makes its own runs, with or without hooks, and returns its
  // result. If it throws an AbortedError or UnavailableError, whatever the source, the session
  // is recovered and all of `step_fn` is called again, side effects included.
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

  // True if a stop was requested. Recovers if a thread reported an AbortedError or
  // UnavailableError, except from within a hook or an operation.
  bool should_stop();
  // Requests a stop on behalf of the program.
  void request_stop(std::string reason);
  void request_stop(StopRequest request);

  // Ends the run cleanly: calls end of all hooks, then closes the session. Every step is carried
  // out even if one throws; the first error is rethrown. Calling it again does nothing.
  // If the session is lost, there is nothing to end: it calls on_error of all hooks instead, and
  // throws the error that abort() returns for the failed recovery's.
  void close();
  // True if a recovery failed: the session makes no further run, and close() throws.
  bool is_lost() const;
  // Ends the run because of an error: calls on_error of all hooks, then closes the session. Never
  // throws. Returns the error the run failed with: the one that a thread of the session reported,
  // being the cause, unless it is one to recover from; otherwise `error`.
  std::exception_ptr abort(std::exception_ptr error) noexcept;

  // Who requested the stop, and why.
  std::optional<StopRequest> stop_request() const;
  // True if a hook stopped the run before its first step, since nothing is left to do.
  bool was_finished() const { return was_finished_; }
  int num_recoveries() const;
  // The step found when the first session was created; unset if the graph counts no steps.
  std::optional<int64_t> first_step() const { return first_step_; }
  // What the first session was restored from; unset if it was not restored.
  const std::optional<RestoreReport>& restored() const { return restored_; }
  // The step now, or when the session was closed.
  std::optional<int64_t> current_step();

 protected:
  enum class Recovery { kOn, kOff };
  MonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                   MonitoredSessionOptions options, Recovery recovery,
                   std::shared_ptr<internal::RunAgreement> agreement = {});
  // Null if the session is closed, or was lost in a failed recovery.
  Session* engine_session() const;

 private:
  friend class StepContext;
  friend class internal::StartedRun;
  class Call;
  class OpenSession;

  // A call that is repeated as a whole after a recovery. One within another is a part of it.
  class Repeatable {
   public:
    explicit Repeatable(MonitoredSession& owner) : owner_(owner) {
      if (owner_.num_repeatable_++ == 0) owner_.stop_.begin_call();
    }
    ~Repeatable() { --owner_.num_repeatable_; }
    Repeatable(const Repeatable&) = delete;
    Repeatable& operator=(const Repeatable&) = delete;

   private:
    MonitoredSession& owner_;
  };

  template <typename StepFn>
  std::invoke_result_t<StepFn&, StepContext&> retry_step(StepFn& step_fn) {
    if (closed_) throw_closed("run_step_fn");
    const Repeatable repeatable(*this);
    StepContext context(*this);
    while (true) {
      try {
        check_recoverable_is_open();
        return step_fn(context);
      } catch (...) {
        recover_or_rethrow();
      }
    }
  }
  // Those of recoverable_, if there is one. Without one, every error is thrown.
  void check_recoverable_is_open() const;
  void recover_or_rethrow();
  // The error that a thread of the session reported, unless it is one to recover from, or `error`.
  std::exception_ptr cause_of(std::exception_ptr error) const noexcept;
  // After an error: see MonitoredSessionOptions::saves_on_error.
  void save_last_step() noexcept;
  std::optional<int64_t> last_step(const std::exception_ptr& error) noexcept;
  void close_stack();
  // abort() for an open session.
  std::exception_ptr end_by(std::exception_ptr error) noexcept;
  void create_stack(Recovery recovery);
  FetchValues run_once(const Fetches& fetches, const Feeds& feeds, const RunOptions& options,
                       RunMetadata* metadata);
  [[noreturn]] void throw_closed(const char* what) const;
  std::unique_ptr<internal::WrappedSession> create_open_session();
  // Until a session is created, time counts as TimeKind::kSetup.
  void begin_setup();
  void begin_hooks();
  void register_hook_state();
  void stop_if_finished();
  // Those of agreement_.
  void agree_after_step(OpenSession& open, internal::SaveProposal& save);
  bool should_stop_as_agreed();
  // A stop that this rank proposes.
  std::optional<StopRequest> own_proposal(OpenSession& open) const;
  // The cleanup after the hooks' last calls.
  void release();

  const std::unique_ptr<SessionCreator> creator_;
  const HookList hooks_;
  const MonitoredSessionOptions options_;
  const std::shared_ptr<internal::RunAgreement> agreement_;
  internal::TimeLedger& times_;                // The graph's.
  std::unique_ptr<internal::TimeSpan> setup_;  // While a session is being created.
  const bool recovers_;
  const bool graph_was_finalized_;
  size_t num_begun_ = 0;  // The hooks before this one began.
  std::vector<std::string> hook_state_names_;
  std::optional<int64_t> first_step_;
  std::optional<RestoreReport> restored_;
  std::optional<int64_t> closed_at_step_;
  StopState stop_;
  bool fails_between_steps_ = false;     // The program may have changed the state since the last.
  int num_repeatable_ = 0;               // The calls being made that can be repeated.
  const char* calling_ = nullptr;        // The function that is calling hooks or operations.
  std::exception_ptr error_of_thread_;   // Of the last OpenSession, once it was closed.
  OpenSession* open_session_ = nullptr;  // The current one, owned by stack_.
  internal::RecoverableSession* recoverable_ = nullptr;  // stack_, if it recovers; otherwise null.
  std::unique_ptr<internal::WrappedSession> stack_;
  bool was_finished_ = false;
  bool closed_ = false;
};

// Python's `with session:`. Runs the body, then closes. An OutOfRangeError or StopIteration ends
// the run cleanly: the data ended, in a step or in the body. If a recovery threw it, the session is
// lost, and that is an error like any other. Any other error aborts the run, and what abort()
// returns is thrown: if a thread of the session also reported an error, that error, which is
// usually why the body failed.
CROCHET_EXPORT void run_in_scope(MonitoredSession& session, const std::function<void()>& body);

namespace internal {
// The same without the close().
CROCHET_EXPORT void run_or_abort(MonitoredSession& session, const std::function<void()>& body);
}  // namespace internal

struct SingularMonitoredSessionOptions {
  // As in MonitoredSessionOptions.
  double stop_grace_period_secs = 120;
  // Clock::real() if null. Not owned.
  Clock* clock = nullptr;
};

// A monitored session that never replaces its engine's session: an AbortedError or
// UnavailableError is an error like any other, and should_stop() throws the error that a
// thread reported. For programs that recover on their own, or need the raw session.
class CROCHET_EXPORT SingularMonitoredSession final : public MonitoredSession {
 public:
  // Throws: as MonitoredSession does, and errors that MonitoredSession would recover from.
  SingularMonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                           const SingularMonitoredSessionOptions& options = {})
      : MonitoredSession(
            std::move(creator), std::move(hooks),
            {.stop_grace_period_secs = options.stop_grace_period_secs, .clock = options.clock},
            Recovery::kOff) {}

  // The same with a ChiefSessionCreator with these options: scaffold, target, settings, and what
  // is restored.
  explicit SingularMonitoredSession(Graph& graph, HookList hooks = {},
                                    ChiefSessionCreatorOptions creation = {},
                                    const SingularMonitoredSessionOptions& options = {})
      : SingularMonitoredSession(std::make_unique<ChiefSessionCreator>(graph, std::move(creation)),
                                 std::move(hooks), options) {}

  // The engine's session; runs of it call no hooks. Null once this is closed.
  Session* raw_session() const { return engine_session(); }
};

}  // namespace crochet::inline v0
