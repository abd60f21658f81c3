// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/program_values.h"

#include <cstring>
#include <span>

namespace crochet::inline v0::internal {

ProgramValues::ProgramValues(Session& session, Includes includes) : includes_(std::move(includes)) {
  for (const Variable& variable : session.graph().variables()) {
    if (!includes_(variable.name(), variable.dtype())) continue;
    variables_.push_back(variable);
    names_.push_back(variable.name());
  }
  for (const RegisteredSaveable& saveable : session.graph().saveables()) {
    if (saveable.optional) continue;
    const size_t num_before = names_.size();
    for (const auto& [key, value] : saveable.object->save())
      if (std::string name = full_name(saveable.name, key); includes_(name, value.dtype()))
        names_.push_back(std::move(name));
    if (names_.size() > num_before) objects_.emplace_back(saveable.name, saveable.object);
  }
  num_named_ = objects_.size();
}

void ProgramValues::add_hooks(const Graph& graph) {
  for (const RegisteredSaveable& saveable : graph.saveables())
    if (saveable.optional) objects_.emplace_back(saveable.name, saveable.object);
}

ProgramValues::Copy ProgramValues::read(Session& session) const {
  Copy copy;
  const Snapshot snapshot = session.snapshot(variables_);
  for (const NamedTensor& each : snapshot.tensors()) copy.variables.push_back(each.tensor);
  for (const auto& [name, object] : objects_) copy.objects.push_back(object->save());
  return copy;
}

void ProgramValues::take_named(const Copy& from, Copy& to) const {
  to.variables = from.variables;
  for (size_t i = 0; i < num_named_; ++i) to.objects[i] = from.objects[i];
}

void ProgramValues::write(Session& session, const Copy& copy) const {
  std::vector<Assignment> assignments;
  for (size_t i = 0; i < copy.variables.size(); ++i) {
    const Tensor& value = copy.variables[i];
    assignments.push_back({.variable = variables_[i],
                           .shape = value.shape(),
                           .fill =
                               [&value](std::span<std::byte> memory) {
                                 std::memcpy(memory.data(), value.bytes().data(), memory.size());
                               },
                           .strings = [&value] { return value; }});
  }
  // Also without variables: it waits until no snapshot copies what is going to change.
  session.assign(assignments);
  for (size_t i = 0; i < copy.objects.size(); ++i) {
    Saveable& object = *objects_[i].second;
    if (object.save() != copy.objects[i]) object.restore(copy.objects[i]);
  }
}

}  // namespace crochet::inline v0::internal
