// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/session.h"
#include "crochet/io/file_system.h"

namespace crochet::tensorflow {

// The graphs of tests/golden/tensorflow/make_graphs.py.
inline std::string golden_path(const std::string& name) {
  return fmt::format("{}/{}.meta", TENSORFLOW_GRAPHS, name);
}
inline std::string golden_bytes(const std::string& name) {
  return read_file(FileSystem::posix(), golden_path(name));
}

// A graph with a session whose variables have their initial values.
struct InitializedGraph {
  explicit InitializedGraph(const std::string& name)
      : graph(Graph::import_meta_graph(golden_path(name))) {
    init = graph.default_init_op();
    local_init = graph.default_local_init_op();
    session = new_session();
  }
  std::unique_ptr<crochet::Session> new_session(const SessionConfig& config = {}) {
    std::unique_ptr<crochet::Session> session = graph.new_session("", config);
    session->run(init);
    if (local_init) session->run(local_init);
    return session;
  }
  Variable variable(const std::string& name) const {
    for (const Variable& variable : graph.variables())
      if (variable.name() == name) return variable;
    throw NotFoundError("the graph has no variable \"{}\"", name);
  }
  Tensor value(const std::string& name) {
    return session->snapshot({{variable(name)}}).tensors().at(0).tensor;
  }

  Graph graph;
  Output init;
  Output local_init;
  std::unique_ptr<crochet::Session> session;
};

// An assignment of this value.
inline Assignment assignment(const Variable& variable, const Tensor& value) {
  return {.variable = variable,
          .shape = value.shape(),
          .fill =
              [value](std::span<std::byte> to) {
                std::copy_n(value.bytes().data(), to.size(), to.data());
              },
          .strings = [value] { return value; }};
}

}  // namespace crochet::tensorflow
