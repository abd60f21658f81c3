// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "crochet/c/internal/named_options.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "python/src/bindings.h"
#include "python/src/hook_handle.h"

namespace crochet::python {
namespace {

// A hook that is an object of Python: crochet.Hook.
class PythonHook final : public SessionRunHook {
 public:
  PythonHook(nb::object hook, std::vector<std::string> values, std::string name)
      : hook_(kept(std::move(hook))), names_(std::move(values)), name_(std::move(name)) {}

  void after_create_session(Session& session, Coordinator&) override {
    const int64_t step = read_global_step(session);
    call([&] { hook_->attr("begin")(step); });
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    context.request_global_step();
    return SessionRunArgs{.fetches = Fetches(Fetches::List(names_.begin(), names_.end()))};
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    const int64_t step = context.global_step() + 1;
    call([&] {
      nb::dict numbers;
      for (size_t i = 0; i < names_.size(); ++i) {
        const Tensor* const value = values.results[i].as_tensor();
        numbers[names_[i].c_str()] =
            value != nullptr && value->is_set() ? nb::cast(value->to_double()) : nb::none();
      }
      const nb::object reason = hook_->attr("after_step")(step, numbers);
      if (nb::isinstance<nb::str>(reason)) context.request_stop(nb::cast<std::string>(reason));
    });
  }
  void end(Session& session) override {
    const int64_t step = read_global_step(session);
    call([&] { hook_->attr("end")(step); });
  }
  std::string name() const override { return name_; }

 private:
  template <typename Call>
  static void call(const Call& call) {
    const nb::gil_scoped_acquire acquire;
    call();
  }

  const std::shared_ptr<nb::object> hook_;
  const std::vector<std::string> names_;
  const std::string name_;
};

template <typename Hook>
HeldHook held(Hook hook) {
  return {HookHandle(std::move(hook))};
}

EarlyStoppingHook early_stopping(const std::string& metric, const std::string& better,
                                 int64_t max_steps, int64_t min_steps, int64_t every_steps) {
  if (better != "higher" && better != "lower")
    throw InvalidArgumentError("EarlyStoppingHook: found better=\"" + better +
                               "\", expected \"higher\" or \"lower\"");
  using Direction = EarlyStoppingHook::Direction;
  return {EarlyStoppingMetric(metric),
          EarlyStoppingHook::Patience{
              .better = better == "higher" ? Direction::kHigher : Direction::kLower,
              .max_steps = max_steps},
          {.min_steps = min_steps, .run_every_steps = every_steps}};
}

}  // namespace

void bind_hooks(nb::module_& module) {
  nb::class_<HeldHook>(module, "HeldHook");
  module.def("python_hook", [](nb::object hook, std::vector<std::string> values, std::string name) {
    return held(PythonHook(std::move(hook), std::move(values), std::move(name)));
  });
  module.def("named_hook", [](const std::string& name, const std::string& argument) {
    return HeldHook{internal::named_hook(name, argument)};
  });
  module.def("nan_tensor_hook", [](const std::string& loss, bool fail) {
    return held(NanTensorHook(loss, {.fail_on_nan_loss = fail}));
  });
  module.def(
      "logging_tensor_hook",
      [](const std::vector<std::string>& names, std::optional<int64_t> every_steps,
         std::optional<double> every_secs, bool at_end) {
        return held(LoggingTensorHook({.tensors = {names.begin(), names.end()},
                                       .every_n_iter = every_steps,
                                       .every_n_secs = every_secs,
                                       .at_end = at_end}));
      },
      nb::arg("values"), nb::arg("every_steps").none(), nb::arg("every_secs").none(),
      nb::arg("at_end"));
  module.def("early_stopping_hook", [](const std::string& metric, const std::string& better,
                                       int64_t max_steps, int64_t min_steps, int64_t every_steps) {
    return held(early_stopping(metric, better, max_steps, min_steps, every_steps));
  });
}

}  // namespace crochet::python
