// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/session/graph.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/checkpoint_contents.h"

namespace crochet::inline v0::internal {

// For tests: a graph whose whole state follows from the step. One value is large, and the same in
// all steps.
class StepState {
 public:
  // Large enough for checkpoints to share it.
  static constexpr size_t kFrozen = size_t{16} << 10;

  StepState() {
    for (const auto& [name, value] : at(0))
      if (name != "global_step") graph.variable(name, value);
    graph.set_meta_graph("a graph");
  }

  // The content of an intact checkpoint of a step.
  static TensorMap at(int64_t step) {
    return {
        {"frozen", Tensor::from<float>(std::vector<float>(kFrozen, 0.5F))},
        {"global_step", Tensor::scalar<int64_t>(step)},
        {"text", Tensor::from({fmt::format("step {}", step), std::string()})},
        {"w", Tensor::from<float>(std::vector<float>(100, static_cast<float>(step)))},
        {"x", Tensor::from<double>(std::vector<double>(15, static_cast<double>(-step)), {3, 5})}};
  }

  // Makes one step.
  void advance(Session& session) const {
    session.run(graph.train());
    follow(session);
  }

  // Sets the state to that of the session's step.
  void follow(Session& session) const {
    const TensorMap state = at(read_global_step(session));
    std::vector<Assignment> assignments;
    for (const Variable& variable : graph.variables()) {
      if (variable.name() == "global_step" || variable.name() == "frozen") continue;
      const Tensor& value = state.at(variable.name());
      Assignment assignment{.variable = variable, .shape = value.shape()};
      if (value.dtype() == DType::kString)
        assignment.strings = [value] { return value; };
      else
        assignment.fill = [value](std::span<std::byte> memory) {
          std::ranges::copy(value.bytes(), memory.begin());
        };
      assignments.push_back(std::move(assignment));
    }
    session.assign(assignments);
  }

  // True if all values are those of the session's step.
  bool is_of_one_step(Session& session) const {
    TensorMap state;
    const Snapshot snapshot = session.snapshot(graph.variables());
    for (const auto& [name, tensor] : snapshot.tensors()) state[name] = tensor;
    return state == at(read_global_step(session));
  }

  ScriptedGraph graph;
};

// True if a checkpoint has every bit of the state of its step. Throws: errors of reading it.
inline bool is_bit_equal(FileSystem& files, const std::string& prefix, int64_t step) {
  const CheckpointReader reader(prefix, files);
  reader.verify();
  return read_all(reader) == StepState::at(step);
}

}  // namespace crochet::inline v0::internal
