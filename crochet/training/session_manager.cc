// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/session_manager.h"

#include <string_view>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet::inline v0 {
namespace {

// An error of closing must not hide why the session is discarded.
void discard(Session& session) {
  try {
    session.close();
  } catch (...) {
    log_warning(fmt::format("closing an unused session: {}", describe(std::current_exception())));
  }
}

// Calls `prepare`; if it throws, the session is closed.
template <typename Prepare>
void prepare_or_discard(Session& session, const Prepare& prepare) {
  try {
    prepare();
  } catch (...) {
    discard(session);
    throw;
  }
}

void append_uninitialized(const FetchValues& values, std::vector<std::string>& names) {
  if (const FetchValues::List* const list = values.as_list())
    for (const FetchValues& value : *list) append_uninitialized(value, names);
  if (const FetchValues::Map* const map = values.as_map())
    for (const auto& [key, value] : *map) append_uninitialized(value, names);
  const Tensor* const tensor = values.as_tensor();
  if (tensor == nullptr || tensor->num_elements() == 0 || tensor->dtype() == DType::kInt32) return;
  if (tensor->dtype() == DType::kString)
    names.insert(names.end(), tensor->strings().begin(), tensor->strings().end());
  else
    names.push_back(fmt::format("({})", describe(*tensor)));
}

constexpr std::string_view kForLocalInit = " for local_init";

// Throws: FailedPreconditionError if there is an obstacle.
void require_none(const std::optional<std::string>& obstacle, std::string_view purpose = "") {
  if (obstacle)
    throw FailedPreconditionError(
        fmt::format("Init operations did not make model ready{}: {}", purpose, *obstacle));
}

}  // namespace

void check_options(const RecoverSessionOptions& options) {
  if (!options.checkpoint_dir.empty() && !options.checkpoint_filename_with_path.empty())
    throw InvalidArgumentError(fmt::format(
        "checkpoint_dir is \"{}\" and checkpoint_filename_with_path \"{}\"; at most one of them "
        "may be given",
        options.checkpoint_dir, options.checkpoint_filename_with_path));
  internal::check_at_least("max_wait_secs", options.max_wait_secs, 0);
}

SessionManager::SessionManager(Graph& graph, SessionManagerOptions options)
    : graph_(graph), options_(std::move(options)), clock_(Clock::or_real(options_.clock)) {
  if (!options_.ready_for_local_init_op.empty() && options_.local_init_op.empty())
    throw InvalidArgumentError(
        "If you pass a ready_for_local_init_op you must also pass a local_init_op");
  internal::check_above("recovery_wait_secs", options_.recovery_wait_secs, 0);
}

CreatedSession SessionManager::prepare_session(const PrepareSessionOptions& options) {
  check_options(options.session);
  std::unique_ptr<Session> session =
      graph_.new_session(options.session.master, options.session.config);
  Restored restored;
  prepare_or_discard(*session, [&] {
    restored = restore(*session, options.session);
    if (!restored.report) {
      if (!options.session.checkpoint_dir.empty())
        log_info(
            fmt::format("{} holds no checkpoint: starting afresh", options.session.checkpoint_dir));
      initialize(*session, options);
    }
    if (!restored.is_initialized_locally) require_none(initialize_locally(*session), kForLocalInit);
    require_none(obstacle(*session, options_.ready_op));
  });
  return {std::move(session), std::move(restored.report)};
}

RecoveredSession SessionManager::recover_session(const RecoverSessionOptions& options) {
  check_options(options);
  std::unique_ptr<Session> session = graph_.new_session(options.master, options.config);
  Restored restored;
  bool initialized = false;
  prepare_or_discard(*session, [&] {
    Obstacle found;
    restored = restore(*session, options);
    if (!restored.is_initialized_locally) found = initialize_locally(*session);
    if (!found && restored.report) found = obstacle(*session, options_.ready_op);
    initialized = restored.report && !found;
    if (restored.report && found)
      log_info(fmt::format("{} was restored, but the model is not ready: {}",
                           restored.report->prefix, *found));
  });
  return {{std::move(session), std::move(restored.report)}, initialized};
}

