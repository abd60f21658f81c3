// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/loop/internal/loop_body.h"
#include "crochet/loop/loop_options.h"
#include "crochet/loop/run_report.h"
#include "crochet/loop/step.h"
#include "crochet/session/graph.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

namespace internal {
class LoopState;
// Logs, once, that results may differ between builds.
CROCHET_EXPORT void warn_of_fast_math();
}  // namespace internal

struct AverageOptions {
  // The mean is that of the last n steps. Default: the default interval of curves.
  int64_t steps = 100;
  // The mean is that of the steps of the current epoch instead; of the last one's, at its end. An
  // Epochs must be tracked before.
  bool each_epoch = false;
};

// Adds hooks, checkpoints and resuming to an existing training loop:
//
//   Loop loop({.checkpoint = {.dir = "runs/digits"},
//              .hooks = {StopAtStepHook({.last_step = 2000})}});
//   loop.track("model", model);                            // survives
//   loop.scalar("loss", [&] { return gradients.loss; });   // for hooks, and a curve
//   const RunReport report = loop.run([&] { ... });        // one step
//
// The next run of the program resumes from the last checkpoint of this one, however it ended.
//
// For one thread. Tracked values, and the values that callables use, must outlive run(). Callables
// and hooks must not call the loop: its functions throw a FailedPreconditionError then.
class CROCHET_EXPORT Loop {
 public:
  // Throws: InvalidArgumentError for options that conflict or have no effect, as those for
  // checkpoints without a directory.
  explicit Loop(LoopOptions options);
  // Chosen for options that do not match. Compilers show this line, and no option's name.
  explicit Loop(...) = delete;  // Misspelt option? Loop(LoopOptions{...}) gets its name reported.
  ~Loop();
  Loop(Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Saves and restores `value` under `name`, or "<name>/<part>". See tracker.h for its type. The
  // first Epochs that is tracked, itself or as a part, becomes the curve and value "epoch", unless
  // another value has that name.
  template <typename T>
  void track(std::string_view name, T&& value) {
    tracker()(name, std::forward<T>(value));
  }

  // Adds a real number that hooks may fetch, and a curve. Computed after the step, only
  // in steps in which a hook fetches it. May return a std::optional: empty for no value in this
  // step.
  template <typename Compute>
  void scalar(std::string name, Compute compute) {
    add_value(std::move(name), tensor_of(std::move(compute)), kSummariesCollection);
  }
  // The same for a tensor of any shape; TensorBoard shows the distribution of its elements.
  template <typename Compute>
  void histogram(std::string name, Compute compute) {
    add_value(std::move(name), tensor_of(std::move(compute)), kHistogramSummariesCollection);
  }
  // The same for a text in Markdown, or a vector of strings, shown as a table.
  template <typename Compute>
  void text(std::string name, Compute compute) {
    add_value(std::move(name), tensor_of(std::move(compute)), kTextSummariesCollection);
  }
  // The same for an image: a tensor of uint8 [height, width, channels], with 1 (gray), 3 (RGB) or 4
  // (RGBA) channels. In TensorBoard only.
  template <typename Compute>
  void image(std::string name, Compute compute) {
    add_value(std::move(name), tensor_of(std::move(compute)), kImageSummariesCollection);
  }
  // The same for a tensor of any shape, for hooks only.
  template <typename Compute>
  void value(std::string name, Compute compute) {
    add_value(std::move(name), tensor_of(std::move(compute)), {});
  }

  // The same for the mean of a real number over the last steps, for curves and logs less noisy than
  // the number itself. Computed after every step; a resumed run has the same means. Steps in which
  // it is empty are left out.
  template <typename Compute>
  void average(std::string name, Compute compute, const AverageOptions& options = {}) {
    add_average(std::move(name), tensor_of(std::move(compute)), options);
  }

  // Records with what the run was started, so that runs can be compared: in the journal, for
  // `crochet compare` and `crochet report`, and on TensorBoard's page "HParams", together with the
  // options that differ from the defaults. A number, a bool or a text. It is not tracked.
  //
  //   loop.hyperparameter("learning_rate", 0.1);
  template <typename T>
  void hyperparameter(std::string name, const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      add_hyperparameter({std::move(name), value});
    else if constexpr (std::is_integral_v<T>)
      add_hyperparameter({std::move(name), static_cast<int64_t>(value)});
    else if constexpr (std::is_floating_point_v<T>)
      add_hyperparameter({std::move(name), static_cast<double>(value)});
    else
      add_hyperparameter({std::move(name), std::string(value)});
  }

  void add_hook(HookHandle hook);

  // Restores the newest checkpoint now, for programs that need its state before run(), and
  // returns its step; without one, restores from RestoreOptions::from; returns 0 and changes
  // nothing if there is none. run() then continues from the tracked values as they are when it is
  // called, including changes since restore(), and reads only the step and the state of hooks from
  // that checkpoint. With a group, called by all ranks. Requires: everything is tracked already.
  int64_t restore();

  // Saves the tracked state now, before or after run(), as the checkpoint of the step that was
  // restored (0 without restore()) or with which the run ended; a checkpoint of that step is
  // replaced. Keeps the state of hooks that it had. Returns the checkpoint's prefix once it is
  // published. In a step, use Step::request_save(). With a group, called by all ranks: the chief
  // saves.
  //
  // Throws: FailedPreconditionError without a directory, during run() or after one that failed,
  // if the directory has checkpoints and none was restored, or if another run holds its lock; the
  // file system's error.
  std::string save();

  // Makes steps by calling `body` until a hook, a signal or `body` asks to stop. A save
  // copies the tracked state between two steps. May be called once.
  //
  // The body takes nothing or a Step&, and returns nothing, a LoopAction, or a bool: true to
  // continue, false to stop after this step. A skipped attempt (LoopAction::kSkip) does not count:
  // the body is called again, with the same number, and hooks get no call in between. What it
  // changed stays, such as the position in the data, and is saved with the next step. A request to
  // stop, or a signal, ends the run after a skipped attempt.
  //
  // With a group, a stop that a step requests, or a signal, ends the run after the next step at
  // which the ranks agree, and not after a skipped attempt. If the data of one rank ends earlier,
  // all go back to a checkpoint, and end together at the last step that all have made.
  //
  // A run that the body, an early stopping hook or the last step has ended stays ended: started
  // again, it makes no step, saves nothing, and returns the same reason. A run that a signal, a
  // limit of time or an error ended continues. See EndOptions::continue_finished.
  //
  // An OutOfRangeError or StopIteration from the body ends the run cleanly, at the last completed
  // step: it must be thrown before anything tracked is changed. An AbortedError or UnavailableError
  // restores the last checkpoint and continues. Any other exception ends the run and is rethrown.
  template <typename Body>
  RunReport run(Body body) {
    warn_of_fast_math();
    return run_steps({}, internal::body_of(std::move(body)));
  }
  // The same in two parts: tracked arrays change only in `update`, so that a save copies them
  // while the next `compute` runs. Numbers, generators, objects and containers that
  // can grow may change in either, as may what containers, optionals, variants and pointers own.
  // Only `compute` can skip; then `update` is not called.
  template <typename Compute, typename Update>
  RunReport run(Compute compute, Update update) {
    warn_of_fast_math();
    return run_steps(internal::body_of(std::move(compute)), internal::body_of(std::move(update)));
  }
  // The same while `condition()` is true, which is asked before each step. It is asked again when
  // the program is started again, so that it may have another limit then.
  template <typename Condition, typename Body>
  RunReport run_while(Condition condition, Body body) {
    start();
    while (!should_stop() && condition()) step(body);
    return finish();
  }
  // The same with the batches of an Epochs, or of what has a next() like it: a step calls
  // `body(batch)` or `body(batch, step)`. Ends after its last epoch (EpochsOptions::num_epochs).
  //
  //   loop.track("epochs", epochs);
  //   loop.average("loss", [&] { return loss; }, {.each_epoch = true});
  //   loop.run_epochs(epochs, [&](const auto& batch) { loss = train(batch); });
  //
  // Throws: FailedPreconditionError if no Epochs is tracked: a resumed run would begin with the
  // first one again.
  template <typename Source, typename Body>
  RunReport run_epochs(Source& epochs, Body body) {
    check_epochs_are_tracked();
    return run([&epochs, body = std::move(body)](Step& step) mutable {
      auto&& batch = epochs.next();
      if constexpr (std::is_invocable_v<Body&, decltype(batch), Step&>) {
        return body(batch, step);
      } else {
        return body(batch);
      }
    });
  }

  // For programs whose loop keeps its shape, such as two nested ones: start(), a step() for each
  // step, and finish() are together as run(body).
  //
  //   loop.track("epoch", epoch);
  //   loop.start();
  //   for (; epoch < 10 && !loop.should_stop(); ++epoch)
  //     for (const Batch& batch : batches)
  //       loop.step([&] { loss = train(batch); });
  //   loop.finish();
  //
  // What the program's loop counts is not the loop's step: it is state, to be tracked like any
  // other, or follows from what is. If the program's own code throws between two steps, the run
  // counts as failed once the loop is destroyed.
  //
  // With a group, all ranks make the same steps.

  // Restores the newest checkpoint, or what RestoreOptions::from names, and calls hooks. Returns
  // the step from which the run continues.
  int64_t start() {
    warn_of_fast_math();
    return start_steps();
  }
  // True once the run is to end: no step is made any more.
  bool should_stop() const;
  // Makes a step, with the hooks around it. False once the run has ended; then it does nothing, so
  // that the program's loops may end one after another, and what they count meanwhile is in no
  // checkpoint. The body is that of run(), and may be another one in each step. An error ends the
  // run, as in run().
  template <typename Body>
  bool step(Body&& body) {
    return make_step(internal::body_of(std::ref(body)));
  }
  // Ends the run, with a last checkpoint, unless the last step() has done so because it was to end.
  // If nothing has requested a stop, the program's loop has ended the run; started again, it
  // decides again whether it makes more steps.
  RunReport finish();

 private:
  template <typename Compute>
  static std::function<Tensor()> tensor_of(Compute compute) {
    return [compute = std::move(compute)]() mutable { return to_tensor(compute()); };
  }
  // In the program's own code, which knows how it is compiled.
  static void warn_of_fast_math() {
#ifdef __FAST_MATH__
    internal::warn_of_fast_math();
#endif
  }

  Tracker& tracker();
  void add_hyperparameter(Hyperparameter hyperparameter);
  // `collection` is empty for values that are not summaries.
  void add_value(std::string name, std::function<Tensor()> compute, std::string_view collection);
  void add_average(std::string name, std::function<Tensor()> compute,
                   const AverageOptions& options);
  void check_epochs_are_tracked() const;
  RunReport run_steps(const internal::LoopBody& compute, const internal::LoopBody& update);
  int64_t start_steps();
  bool make_step(const internal::LoopBody& body);

  std::shared_ptr<internal::LoopState> state_;
};

}  // namespace crochet::inline v0
