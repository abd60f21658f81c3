// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Provokes errors and compares their classes and texts with expected.txt.
#include <array>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include <cxxabi.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/profiler_hook.h"
#include "crochet/hooks/progress_bar_hook.h"
#include "crochet/hooks/step_counter_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/hooks/summary_saver_hook.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/memory_file_system.h"

using namespace crochet;

namespace {

// The class with its namespaces, as the message of an uncaught error has it, and the text.
std::string text_of(const std::exception& error) {
  const auto free_name = [](char* name) { std::free(name); };
  const std::unique_ptr<char, decltype(free_name)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, nullptr), free_name);
  return std::string(name.get()) + "\n  what():  " + error.what();
}

// Collects what was done and the error that it led to.
class Texts {
 public:
  template <typename Action>
  void add(const std::string& what, Action action) {
    text_ += what + "\n";
    try {
      action();
      text_ += "  no error\n";
    } catch (const std::exception& error) {
      text_ += "  " + text_of(error) + "\n";
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_intervals(Texts& texts) {
  texts.add("two intervals of a Loop for checkpoints",
            [] { Loop({.checkpoint = {.dir = "run", .every_steps = 10, .every_secs = 2}}); });
  texts.add("two for curves", [] {
    Loop({.checkpoint = {.dir = "run"}, .summaries = {.every_steps = 10, .every_secs = 2}});
  });
  texts.add("two for counting steps",
            [] { Loop({.summaries = {.count_every_steps = 10, .count_every_secs = 2}}); });
  texts.add("a negative one", [] { Loop({.checkpoint = {.dir = "run", .every_secs = -2}}); });
  texts.add("options that have no effect", [] {
    Loop({.checkpoint = {.every_secs = 30, .saver = {.keep_best = KeepBest{"loss", 1}}}});
  });
  texts.add("two values of one name", [] {
    Loop loop(LoopOptions{});
    loop.scalar("loss", [] { return 1.0; });
    loop.value("loss", [] { return 2.0; });
  });
  texts.add("two of CheckpointSaverHook", [] {
    CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 10, .save_secs = 2});
  });
  texts.add("none of CheckpointSaverHook",
            [] { CheckpointSaverHook(CheckpointSaverHookOptions{.checkpoint_dir = "run"}); });
  texts.add("two of SummarySaverHook",
            [] { SummarySaverHook({.save_steps = 10, .save_secs = 2, .summary_op = "loss"}); });
  texts.add("two of StepCounterHook",
            [] { StepCounterHook({.every_n_steps = 10, .every_n_secs = 2}); });
  texts.add("two of LoggingTensorHook", [] {
    LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 10, .every_n_secs = 2});
  });
  texts.add("two of ProfilerHook", [] { ProfilerHook({.save_steps = 10, .save_secs = 2}); });
  texts.add("two of EvaluationHook", [] {
    EvaluationHook(
        {.every_n_steps = 10, .every_n_secs = 2, .evaluate = [](Session&) { return Metrics(); }});
  });
  texts.add("none of every", [] { every({}, "loss", [](int64_t, float) {}); });
}

// A Loop that makes two steps and has a value of the wrong kind.
void run_with(LoopOptions options, FileSystem& files) {
  options.files = &files;
  options.hooks.emplace_back(StopAtStepHook({.last_step = 2}));
  Loop loop(std::move(options));
  float x = 0;
  loop.track("x", x);
  loop.scalar("loss", [] { return std::vector<float>{1, 2}; });
  loop.run([&] { x += 1; });
}

