// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/session.h"
#include "crochet/io/file_system.h"

namespace crochet::tensorflow {

// The graphs of tests/golden/tensorflow.
inline std::string golden_path(const std::string& name) {
  return fmt::format("{}/{}.meta", TENSORFLOW_GRAPHS, name);
}
inline std::string golden_bytes(const std::string& name) {
  return read_file(FileSystem::posix(), golden_path(name));
}
inline Graph import_golden(const std::string& name) {
  return Graph::import_meta_graph(golden_path(name));
}

inline Variable variable_of(const crochet::Graph& graph, const std::string& name) {
  for (const Variable& variable : graph.variables())
    if (variable.name() == name) return variable;
  throw NotFoundError(fmt::format("the graph has no variable \"{}\"", name));
}

inline Tensor value_of(crochet::Session& session, const Variable& variable) {
  return session.snapshot({{variable}}).tensors().at(0).tensor;
}
inline Tensor value_of(crochet::Session& session, const std::string& name) {
  return value_of(session, variable_of(session.graph(), name));
}

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
inline void assign(crochet::Session& session, const std::string& name, const Tensor& value) {
  const Assignment one = assignment(variable_of(session.graph(), name), value);
  session.assign({&one, 1});
}

// A graph with a session whose variables have their initial values.
struct InitializedGraph {
  explicit InitializedGraph(const std::string& name) : graph(import_golden(name)) {
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
  Variable variable(const std::string& name) const { return variable_of(graph, name); }
  Tensor value(const std::string& name) const { return value_of(*session, name); }

  Graph graph;
  Output init;
  Output local_init;
  std::unique_ptr<crochet::Session> session;
};

// The same for a built graph. Call it once if the graph has variables: it adds their init
// operation.
inline std::unique_ptr<crochet::Session> initialized_session(Graph& graph) {
  const Output init = graph.default_init_op();
  const Output local_init = graph.default_local_init_op();
  std::unique_ptr<crochet::Session> session = graph.new_session("");
  if (init) session->run(init);
  if (local_init) session->run(local_init);
  return session;
}

inline double cpu_secs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The CPU time of other threads during 500 calls of `step`, relative to that of this one.
template <typename Step>
double share_of_other_threads(const Step& step) {
  const double all = cpu_secs(CLOCK_PROCESS_CPUTIME_ID), own = cpu_secs(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 500; ++i) step();
  const double own_secs = cpu_secs(CLOCK_THREAD_CPUTIME_ID) - own;
  const double all_secs = cpu_secs(CLOCK_PROCESS_CPUTIME_ID) - all;
  return all_secs / own_secs - 1;
}

// The bytes with every `from` replaced, for files with missing names.
inline std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + to.size()))
    bytes.replace(at, from.size(), to);
  return bytes;
}

// Calls `use` with copies of the bytes, each with one byte changed.
template <typename Use>
void for_each_flip(const std::string& good, const Use& use) {
  for (size_t i = 0; i < good.size(); ++i)
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      use(bytes);
    }
}

}  // namespace crochet::tensorflow