std::unique_ptr<Session> SessionManager::wait_for_session(const WaitForSessionOptions& options) {
  internal::check_at_least("max_wait_secs", options.max_wait_secs, 0);
  const Clock::TimePoint start = clock_.now();
  while (true) {
    std::unique_ptr<Session> session = graph_.new_session(options.master, options.config);
    Obstacle found;
    prepare_or_discard(*session, [&] {
      found = initialize_locally(*session);
      if (!found) found = obstacle(*session, options_.ready_op);
    });
    if (!found) return session;
    discard(*session);
    const double waited = to_seconds(clock_.now() - start);
    if (waited + options_.recovery_wait_secs > options.max_wait_secs)
      throw DeadlineExceededError(fmt::format("Session was not ready after waiting {} secs: {}",
                                              options.max_wait_secs, *found));
    log_info(fmt::format("waiting until the model is ready: {}", *found));
    wait("waiting until the model is ready");
  }
}

SessionManager::Restored SessionManager::restore(Session& session,
                                                 const RecoverSessionOptions& options) {
  bool is_initialized_locally = false;
  const auto initialize = [&] {
    require_none(initialize_locally(session), kForLocalInit);
    is_initialized_locally = true;
  };
  const auto attempt = [&]() -> std::optional<RestoreReport> {
    if (options.restore) return options.restore(session, initialize);
    if (!options.saver) return std::nullopt;
    if (const std::string& prefix = options.checkpoint_filename_with_path; !prefix.empty())
      return options.saver->resume(session, prefix, initialize);
    if (options.checkpoint_dir.empty()) return std::nullopt;
    return options.saver->restore_newest(session, options.checkpoint_dir,
                                         options.checkpoint_basename, initialize);
  };
  const Clock::TimePoint start = clock_.now();
  std::optional<RestoreReport> report = attempt();
  while (!report && options.wait_for_checkpoint && options.saver &&
         !options.checkpoint_dir.empty() &&
         to_seconds(clock_.now() - start) < options.max_wait_secs) {
    log_info(fmt::format("waiting for a checkpoint in {}", options.checkpoint_dir));
    wait("waiting for a checkpoint");
    report = attempt();
  }
  if (report && !options.restore) log_info(fmt::format("restored {}", report->prefix));
  return {std::move(report), is_initialized_locally};
}

void SessionManager::initialize(Session& session, const PrepareSessionOptions& options) {
  if (!graph_.starts_initialized() && options.init_op.empty() && !options.init_fn &&
      options_.local_init_op.empty())
    throw FailedPreconditionError(
        "Model is not initialized and no init_op or init_fn or local_init_op was given");
  if (!options.init_op.empty()) session.run(options.init_op, options.init_feed_dict);
  if (options.init_fn) options.init_fn(session);
}

SessionManager::Obstacle SessionManager::initialize_locally(Session& session) {
  if (options_.local_init_op.empty()) return std::nullopt;
  if (Obstacle found = obstacle(session, options_.ready_for_local_init_op)) return found;
  session.run(options_.local_init_op, options_.local_init_feed_dict,
              options_.local_init_run_options);
  return std::nullopt;
}

SessionManager::Obstacle SessionManager::obstacle(Session& session, const Fetches& ready_op) {
  if (ready_op.empty()) return std::nullopt;
  std::vector<std::string> names;
  try {
    append_uninitialized(session.run(ready_op), names);
  } catch (const FailedPreconditionError& error) {
    if (std::string_view(error.what()).find("uninitialized") == std::string_view::npos) {
      log_warning(fmt::format("checking whether the model is ready: {}", error.what()));
      throw;
    }
    return error.what();
  }
  if (names.empty()) return std::nullopt;
  return fmt::format("Variables not initialized: {}", fmt::join(names, ", "));
}

void SessionManager::wait(const char* what) {
  sleep_unless_signalled(clock_, from_seconds(options_.recovery_wait_secs));
  throw_if_signalled(what);
}

}  // namespace crochet::inline v0
