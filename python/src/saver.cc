// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/saver.h"

#include <map>
#include <optional>
#include <set>

#include "crochet/base/error.h"
#include "crochet/c/internal/named_options.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/engines/local/graph.h"
#include "python/src/options_named.h"
#include "python/src/python_state.h"

namespace crochet::python {
namespace {

using Objects = std::vector<std::pair<std::string, nb::object>>;

// A Saver with a graph of what a Python program gives it.
class StateSaver {
 public:
  StateSaver(std::string directory, SaverOptions options)
      : path_(std::move(directory)), saver_(std::move(options)) {
    step_ = graph_.create_global_step();
    session_ = graph_.new_session();
  }

  SaveTicket save(int64_t step, const Objects& objects,
                  const std::map<std::string, double>& metrics) {
    unlocked([&] { internal::SaverAccess::wait_for_turn(saver_, throw_if_signalled); });
    take(objects);
    const nb::gil_scoped_release release;
    const Tensor value = Tensor::scalar(step);
    const Assignment assignment{.variable = step_, .shape = {}, .fill = [&](auto bytes) {
                                  std::ranges::copy(value.bytes(), bytes.begin());
                                }};
    session_->assign({&assignment, 1});
    const std::string path = path_ + "/model.ckpt";
    if (!metrics.empty()) saver_.record_metrics_later(saver_.prefix_of(path, step), metrics);
    last_ = saver_.save_async(*session_, path, step);
    return *last_;
  }

  void wait(std::optional<double> deadline_secs) {
    if (!deadline_secs) wait_for_last();
    unlocked([&] { saver_.wait(deadline_secs); });
  }
  void close(std::optional<double> deadline_secs) {
    if (!deadline_secs) wait_for_last();
    unlocked([&] { saver_.close(deadline_secs); });
  }

  // The step that was restored; unset without a checkpoint.
  std::optional<int64_t> restore(const Objects& objects, const std::optional<std::string>& prefix) {
    take(objects);
    const nb::gil_scoped_release release;
    if (prefix)
      saver_.restore(*session_, *prefix);
    else if (!saver_.restore_newest(*session_, path_, "model.ckpt"))
      return std::nullopt;
    return session_->run(graph_.global_step()).scalar<int64_t>();
  }

  Saver& saver() { return saver_; }

 private:
  // Without a deadline, Ctrl-C is what ends a wait for a disk that does not answer.
  void wait_for_last() const {
    if (last_) wait_until([this] { return last_->finished(); });
  }

  void take(const Objects& objects) {
    std::set<std::string> names;
    for (const auto& [name, value] : objects) {
      if (!names.insert(name).second)
        throw AlreadyExistsError("two values are called \"" + name + "\"");
      if (auto& state = states_[name]) {
        state->set_value(value);
      } else {
        state = std::make_shared<PythonState>(graph_, name, value);
        graph_.saveable(name, state);
      }
    }
    for (auto known = states_.begin(); known != states_.end();) {
      if (names.contains(known->first)) {
        ++known;
        continue;
      }
      graph_.remove_saveable(known->first);
      known = states_.erase(known);
    }
  }

  const std::string path_;
  local::Graph graph_;
  Variable step_;
  std::unique_ptr<Session> session_;
  std::map<std::string, std::shared_ptr<PythonState>> states_;
  Saver saver_;
  std::optional<SaveTicket> last_;
};

SaveStage stage_named(const std::string& name) {
  for (const SaveStage stage :
       {SaveStage::kSnapshotted, SaveStage::kWritten, SaveStage::kDurable, SaveStage::kPublished})
    if (name == save_stage_name(stage)) return stage;
  throw InvalidArgumentError("\"" + name + "\" is not a stage of a save");
}

void wait_for(const SaveTicket& ticket, const std::string& name) {
  const SaveStage stage = stage_named(name);
  wait_until([&] { return ticket.finished() || ticket.stage() >= stage; });
  ticket.wait(stage);  // Throws its error.
}

}  // namespace

LoopOptions options_named(const std::map<std::string, std::string>& given) {
  LoopOptions options;
  for (const auto& [path, text] : given) internal::set_option(options, path, text);
  return options;
}

void bind_saver(nb::module_& module) {
  nb::class_<SaveTicket>(module, "Ticket")
      .def_prop_ro("prefix", [](const SaveTicket& self) { return self.prefix(); })
      .def_prop_ro("location", &SaveTicket::location)
      .def_prop_ro("step", &SaveTicket::step)
      .def_prop_ro("stage", [](const SaveTicket& self) { return save_stage_name(self.stage()); })
      .def_prop_ro("finished", &SaveTicket::finished)
      .def_prop_ro("num_bytes", &SaveTicket::num_bytes)
      .def_prop_ro("shared_bytes", &SaveTicket::shared_bytes)
      .def("seconds", [](const SaveTicket& self,
                         const std::string& stage) { return self.seconds(stage_named(stage)); })
      .def("wait", wait_for, nb::arg("stage") = "published");

  nb::class_<StateSaver>(module, "Saver")
      .def("__init__",
           [](StateSaver* self, const std::string& directory,
              const std::map<std::string, std::string>& options) {
             new (self) StateSaver(directory, options_named(options).checkpoint.saver);
           })
      .def("save", &StateSaver::save)
      .def("restore", &StateSaver::restore, nb::arg("objects"), nb::arg("prefix").none())
      .def("record_metrics",
           [](StateSaver& self, const std::string& prefix,
              const std::map<std::string, double>& metrics) {
             unlocked([&] { self.saver().record_metrics(prefix, metrics); });
           })
      .def("pin",
           [](StateSaver& self, const std::string& prefix, bool pinned) {
             unlocked([&] {
               if (pinned)
                 self.saver().pin(prefix);
               else
                 self.saver().unpin(prefix);
             });
           })
      .def("wait", &StateSaver::wait, nb::arg("deadline_secs").none())
      .def("close", &StateSaver::close, nb::arg("deadline_secs").none());
}

}  // namespace crochet::python
