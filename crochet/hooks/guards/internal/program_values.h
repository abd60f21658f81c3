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

  ProgramValues() = default;
  // Not the state of hooks. Reads all objects.
  ProgramValues(Session& session, Includes includes);

  // Those that there were at first.
  const std::vector<std::string>& names() const { return names_; }

  Copy read(Session& session) const;
  // Requires: all parts of the objects are there.
  void write(Session& session, const Copy& copy) const;

  // Calls `visit(name, value)` for each chosen value, the variables first.
  template <typename Copied, typename Visit>
  void for_each(Copied& copy, const Visit& visit) const {
    for (size_t i = 0; i < copy.variables.size(); ++i)
      visit(variables_[i].name(), copy.variables[i]);
    for (size_t i = 0; i < copy.objects.size(); ++i)
      for (auto& [key, value] : copy.objects[i])
        if (const std::string name = full_name(objects_[i].first, key);
            includes_(name, value.dtype()))
          visit(name, value);
  }

 private:
  Includes includes_;
  std::vector<Variable> variables_;
  std::vector<std::pair<std::string, std::shared_ptr<Saveable>>> objects_;
  std::vector<std::string> names_;
};

}  // namespace crochet::inline v0::internal
