// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/restore_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/file/checkpoint_pass.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0 {
namespace {

// The prefix of the state of hooks, which may differ from run to run.
constexpr std::string_view kHookState = "hooks/";

using internal::VariableSelection;

// Finds the owner of an entry in the file: a variable, or, among the objects whose key is a prefix
// of the entry, the one with the longest key.
class Owners {
 public:
  Owners(const Graph& graph, const VariableSelection& selection)
      : graph_(graph), selection_(selection) {
    for (const RegisteredSaveable& object : graph.saveables())
      objects_.emplace(selection.place_of(object.name).key, &object);
  }

  // Null for the entry of a variable or without an owner; otherwise the object, and the entry's key
  // within it.
  const RegisteredSaveable* object_of(const std::string& entry, std::string& key) {
    if (objects_.empty()) return nullptr;
    std::string_view owner = entry;
    while (true) {
      if (const auto found = objects_.find(owner); found != objects_.end()) {
        if (is_variable(entry)) return nullptr;
        key = entry.substr(std::min(owner.size() + 1, entry.size()));
        return found->second;
      }
      const size_t slash = owner.rfind('/');
      if (slash == std::string_view::npos) return nullptr;
      owner = owner.substr(0, slash);
    }
  }

 private:
  // Few entries need this check, and in programs with many variables usually none.
  bool is_variable(const std::string& entry) {
    if (variables_.empty())
      for (const Variable& variable : graph_.variables())
        variables_.insert(selection_.place_of(variable.name()).key);
    return variables_.contains(entry);
  }

  const Graph& graph_;
  const VariableSelection& selection_;
  std::map<std::string, const RegisteredSaveable*, std::less<>> objects_;
  std::unordered_set<std::string> variables_;  // Filled when it is needed.
};

// The shape that the checkpoint has for a variable, which may be a slice.
Shape stored_shape(const TensorInfo& info, const VariableSelection::Place& place) {
  if (place.slice == nullptr) return info.shape;
  return internal::shape_of(internal::resolved(place.slice->slice, place.slice->full_shape));
}

bool can_be_reshaped(const Shape& from, const Shape& to) {
  return to.is_fully_known() && from.num_elements() == to.num_elements();
}

// How to restore the tensors of one checkpoint to one graph.
class RestorePlan {
 public:
  // Checks all names, types and shapes. Throws: an error that lists all mismatches.
  RestorePlan(const Graph& graph, const CheckpointReader& reader,
              const VariableSelection& selection, const RestoreRules& rules)
      : graph_(graph), reader_(reader), selection_(selection), rules_(rules) {
    report_.prefix = reader.prefix();
    const VariableSelection::Selected selected = selection.select(graph);
    for (const Variable& variable : selected.variables) plan_variable(variable);
    plan_objects(selected.objects);
    find_surplus();
    throw_if_problems();
  }

  RestoreReport execute(Session& session, StateOperations* operations) {
    // Objects are small: all are read before anything is overwritten.
    const std::vector<TensorMap> states = read_objects();
    if (operations != nullptr)
      run(*operations, session);
    else
      assign_variables(session);
    for (size_t i = 0; i < objects_.size(); ++i) {
      const RegisteredSaveable& object = *objects_[i].object;
      try {
        object.object->restore(states[i]);
      } catch (const InvalidArgumentError& error) {
        const std::string message = fmt::format("checkpoint {}: \"{}\" cannot be restored: {}",
                                                reader_.prefix(), object.name, error.what());
        if (!object.optional) throw InvalidArgumentError(message);
        log_warning(fmt::format("{}; it starts afresh", message));
        std::erase(report_.restored, object.name);
        report_.renamed.erase(object.name);
        report_.missing.push_back(object.name);
      }
    }
    return std::move(report_);
  }

 private:
  struct VariablePart {
    Variable variable;
    Shape shape;  // Of the value assigned to it.
  };
  struct ObjectPart {
    const RegisteredSaveable* object;
    std::vector<std::pair<std::string, std::string>> keys;  // Key of the object, name in the file.
  };

  void plan_variable(const Variable& variable) {
    const std::string& name = variable.name();
    const VariableSelection::Place place = selection_.place_of(name);
    const auto found = reader_.tensors().find(place.key);
    if (found == reader_.tensors().end())
      return note_missing(name,
                          fmt::format("Key {} not found in checkpoint, where the program has {} {}",
                                      place.key, variable.dtype(), variable.shape()),
                          !rules_.allow_missing);
    used_.push_back(found->first);
    const TensorInfo& info = found->second;
    if (info.dtype != variable.dtype())
      return problems_.push_back(fmt::format(
          "\"{}\" is {} {} in the checkpoint and {} {} in the program, which is not the "
          "original dtype",
          name, info.dtype, info.shape, variable.dtype(), variable.shape()));
    if (place.slice != nullptr && place.slice->full_shape != info.shape)
      return problems_.push_back(
          fmt::format("\"{}\" is a slice of {}, but \"{}\" is {} in the checkpoint", name,
                      place.slice->full_shape, place.key, info.shape));
    Shape shape = stored_shape(info, place);
    if (!shape.is_compatible_with(variable.shape())) {
      if (!rules_.reshape || !can_be_reshaped(shape, variable.shape()))
        return problems_.push_back(
            fmt::format("\"{}\" is {} {} in the checkpoint and {} {} in the program", name,
                        info.dtype, shape, variable.dtype(), variable.shape()));
      shape = variable.shape();
      report_.reshaped.push_back(name);
    }
    note_restored(name, place.key);
    variables_.push_back({variable, std::move(shape)});
    requests_.push_back(
        {place.key, place.slice ? std::optional(place.slice->slice) : std::nullopt});
  }

