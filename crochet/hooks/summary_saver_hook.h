// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/monitor/scaffold.h"
#include "crochet/monitor/session_run_hook.h"
#include "crochet/summary/summary_writer.h"

namespace crochet {

// Exactly one of the intervals, and exactly one of scaffold and summary_op, is given.
struct SummarySaverHookOptions {
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  // Where the summaries go: a directory or a writer.
  std::string output_dir = {};
  std::shared_ptr<SummaryWriter> summary_writer = {};
  // Its summary_op is fetched, as finalize() left it.
  std::shared_ptr<Scaffold> scaffold = {};
  // Outputs or names: one, a list, or a map from tag to output. Without a map the tag is the
  // operation's name. An output in the graph's collection "histogram_summaries" or
  // "text_summaries" is one; any other is a real number, or a string that holds an encoded Summary
  // message, as TensorFlow's summary operations give it, with tags of its own.
  Fetches summary_op = {};
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Writes summaries, what TensorBoard shows as curves, histograms and texts, at the first step and
// then periodically, each under the step that is completed when it is written. A value that is
// unset in a step is left out; so are elements of a histogram that are not finite, with a
// warning, the first time.
//
// A session that is resumed or recovered takes back what was written for steps that are lost, and
// writes at its first step again.
class SummarySaverHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for conflicting or missing options.
  explicit SummarySaverHook(const SummarySaverHookOptions& options);

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;

 private:
  enum class Kind { kNumber, kHistogram, kText };
  struct Leaf {
    std::string tag;
    Kind kind;
  };

  void note_leaves(const Graph& graph, const Fetches& fetches, const std::string& key);
  void write(const SessionRunValues& values, int64_t step);
  SummaryValue histogram_of(const std::string& tag, const Tensor& values, int64_t step);

  SummarySaverHookOptions options_;
  SecondOrStepTimer timer_;
  std::shared_ptr<SummaryWriter> writer_;
  Output step_;
  Fetches request_;           // {step, summaries}.
  std::vector<Leaf> leaves_;  // Of the summaries.
  std::optional<int64_t>
      next_step_;  // What the coming run should complete; unset before the first.
  bool requested_ = false;
  bool warned_of_histogram_ = false;
};

}  // namespace crochet
