// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/monitored_session.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/caught.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/training/coordinator.h"
#include "crochet/training/internal/coordinated_session.h"
#include "crochet/training/internal/go_back.h"
#include "crochet/training/internal/hooked_session.h"
#include "crochet/training/internal/recoverable_session.h"
#include "crochet/training/internal/time_ledger.h"

namespace crochet::inline v0 {
namespace {

// Not inline: should_stop() would pay for the request's memory in each step.
[[gnu::noinline]] bool is_stop_requested(const MonitoredSession& session) {
  return session.stop_request().has_value();
}

std::optional<int64_t> step_of(Session& session) {
  if (!session.graph().global_step()) return std::nullopt;
  return read_global_step(session);
}

// Where memory is short, that is the error.
std::exception_ptr destroyed_without_close() noexcept {
  try {
    throw CancelledError("the session was destroyed without close()");
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

// Marks a function of the session as running while it calls hooks and operations.
class MonitoredSession::Call {
 public:
  // Throws: FailedPreconditionError within another call: the session might be gone when that one
  // continues.
  Call(MonitoredSession& owner, const char* what) : owner_(owner) {
    if (owner.calling_ != nullptr) throw_nested(what);
    owner.calling_ = what;
  }
  ~Call() { owner_.calling_ = nullptr; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  [[noreturn]] void throw_nested(const char* what) const {
    throw FailedPreconditionError(
        fmt::format("{} was called from within {} of the same session", what, owner_.calling_));
  }

  MonitoredSession& owner_;
};

// What each recovery replaces: the engine's session, its threads' coordinator, and the
// wrappers that call hooks and watch threads.
class MonitoredSession::OpenSession final : public internal::WrappedSession {
 public:
  explicit OpenSession(MonitoredSession& owner)
      : owner_(owner),
        created_(owner.creator_->create_session()),
        session_(*created_.session),
        start_step_(step_of(session_)),
        // A thread that runs out of data by mistake must not look like a clean end.
        coordinator_({.clean_stop_codes = {}, .clock = owner.options_.clock}),
        hooked_(std::make_unique<internal::HookedSession>(session_, owner.hooks_, owner.stop_)),
        hooked_view_(hooked_.get()),
        coordinated_(std::move(hooked_), coordinator_, owner.options_.stop_grace_period_secs) {
    if (!owner_.agreement_->is_alone())
      hooked_view_->set_before_savers(
          [this](internal::SaveProposal& save) { owner_.agree_after_step(*this, save); });
  }

  // The coordinator waits for stragglers after the session is closed.
  ~OpenSession() override {
    try {
      close();
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      internal::log_lazily(Severity::kWarning,
                           [&] { return fmt::format("closing a session: {}", describe(error)); });
    }
    internal::try_or_log([] { return "closing a session"; }, [&] { session_.close(); });
  }

  Graph& graph() const override { return session_.graph(); }
  const std::string& target() const override { return session_.target(); }
  FetchValues run(const Fetches& fetches, const Feeds& feeds, const RunOptions& options,
                  RunMetadata* metadata) override {
    internal::RunAgreement& agreement = *owner_.agreement_;
    if (agreement.is_past_the_end()) throw StopIteration();
    try {
      return coordinated_.run(fetches, feeds, options, metadata);
    } catch (...) {
      if (is_end_of_input(std::current_exception())) agreement.end_data(session_);
      throw;
    }
  }
  bool should_stop() override { return coordinated_.should_stop(); }
  void close() override {
    retire();
    try {
      coordinated_.close();
    } catch (...) {
      record_error_of_thread();
      throw;
    }
    session_.close();
  }

  Session& session() { return session_; }
  const internal::HookedSession& hooked() const { return *hooked_view_; }
  Coordinator& coordinator() { return coordinator_; }
  std::optional<int64_t> start_step() const { return start_step_; }
  const std::optional<RestoreReport>& restored() const { return created_.restored; }

 private:
  void record_error_of_thread() noexcept {
    try {
      coordinator_.raise_requested_exception();
    } catch (...) {
      owner_.error_of_thread_ = std::current_exception();
    }
  }
  // Makes the owner forget this object and keep its threads' request to stop.
  void retire() {
    if (owner_.open_session_ != this) return;
    if (auto request = coordinator_.stop_request()) owner_.stop_.request_stop(*std::move(request));
    owner_.open_session_ = nullptr;
  }

  MonitoredSession& owner_;
  CreatedSession created_;
  Session& session_;
  std::optional<int64_t> start_step_;
  Coordinator coordinator_;
  std::unique_ptr<internal::HookedSession> hooked_;
  internal::HookedSession* hooked_view_;
  internal::CoordinatedSession coordinated_;
};

MonitoredSession::MonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                                   MonitoredSessionOptions options)
    : MonitoredSession(std::move(creator), std::move(hooks), std::move(options), Recovery::kOn) {}

MonitoredSession::MonitoredSession(Graph& graph, HookList hooks, MonitoredSessionOptions options)
    : MonitoredSession(std::make_unique<ChiefSessionCreator>(graph), std::move(hooks),
                       std::move(options)) {}

MonitoredSession::MonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                                   MonitoredSessionOptions options, Recovery recovery,
                                   std::shared_ptr<internal::RunAgreement> agreement)
    : creator_(std::move(creator)),
      hooks_(std::move(hooks)),
      options_(std::move(options)),
      agreement_(agreement ? std::move(agreement) : internal::agreement_alone()),
      times_(internal::TimeLedger::of(creator_->graph())),
      recovers_(recovery == Recovery::kOn),
      graph_was_finalized_(creator_->graph().finalized()) {
  internal::check_at_least("stop_grace_period_secs", options_.stop_grace_period_secs, 0);
  agreement_->hold(stop_);
  times_.begin(Clock::or_real(options_.clock));
  try {
    begin_setup();
    begin_hooks();
    register_hook_state();
    create_stack(recovery);
    first_step_ = open_session_->start_step();
    restored_ = open_session_->restored();
  } catch (...) {
    std::rethrow_exception(abort(internal::caught()));
  }
}

MonitoredSession::~MonitoredSession() {
  if (closed_) return;
  if (std::uncaught_exceptions() == 0)  // Otherwise that is the error of the run.
    log_error("the session was destroyed without close(): the run counts as failed");
  abort(destroyed_without_close());
}

void MonitoredSession::create_stack(Recovery recovery) {
  if (recovery == Recovery::kOff) {
    stack_ = create_open_session();
    return;
  }
  internal::RecoveryOptions options{
      .max_recoveries = options_.max_recoveries,
      .can_recover =
          [this] {
            return agreement_->can_recover() && (!options_.can_recover || options_.can_recover());
          },
      .before_recovery =
          [this](const std::exception_ptr& error) {
            begin_setup();
            if (recoverable_ != nullptr) times_.set_lost_step(recoverable_->lost_step());
            if (const auto step = internal::step_to_go_back_to(error)) creator_->go_back_to(*step);
            agreement_->recover(error);
          },
      .start_step = [this] { return open_session_ ? open_session_->start_step().value_or(0) : 0; },
      .clock = options_.clock};
  auto recoverable = std::make_unique<internal::RecoverableSession>(
      [this] { return create_open_session(); }, std::move(options));
  recoverable_ = recoverable.get();
  stack_ = std::move(recoverable);
}

void MonitoredSession::begin_hooks() {
  bool saver_seen = false;
  for (const HookHandle& hook : hooks_) {
    if (saver_seen && hook->place() == HookPlace::kAsGiven)
      log_warning(fmt::format(
          "{} comes after a hook that saves checkpoints: what it finds or changes in a step "
          "is not in that step's checkpoint",
          hook->name()));
    saver_seen = saver_seen || hook->place() == HookPlace::kSaver;
    hook->begin(graph());
    ++num_begun_;
  }
}

void MonitoredSession::register_hook_state() {
  std::map<std::string, int> times_seen;
  for (const HookHandle& hook : hooks_) {
    const SaveableMap saveables = hook->saveables();
    if (saveables.empty()) continue;
    const int count = times_seen[hook->name()]++;
    const std::string owner = count == 0 ? hook->name() : fmt::format("{}_{}", hook->name(), count);
    for (const auto& [key, object] : saveables) {
      const std::string name = fmt::format("hooks/{}/{}", owner, key);
      graph().add_saveable({.name = name, .object = object, .optional = true});
      hook_state_names_.push_back(name);
    }
  }
}

void MonitoredSession::begin_setup() {
  if (!setup_) setup_ = std::make_unique<internal::TimeSpan>(times_, internal::TimeKind::kSetup);
}

std::unique_ptr<internal::WrappedSession> MonitoredSession::create_open_session() {
  error_of_thread_ = nullptr;  // Of an attempt that failed, and is repeated now.
  begin_setup();
  auto open = std::make_unique<OpenSession>(*this);
  start_queue_runners(open->session(), open->coordinator());
  for (const HookHandle& hook : hooks_)
    hook->after_create_session(open->session(), open->coordinator());
  open_session_ = open.get();
  stop_if_finished();
  agreement_->start(open->start_step(), open->hooked().last_step(), own_proposal(*open), stop_);
  stop_.repeat_call();
  setup_.reset();
  return open;
}

void MonitoredSession::agree_after_step(OpenSession& open, internal::SaveProposal& save) {
  const internal::TimeSpan waiting(times_, internal::TimeKind::kWaiting);
  agreement_->after_step(read_global_step(open.session()), own_proposal(open), save, stop_);
}

// A signal is known here before SignalHook, which comes after the savers, reports it.
std::optional<StopRequest> MonitoredSession::own_proposal(OpenSession& open) const {
  if (stop_.proposal()) return stop_.proposal();
  if (const int signal = pending_signal(); signal != 0)
    return StopRequest{"SignalHook", signal_name(signal), signal};
  return open.coordinator().stop_request();
}

// Only an agreed stop ends the loop. A thread's error is thrown here, since this rank cannot make
// another step.
bool MonitoredSession::should_stop_as_agreed() {
  if (open_session_ == nullptr) return true;
  try {
    open_session_->coordinator().raise_requested_exception();
  } catch (...) {
    recover_or_rethrow();
  }
  return stop_.stop_request().has_value();
}

void MonitoredSession::stop_if_finished() {
  const auto stop = [this](StopRequest request) {
    was_finished_ = true;
    stop_.request_stop(std::move(request));
  };
  if (!open_session_->start_step()) return;
  for (const HookHandle& hook : hooks_)
    if (const auto last = hook->last_step(); last && *last <= *open_session_->start_step())
      return stop({hook->name(), fmt::format("step {} has already been reached", *last)});
  if (!options_.ends_if_finished) return;
  for (const HookHandle& hook : hooks_)
    if (const std::optional<StopRequest> reason = hook->finished()) return stop(*reason);
}

FetchValues MonitoredSession::run(const Fetches& fetches, const Feeds& feeds,
                                  const RunOptions& options, RunMetadata* metadata) {
  if (closed_) throw_closed("run");
  const Call call(*this, "run");
  const Repeatable repeatable(*this);
  return stack_->run(fetches, feeds, options, metadata);
}

FetchValues MonitoredSession::run_once(const Fetches& fetches, const Feeds& feeds,
                                       const RunOptions& options, RunMetadata* metadata) {
  if (closed_) throw_closed("run_with_hooks");
  const Call call(*this, "run_with_hooks");
  return recoverable_ != nullptr ? recoverable_->run_once(fetches, feeds, options, metadata)
                                 : stack_->run(fetches, feeds, options, metadata);
}

void MonitoredSession::check_recoverable_is_open() const {
  if (recoverable_ != nullptr) recoverable_->check_open();
}

void MonitoredSession::recover_or_rethrow() {
  if (recoverable_ == nullptr) throw;
  recoverable_->recover_or_rethrow();
}

bool MonitoredSession::is_lost() const {
  return recoverable_ != nullptr && recoverable_->loss() != nullptr;
}

int MonitoredSession::num_recoveries() const {
  return recoverable_ != nullptr ? recoverable_->num_recoveries() : 0;
}

void MonitoredSession::throw_closed(const char* what) const {
  throw FailedPreconditionError(fmt::format("{} on a closed session", what));
}

Session* MonitoredSession::engine_session() const {
  return open_session_ != nullptr ? &open_session_->session() : nullptr;
}

bool MonitoredSession::should_stop() {
  if (closed_) return true;
  if (calling_ != nullptr) return is_stop_requested(*this);
  const Call call(*this, "should_stop");
  return agreement_->is_alone() ? stack_->should_stop() : should_stop_as_agreed();
}

void MonitoredSession::request_stop(std::string reason) {
  request_stop(StopRequest{"the program", std::move(reason)});
}

void MonitoredSession::request_stop(StopRequest request) {
  if (!closed_) stop_.request_stop(std::move(request));
}

std::optional<StopRequest> MonitoredSession::stop_request() const {
  if (stop_.stop_request() || open_session_ == nullptr || !agreement_->is_alone())
    return stop_.stop_request();
  return open_session_->coordinator().stop_request();
}

std::optional<int64_t> MonitoredSession::current_step() {
  return closed_ || open_session_ == nullptr ? closed_at_step_ : step_of(open_session_->session());
}

void MonitoredSession::close() {
  if (closed_) return;
  const Call call(*this, "close");
  if (is_lost()) std::rethrow_exception(end_by(recoverable_->loss()));
  try {
    agreement_->finish([this] { return current_step().value_or(0); }, stop_);
  } catch (...) {
    std::rethrow_exception(end_by(internal::caught()));
  }
  std::exception_ptr first_error;
  const auto attempt = [&first_error](const std::string& what, const auto& action) {
    try {
      action();
    } catch (...) {
      if (first_error) log_error(fmt::format("{}: {}", what, describe(std::current_exception())));
      if (!first_error) first_error = internal::caught();
    }
  };
  for (const HookHandle& hook : hooks_)
    attempt(hook->name() + "::before_end", [&] { hook->before_end(open_session_->session()); });
  for (const HookHandle& hook : hooks_)
    attempt(hook->name() + "::end", [&] { hook->end(open_session_->session()); });
  attempt("closing the session", [&] { closed_at_step_ = current_step(); });
  attempt("closing the session", [&] { stack_->close(); });
  if (first_error)
    agreement_->fail(first_error);
  else
    attempt("ending the group's run", [&] { agreement_->finished(); });
  release();
  if (first_error) std::rethrow_exception(first_error);
}

std::exception_ptr MonitoredSession::cause_of(std::exception_ptr error) const noexcept {
  std::exception_ptr cause = error_of_thread_;
  try {
    if (open_session_ != nullptr) open_session_->coordinator().raise_requested_exception();
  } catch (...) {
    cause = std::current_exception();
  }
  return cause && !(recovers_ && is_preemption(cause)) ? cause : error;
}

std::exception_ptr MonitoredSession::abort(std::exception_ptr error) noexcept {
  if (closed_) return error;
  if (calling_ != nullptr) {
    internal::log_lazily(Severity::kError, [&] {
      return fmt::format("abort was called from within {} of the same session: {}", calling_,
                         describe(error));
    });
    return error;
  }
  const Call call(*this, "abort");
  return end_by(std::move(error));
}

void MonitoredSession::save_last_step() noexcept {
  if (open_session_ == nullptr || !agreement_->is_alone()) return;
  const bool stops = stop_.stop_request() || pending_signal() != 0;
  if (!stops && !options_.saves_on_error) return;
  const char* const reason =
      fails_between_steps_
          ? "the program failed after it, and may have changed the state since then "
            "(EndOptions::save_on_error says that it has not)"
          : open_session_->hooked().reason_not_to_save(stops);
  if (reason != nullptr) {
    internal::log_lazily(Severity::kWarning,
                         [&] { return fmt::format("the last step is not saved: {}", reason); });
    return;
  }
  for (const HookHandle& hook : hooks_)
    internal::try_or_log([&] { return hook->name() + "::before_end"; },
                         [&] { hook->before_end(open_session_->session()); });
}

std::exception_ptr MonitoredSession::end_by(std::exception_ptr error) noexcept {
  const std::exception_ptr first = error;
  error = cause_of(first);
  closed_at_step_ = last_step(error);
  if (open_session_ != nullptr || is_lost())  // Otherwise it has not begun.
    internal::log_lazily(Severity::kError, [&] {
      const std::string after =
          closed_at_step_ ? fmt::format(" after step {}", *closed_at_step_) : "";
      return fmt::format("the run ends{} with an error: {}", after, describe(error));
    });
  save_last_step();
  agreement_->fail(error);
  for (size_t i = 0; i < num_begun_; ++i)
    internal::try_or_log([&] { return hooks_[i]->name() + "::on_error"; },
                         [&] { hooks_[i]->on_error(error); });
  internal::try_or_log([] { return "closing the session"; }, [&] { close_stack(); });
  error = cause_of(first);  // A thread may not have reported its error until it was joined.
  if (error != first)
    internal::log_lazily(Severity::kWarning, [&] {
      return fmt::format("after the error of a thread: {}", describe(first));
    });
  internal::try_or_log([] { return "releasing the graph"; }, [&] { release(); });
  return error;
}

// Unset if the step cannot be read, or if reading it might hang.
std::optional<int64_t> MonitoredSession::last_step(const std::exception_ptr& error) noexcept {
  constexpr std::array<Code, 4> kLost = {Code::kAborted, Code::kCancelled, Code::kDeadlineExceeded,
                                         Code::kUnavailable};
  if (has_code(error, kLost)) return std::nullopt;
  try {
    return current_step();
  } catch (...) {
    return std::nullopt;
  }
}

// What a thread reported is the error of the run, or is known.
void MonitoredSession::close_stack() {
  try {
    if (stack_) stack_->close();
  } catch (...) {
    if (std::current_exception() != error_of_thread_) throw;
  }
}

void MonitoredSession::release() {
  closed_ = true;
  setup_.reset();
  if (recoverable_ == nullptr) stack_.reset();  // A RecoverableSession has already done so.
  for (const std::string& name : hook_state_names_) graph().remove_saveable(name);
  if (!graph_was_finalized_) graph().unfinalize();
}

void internal::run_or_abort(MonitoredSession& session, const std::function<void()>& body) {
  try {
    body();
  } catch (...) {
    if (!is_end_of_input(std::current_exception()))
      std::rethrow_exception(session.abort(internal::caught()));
    if (!session.is_lost()) {
      log_info(fmt::format("the run ends: {}", describe(std::current_exception())));
      if (!session.stop_request()) session.request_stop("the data ended");
    }
  }
}

void run_in_scope(MonitoredSession& session, const std::function<void()>& body) {
  internal::run_or_abort(session, body);
  session.close();
}

}  // namespace crochet::inline v0