  void plan_objects(const std::vector<const RegisteredSaveable*>& objects) {
    Owners owners(graph_, selection_);
    std::map<const RegisteredSaveable*, std::vector<std::pair<std::string, std::string>>> keys;
    std::string key;
    for (const auto& [name, info] : reader_.tensors())
      if (const RegisteredSaveable* const owner = owners.object_of(name, key))
        keys[owner].emplace_back(key, name);
    for (const RegisteredSaveable* const object : objects) {
      ObjectPart part{object, std::move(keys[object])};
      for (const auto& [within, name] : part.keys)
        used_.push_back(reader_.tensors().find(name)->first);
      if (!part.keys.empty()) {
        objects_.push_back(std::move(part));
        note_restored(object->name, selection_.place_of(object->name).key);
        continue;
      }
      if (object->optional)
        log_warning(fmt::format("checkpoint {} has no state of \"{}\"; it starts afresh",
                                reader_.prefix(), object->name));
      note_missing(object->name,
                   fmt::format("Key {} not found in checkpoint, where the program has an object",
                               selection_.place_of(object->name).key),
                   !object->optional && !rules_.allow_missing);
    }
  }

  void find_surplus() {
    std::ranges::sort(used_);
    auto next = used_.begin();
    for (const auto& [name, info] : reader_.tensors()) {
      while (next != used_.end() && *next < name) ++next;
      if (next != used_.end() && *next == name) continue;
      report_.surplus.push_back(name);
      if (!selection_.selects_all()) continue;
      if (name.starts_with(kHookState)) {
        log_warning(fmt::format("checkpoint {}: no hook of this run uses the state \"{}\"",
                                reader_.prefix(), name));
      } else if (!rules_.allow_surplus) {
        problems_.push_back(
            fmt::format("\"{}\" ({} {}) is not in the program", name, info.dtype, info.shape));
      }
    }
  }

  void note_missing(const std::string& name, const std::string& problem, bool is_problem) {
    if (is_problem)
      not_found_.push_back(problem);
    else
      report_.missing.push_back(name);
  }

  void note_restored(const std::string& name, const std::string& key) {
    report_.restored.push_back(name);
    if (key != name) report_.renamed.emplace(name, key);
  }

  void throw_if_problems() const {
    if (not_found_.empty() && problems_.empty()) return;
    std::vector<std::string> all = not_found_;
    all.insert(all.end(), problems_.begin(), problems_.end());
    const std::string message = fmt::format("checkpoint {} does not fit this program: {}",
                                            reader_.prefix(), fmt::join(all, "; "));
    throw_error(problems_.empty() ? Code::kNotFound : Code::kInvalidArgument, message);
  }

  std::vector<TensorMap> read_objects() const {
    std::vector<TensorRequest> requests;
    std::vector<std::pair<size_t, const std::string*>> places;  // Object and key, by request.
    for (size_t i = 0; i < objects_.size(); ++i) {
      for (const auto& [key, name] : objects_[i].keys) {
        requests.push_back({name});
        places.emplace_back(i, &key);
      }
    }
    CheckpointPass pass(reader_, requests);
    std::vector<TensorMap> states(objects_.size());
    for (const size_t number : pass.order())
      states[places[number].first].emplace(*places[number].second, pass.read(number));
    return states;
  }

  void assign_variables(Session& session) const {
    CheckpointPass pass(reader_, requests_);
    std::vector<Assignment> assignments;
    assignments.reserve(requests_.size());
    for (const size_t number : pass.order()) assignments.push_back(assignment(number, pass));
    session.assign(assignments);
  }

  // The checkpoint is known to have all keys, so anything not found is a file.
  void run(StateOperations& operations, Session& session) const {
    try {
      operations.restore(session, reader_.prefix());
    } catch (const NotFoundError& error) {
      throw DataLossError(
          fmt::format("checkpoint {}: the graph's own operations cannot find all of it: {}",
                      reader_.prefix(), error.what()));
    }
  }

  // The assignment that reads a variable's value from `pass`, which is over the requests.
  Assignment assignment(size_t number, CheckpointPass& pass) const {
    const VariablePart& part = variables_[number];
    if (part.variable.dtype() == DType::kString)
      return {.variable = part.variable, .shape = part.shape, .strings = [&pass, &part, number] {
                const Tensor value = pass.read(number);
                const auto strings = value.strings();
                return Tensor::from(std::vector<std::string>(strings.begin(), strings.end()),
                                    part.shape);
              }};
    return {part.variable, part.shape, [&pass, number](std::span<std::byte> destination) {
              throw_if_signalled("restoring");
              pass.read_into(number, destination);
            }};
  }

  const Graph& graph_;
  const CheckpointReader& reader_;
  const VariableSelection& selection_;
  const RestoreRules rules_;
  std::vector<VariablePart> variables_;
  std::vector<TensorRequest> requests_;  // Of the variables, in the same order.
  std::vector<ObjectPart> objects_;
  RestoreReport report_;
  std::vector<std::string_view>
      used_;  // Names of entries that the program uses, owned by the reader.
  std::vector<std::string> not_found_;  // Problems: keys the checkpoint does not have,
  std::vector<std::string> problems_;   // and all others.
};
}  // namespace

RestoreReport restore_state(Session& session, const CheckpointReader& reader,
                            const internal::VariableSelection& selection, const RestoreRules& rules,
                            StateOperations* operations) {
  return RestorePlan(session.graph(), reader, selection, rules).execute(session, operations);
}

}  // namespace crochet::inline v0
