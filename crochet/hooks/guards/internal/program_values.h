// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crochet/session/graph.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/session.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// Values of a program's state, chosen by name: variables, and parts of objects. What a container
// has, and hence which values there are, may change between two reads.
class ProgramValues {
 public:
  using Includes = std::function<bool(const std::string& name, DType dtype)>;

  // As read at one time.
  struct Copy {
    std::vector<Tensor> variables;   // In the order of variables_.
    std::vector<TensorMap> objects;  // In the order of objects_. All parts of each.
  };

  // Reads all objects, but for the state of hooks.
  ProgramValues(Session& session, Includes includes);

  // Those that there were at first.
  const std::vector<std::string>& names() const { return names_; }

  // The state of hooks comes along: it has no names here.
  void add_hooks(const Graph& graph);

  Copy read(Session& session) const;
  // Objects that are as in the copy stay as they are. Requires: all parts of the objects are there.
  void write(Session& session, const Copy& copy) const;

  // Replaces all in `to` but the state of hooks.
  void take_named(const Copy& from, Copy& to) const;

  // Calls `visit(name, value)` for each chosen value, the variables first.
  template <typename Copied, typename Visit>
  void for_each(Copied& copy, const Visit& visit) const {
    for (size_t i = 0; i < copy.variables.size(); ++i)
      visit(variables_[i].name(), copy.variables[i]);
    for (size_t i = 0; i < num_named_; ++i)
      for (auto& [key, value] : copy.objects[i])
        if (const std::string name = full_name(objects_[i].first, key);
            includes_(name, value.dtype()))
          visit(name, value);
  }

 private:
  Includes includes_;
  std::vector<Variable> variables_;
  std::vector<std::pair<std::string, std::shared_ptr<Saveable>>> objects_;
  size_t num_named_ = 0;  // The others are hooks'.
  std::vector<std::string> names_;
};

}  // namespace crochet::inline v0::internal