void add_values(Texts& texts) {
  MemoryFileSystem files;
  texts.add("a scalar with two elements, as a curve",
            [&] { run_with({.checkpoint = {.dir = "curve"}}, files); });
  texts.add("in the progress bar",
            [&] { run_with({.hooks = {ProgressBarHook({.values = {"loss"}})}}, files); });
  texts.add("in NanTensorHook", [&] { run_with({.hooks = {NanTensorHook("loss")}}, files); });
  texts.add("in EarlyStoppingHook", [&] {
    run_with({.hooks = {stop_if_no_decrease_hook("loss", 1, {.run_every_steps = 1})}}, files);
  });
  texts.add("in every", [&] {
    run_with({.hooks = {every({.steps = 1}, "loss", [](int64_t, float) {})}}, files);
  });
  texts.add("as the metric of keep_best", [&] {
    run_with({.checkpoint = {.dir = "best",
                             .every_steps = 1,
                             .saver = {.keep_best = KeepBest{"loss", 1}}},
              .summaries = {.every_steps = 0}},
             files);
  });
  texts.add("two scalars of one name", [] {
    Loop loop(LoopOptions{});
    loop.scalar("loss", [] { return 1; });
    loop.scalar("loss", [] { return 2; });
    loop.run([] {});
  });
  texts.add("a scalar without a name", [] {
    Loop loop(LoopOptions{});
    loop.scalar("", [] { return 1; });
    loop.run([] {});
  });
}

void add_loop(Texts& texts) {
  float x = 0;
  std::mt19937 generator;
  texts.add("a name that is tracked twice", [&] {
    Loop loop(LoopOptions{});
    loop.track("x", x);
    loop.track("x", x);
  });
  texts.add("the same for an object and an array", [&] {
    Loop loop(LoopOptions{});
    loop.track("x", x);
    loop.track("x", generator);
  });
  texts.add("the other way round", [&] {
    Loop loop(LoopOptions{});
    loop.track("x", generator);
    loop.track("x", x);
  });
  Loop done({.hooks = {StopAtStepHook({.last_step = 1})}});
  done.run([] {});
  texts.add("a second run", [&] { done.run([] {}); });
  texts.add("a value that is tracked after the run", [&] { done.track("x", x); });
  MemoryFileSystem files;
  Loop outer({.checkpoint = {.dir = "run"}, .files = &files});
  outer.track("x", x);
  texts.add("a second Loop in the directory of a running one", [&] {
    outer.run([&](Step&) {
      Loop inner({.checkpoint = {.dir = "run"}, .files = &files});
      inner.track("x", x);
      inner.run([](Step& step) { step.request_stop("it is done"); });
    });
  });
}

// Runs to `last_step` with a count and a value of this name.
template <typename Value>
void resume_with(const char* name, Value value, RestoreOptions restore, int64_t last_step,
                 FileSystem& files) {
  Loop loop({.checkpoint = {.dir = "run"},
             .restore = std::move(restore),
             .hooks = {StopAtStepHook({.last_step = last_step})},
             .files = &files});
  int64_t count = 0;
  loop.track("count", count);
  loop.track(name, value);
  loop.run([&] { ++count; });
}

void add_restores(Texts& texts) {
  MemoryFileSystem files;
  resume_with("weights", std::vector<float>(3), {}, 10, files);
  texts.add("a checkpoint with another name",
            [&] { resume_with("kernel", std::vector<float>(4), {}, 20, files); });
  texts.add("with another type, where options are set", [&] {
    resume_with("kernel", std::vector<double>(4),
                {.rename = {{"kernel", "weights"}}, .allow_missing = {"momentum"}}, 20, files);
  });
  texts.add("with another size",
            [&] { resume_with("weights", std::array<float, 4>(), {}, 20, files); });
  texts.add("with nothing in common", [&] {
    Loop loop({.checkpoint = {.dir = "run"}, .files = &files});
    std::string text;
    loop.track("text", text);
    loop.run([] {});
  });
  texts.add("in load", [&] {
    double bias = 0;
    load("run", {{"bias", bias}}, &files);
  });
}

std::string read_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  set_log_callback([](Severity, std::string_view) {});
  Texts texts;
  add_loop(texts);
  add_intervals(texts);
  add_values(texts);
  add_restores(texts);
  if (argc > 1 && std::string_view(argv[1]) == "--update") {
    std::ofstream(EXPECTED_TEXTS) << texts.text();
    return 0;
  }
  if (texts.text() == read_text(EXPECTED_TEXTS)) return 0;
  std::cout << "found, other than in " << EXPECTED_TEXTS << ":\n" << texts.text();
  return 1;
}
