// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/restore_plan.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

// Hooks keep their state under this name; it comes and goes with them.
constexpr std::string_view kHookState = "hooks/";

// The key of an object's entry: "" for the object's own name, "k" for "name/k".
std::optional<std::string> key_within(const std::string& object, const std::string& entry) {
  if (entry == object) return "";
  if (entry.size() > object.size() + 1 && entry.starts_with(object) && entry[object.size()] == '/')
    return entry.substr(object.size() + 1);
  return std::nullopt;
}

// The object that an entry belongs to: of those whose name it starts with, the one with the
// longest. Null if it is a variable's or nobody's.
const RegisteredSaveable* owner_of(const std::string& entry, const Graph& graph) {
  for (const Variable& variable : graph.variables())
    if (variable.name() == entry) return nullptr;
  const RegisteredSaveable* owner = nullptr;
  for (const RegisteredSaveable& object : graph.saveables())
    if (key_within(object.name, entry) &&
        (owner == nullptr || object.name.size() > owner->name.size()))
      owner = &object;
  return owner;
}

}  // namespace

RestorePlan::RestorePlan(const Graph& graph, const CheckpointReader& reader) : reader_(reader) {
  plan_variables(graph);
  plan_objects(graph);
  find_surplus();
  if (!problems_.empty())
    throw InvalidArgumentError("checkpoint {} does not fit this program: {}", reader_.prefix(),
                               fmt::join(problems_, "; "));
}

void RestorePlan::claim(const std::string& name) { claimed_.push_back(name); }

void RestorePlan::plan_variables(const Graph& graph) {
  for (const Variable& variable : graph.variables()) {
    const std::string& name = variable.name();
    const auto found = reader_.tensors().find(name);
    if (found == reader_.tensors().end()) {
      problems_.push_back(fmt::format("\"{}\" ({} {}) is not in the checkpoint", name,
                                      variable.dtype(), variable.shape()));
      continue;
    }
    claim(name);
    const TensorInfo& info = found->second;
    if (info.dtype != variable.dtype() || !info.shape.is_compatible_with(variable.shape())) {
      problems_.push_back(fmt::format("\"{}\" is {} {} in the checkpoint and {} {} in the program",
                                      name, info.dtype, info.shape, variable.dtype(),
                                      variable.shape()));
      continue;
    }
    assignments_.push_back({variable, info.shape, [this, name](std::span<std::byte> destination) {
                              throw_if_signalled("restoring");
                              reader_.read_into(name, destination);
                            }});
  }
}

void RestorePlan::plan_objects(const Graph& graph) {
  std::map<const RegisteredSaveable*, std::vector<std::pair<std::string, std::string>>> keys;
  for (const auto& [name, info] : reader_.tensors())
    if (const RegisteredSaveable* const owner = owner_of(name, graph))
      keys[owner].emplace_back(*key_within(owner->name, name), name);
  for (const RegisteredSaveable& object : graph.saveables()) {
    ObjectPart part{&object, std::move(keys[&object])};
    for (const auto& [key, name] : part.keys) claim(name);
    if (!part.keys.empty()) {
      objects_.push_back(std::move(part));
    } else if (object.optional) {
      log_warning("checkpoint {} has no state of \"{}\"; it starts anew", reader_.prefix(),
                  object.name);
    } else {
      problems_.push_back(fmt::format("\"{}\" is not in the checkpoint", object.name));
    }
  }
}

void RestorePlan::find_surplus() {
  std::ranges::sort(claimed_);
  for (const auto& [name, info] : reader_.tensors()) {
    if (std::ranges::binary_search(claimed_, name)) continue;
    if (name.starts_with(kHookState)) {
      log_warning("checkpoint {}: no hook of this run takes the state \"{}\"", reader_.prefix(),
                  name);
    } else {
      problems_.push_back(
          fmt::format("\"{}\" ({} {}) is not in the program", name, info.dtype, info.shape));
    }
  }
}

void RestorePlan::execute(Session& session) const {
  // Objects are small: read all of them before anything is overwritten.
  std::vector<TensorMap> states;
  for (const ObjectPart& part : objects_) {
    TensorMap& state = states.emplace_back();
    for (const auto& [key, name] : part.keys) state.emplace(key, reader_.read(name));
  }
  session.assign(assignments_);
  for (size_t i = 0; i < objects_.size(); ++i) {
    const RegisteredSaveable& object = *objects_[i].object;
    try {
      object.object->restore(states[i]);
    } catch (const InvalidArgumentError& error) {
      const std::string message = fmt::format("checkpoint {}: \"{}\" cannot be restored: {}",
                                              reader_.prefix(), object.name, error.what());
      if (!object.optional) throw InvalidArgumentError("{}", message);
      log_warning("{}; it starts anew", message);
    }
  }
}

std::vector<std::string> checkpoint_candidates(FileSystem& files, const std::string& directory,
                                               const std::string& basename) {
  if (!files.exists(directory)) return {};
  std::vector<std::string> candidates = list_checkpoints(files, directory, basename);
  if (!candidates.empty()) return candidates;
  for (const std::string& name : files.list(directory))
    if (name.ends_with(".index"))
      throw FailedPreconditionError(
          "{} holds the checkpoint {} and none of the name {}-<step>: restore it by its name, or "
          "use "
          "another directory",
          directory, name.substr(0, name.size() - 6), basename);
  if (const auto state = get_checkpoint_state(files, directory))
    throw DataLossError(
        "{} names the checkpoint {}, which is not there; to start afresh, remove {}",
        join_path(directory, "checkpoint"), state->model_checkpoint_path,
        join_path(directory, "checkpoint"));
  return {};
}

}  // namespace crochet
