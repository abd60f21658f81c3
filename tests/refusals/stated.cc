// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Has all valid statements and, if it is defined, an invalid STATEMENT; compiled,
// never run. See refusals.cmake.
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/loop/loop.h"
#include "crochet/training/internal/hooked_session.h"
#include "crochet/training/monitored_session.h"

using namespace crochet;

class PlainHook final : public SessionRunHook {};

struct Model {
  float step_fn(StepContext& context) { return context.run_with_hooks("loss").scalar<float>(); }
};

bool returns_bool();
LoopAction returns_action(Step& step);
float returns_float();

void state(Session& session, MonitoredSession& monitored, Model& model, PlainHook& named_hook,
           StopState& stop, Loop& training) {
#ifdef STATEMENT
  STATEMENT;
#endif
  session.run({"loss", "accuracy"});
  session.run(Fetches::Map{{"loss", "accuracy"}});
  const Tensor& tensor = session.run("loss").tensor();
  const FetchValues& value = session.run({"loss", "accuracy"})[0];
  const Saver two({.var_list = {"v2", "v1"}});
  const Saver renamed({.var_list = {SavedVariable("v2").as("v1")}});
  const HookList list = {PlainHook(), std::make_shared<PlainHook>()};
  monitored.run_step_fn(&Model::step_fn, model);
  static_cast<void>(tensor);
  static_cast<void>(value);
  static_cast<void>(named_hook);
  static_cast<void>(stop);
  static_cast<void>(training);
}
