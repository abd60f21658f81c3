// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// What the system that runs the process announces.
struct PreemptionNotice {
  std::string text = {};  // "the machine is preempted"
  // When the process is ended from outside, in seconds since 1970-01-01 UTC. Unset: it may be soon,
  // so that the state is saved, and the run continues.
  std::optional<double> ends_at = {};
};

// A place where notices arrive.
class CROCHET_EXPORT PreemptionSource {
 public:
  virtual ~PreemptionSource() = default;
  // Called again and again by a thread of the hook's: returns a notice that has arrived since the
  // last call, or nothing after a while, and as soon as `stop` is requested. What it throws is
  // logged, and it is asked again later.
  virtual std::optional<PreemptionNotice> wait(const std::stop_token& stop) = 0;
};

// Notices by a file, such as one that Kubernetes' preStop command makes: the process ends
// `grace_secs` seconds after the time of the file. One that is older than this source, as of
// an earlier process of the same pod, does not count. Requires: `files` and `clock` outlive it; the
// machine's if null.
CROCHET_EXPORT std::shared_ptr<PreemptionSource> preemption_file(std::string path,
                                                                 double grace_secs,
                                                                 FileSystem* files = nullptr,
                                                                 Clock* clock = nullptr);

// Notices by a signal, such as that of Slurm's --signal=USR1@120, for which `grace_secs` is 120.
// Its handler is installed for as long as the source exists. Throws: InvalidArgumentError for a
// signal that cannot be handled; FailedPreconditionError if a hook handles it.
CROCHET_EXPORT std::shared_ptr<PreemptionSource> preemption_signal(int signal, double grace_secs,
                                                                   Clock* clock = nullptr);

// Ends a run before its machine or its process is taken away: saves at the notice, trains on for as
// long as time is left for the last step and the last save, and stops as after SIGTERM, so that the
// launcher starts it again.
//
//   Loop loop({.hooks = {PreemptionHook(preemption_file("/run/crochet/stop", 30)), ...}});
//   Loop loop({.hooks = {PreemptionHook(cloud::aws_preemption()), ...}});  // guards/cloud/.
//
// In a group, each rank watches its own machine, and all end together. The savers know how long a
// save takes only in the chief: a notice of another rank ends the run at once.
class CROCHET_EXPORT PreemptionHook final : public SessionRunHook {
 public:
  // Requires: `clock` outlives this; the machine's if null. Throws: InvalidArgumentError for a null
  // source.
  explicit PreemptionHook(std::shared_ptr<PreemptionSource> source, Clock* clock = nullptr);
  ~PreemptionHook() override;
  PreemptionHook(PreemptionHook&&) noexcept;
  PreemptionHook& operator=(PreemptionHook&&) = delete;

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;

 private:
  class Watch;

  std::shared_ptr<PreemptionSource> source_;
  Clock* clock_;                  // Not owned.
  bool ends_at_once_ = false;     // In another rank than the chief.
  std::unique_ptr<Watch> watch_;  // Between begin and the end.
};

}  // namespace crochet::inline v0
