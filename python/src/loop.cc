// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/loop.h"

#include <map>
#include <memory>
#include <optional>

#include "python/src/hook_handle.h"
#include "python/src/options_named.h"
#include "python/src/python_state.h"

namespace crochet::python {
namespace {

LoopOptions loop_options(const std::string& directory,
                         const std::map<std::string, std::string>& given,
                         const std::vector<HeldHook>& hooks) {
  LoopOptions options = options_named(given);
  options.checkpoint.dir = directory;
  for (const HeldHook& each : hooks) options.hooks.push_back(each.hook);
  return options;
}

Tensor tensor_of(const nb::object& value) {
  if (value.is_none()) return {};
  return Tensor::scalar(nb::cast<double>(nb::float_(value)));
}

// A Loop that is driven from outside of its steps: what the program does between two calls of
// end_step() is the step.
class SteppedLoop {
 public:
  SteppedLoop(const std::string& directory, const std::map<std::string, std::string>& options,
              const std::vector<HeldHook>& hooks)
      : loop_(loop_options(directory, options, hooks)) {}

  void track(const std::string& name, nb::object value) {
    TrackedObject tracked{std::move(value)};
    loop_.track(name, tracked);
  }
  void scalar(const std::string& name, nb::object compute) {
    loop_.scalar(name, [compute = kept(std::move(compute))] {
      const nb::gil_scoped_acquire acquire;
      return tensor_of((*compute)());
    });
  }
  void hyperparameter(const std::string& name, const nb::object& value) {
    if (nb::isinstance<nb::bool_>(value))
      loop_.hyperparameter(name, nb::cast<bool>(value));
    else if (nb::isinstance<nb::int_>(value))
      loop_.hyperparameter(name, nb::cast<int64_t>(value));
    else if (nb::isinstance<nb::float_>(value))
      loop_.hyperparameter(name, nb::cast<double>(value));
    else
      loop_.hyperparameter(name, nb::cast<std::string>(nb::str(value)));
  }

  int64_t start() {
    return unlocked([&] { return loop_.start(); });
  }
  bool should_stop() const { return loop_.should_stop(); }
  bool end_step(const std::optional<std::string>& stop, const std::optional<std::string>& save) {
    return unlocked([&] {
      return loop_.step([&](Step& step) {
        if (stop) step.request_stop(*stop);
        if (save) step.request_save(*save);
      });
    });
  }
  nb::dict finish() {
    const RunReport report = unlocked([&] { return loop_.finish(); });
    nb::dict result;
    result["first_step"] = report.first_step;
    result["last_step"] = report.last_step;
    result["resumed_from"] = report.resumed_from;
    result["reason"] = report.stop.reason;
    result["saves"] = report.saves;
    result["failed_saves"] = report.failed_saves;
    result["signal"] = report.signal;
    result["exit_code"] = report.exit_code();
    result["text"] = to_string(report);
    return result;
  }

 private:
  Loop loop_;
};

}  // namespace

void bind_loop(nb::module_& module) {
  nb::class_<SteppedLoop>(module, "Loop")
      .def(nb::init<const std::string&, const std::map<std::string, std::string>&,
                    const std::vector<HeldHook>&>())
      .def("track", &SteppedLoop::track)
      .def("scalar", &SteppedLoop::scalar)
      .def("hyperparameter", &SteppedLoop::hyperparameter)
      .def("start", &SteppedLoop::start)
      .def("should_stop", &SteppedLoop::should_stop)
      .def("end_step", &SteppedLoop::end_step, nb::arg("stop").none(), nb::arg("save").none())
      .def("finish", &SteppedLoop::finish);
}

}  // namespace crochet::python
