// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/scaffold.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// Exactly one of the intervals and exactly one of scaffold and summary_op is set.
struct SummarySaverHookOptions {
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  // Where the summaries go: a directory or a writer.
  std::string output_dir = {};
  std::shared_ptr<SummaryWriter> summary_writer = {};
  // Its summary_op, as finalize() sets it, is fetched.
  std::shared_ptr<Scaffold> scaffold = {};
  // Outputs or names: one, a list, or a map from tag to output. Without a map the tag is the
  // operation's name. An output in the graph's collection "histogram_summaries" or
  // "text_summaries" is written as such; any other is a real number, or a string with an encoded
  // Summary message that has its own tags, as TensorFlow's summary operations return it.
  Fetches summary_op = {};
  // Whether to write once more when the run ends, unless the last step was written or a signal asks
  // the process to end. Requires: the summaries need no feeds.
  bool at_end = false;
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Writes summaries, which TensorBoard shows as curves, histograms and texts, at the first step and
// then periodically, each under the step that is completed when it is written. Omits values that
// are unset in a step, and elements of a histogram that are not finite, with a warning the first
// time.
//
// A session that is resumed or recovered revokes the summaries of the lost steps, and
// writes at its first step again.
class CROCHET_EXPORT SummarySaverHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for conflicting or missing options.
  explicit SummarySaverHook(const SummarySaverHookOptions& options);  // Misspelt? Name the type.

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  bool is_for_chief() const override { return true; }

 private:
  enum class Kind { kNumber, kHistogram, kText, kImage };
  struct Leaf {
    std::string tag;
    Kind kind;
  };

  void record_leaves(const Graph& graph, const Fetches& fetches, const std::string& key);
  // `results` are those of request_.
  void write(const FetchValues& results, int64_t step);
  SummaryValue histogram_of(const std::string& tag, const Tensor& values, int64_t step);

  SummarySaverHookOptions options_;
  SecondOrStepTimer timer_;
  std::shared_ptr<SummaryWriter> writer_;
  Fetches request_;           // The step, and then the leaves.
  std::vector<Leaf> leaves_;  // Of the summaries.
  std::optional<int64_t>
      next_step_;  // The step the next run should complete; unset before the first.
  bool requested_ = false;
  bool warned_of_histogram_ = false;
};

}  // namespace crochet::inline v0
