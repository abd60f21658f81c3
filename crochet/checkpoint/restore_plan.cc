// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/restore_plan.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/checkpoint_filename.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

// Hooks keep their state under this name; it comes and goes with them.
constexpr std::string_view kHookState = "hooks/";

using internal::VariableSelection;

// Who owns an entry of the file: a variable, or of the objects whose key it starts with the one
// with the longest.
class Owners {
 public:
  Owners(const Graph& graph, const VariableSelection& selection) {
    for (const Variable& variable : graph.variables())
      variables_.insert(selection.place_of(variable.name()).key);
    for (const RegisteredSaveable& object : graph.saveables())
      objects_.emplace(selection.place_of(object.name).key, &object);
  }

  // Null for a variable's entry and for nobody's; else the object, and the entry's key within it.
  const RegisteredSaveable* object_of(const std::string& entry, std::string& key) const {
    if (objects_.empty() || variables_.contains(entry)) return nullptr;
    std::string_view owner = entry;
    while (true) {
      if (const auto found = objects_.find(owner); found != objects_.end()) {
        key = entry.substr(std::min(owner.size() + 1, entry.size()));
        return found->second;
      }
      const size_t slash = owner.rfind('/');
      if (slash == std::string_view::npos) return nullptr;
      owner = owner.substr(0, slash);
    }
  }

 private:
  std::unordered_set<std::string> variables_;
  std::map<std::string, const RegisteredSaveable*, std::less<>> objects_;
};

// What the checkpoint has for a variable, if that is a slice.
Shape stored_shape(const TensorInfo& info, const VariableSelection::Place& place) {
  if (place.slice == nullptr) return info.shape;
  return internal::shape_of(internal::resolved(place.slice->slice, place.slice->full_shape));
}

bool can_be_reshaped(const Shape& from, const Shape& to) {
  return to.is_fully_known() && from.num_elements() == to.num_elements();
}

}  // namespace

RestorePlan::RestorePlan(const Graph& graph, const CheckpointReader& reader,
                         const VariableSelection& selection, const RestoreRules& rules)
    : reader_(reader) {
  report_.prefix = reader.prefix();
  const VariableSelection::Selected selected = selection.select(graph);
  for (const Variable& variable : selected.variables)
    plan_variable(variable, selection.place_of(variable.name()), rules);
  plan_objects(graph, selection, selected.objects, rules);
  find_surplus(selection.selects_all(), rules);
  throw_if_problems();
}

void RestorePlan::throw_if_problems() const {
  if (not_found_.empty() && problems_.empty()) return;
  std::vector<std::string> all = not_found_;
  all.insert(all.end(), problems_.begin(), problems_.end());
  const std::string message = fmt::format("checkpoint {} does not fit this program: {}",
                                          reader_.prefix(), fmt::join(all, "; "));
  throw_error(problems_.empty() ? Code::kNotFound : Code::kInvalidArgument, message);
}

void RestorePlan::note_missing(const std::string& name, const std::string& problem,
                               bool is_problem) {
  if (is_problem)
    not_found_.push_back(problem);
  else
    report_.missing.push_back(name);
}

void RestorePlan::note_restored(const std::string& name, const std::string& key) {
  report_.restored.push_back(name);
  if (key != name) report_.renamed.emplace(name, key);
}

void RestorePlan::plan_variable(const Variable& variable, const VariableSelection::Place& place,
                                const RestoreRules& rules) {
  const std::string& name = variable.name();
  const auto found = reader_.tensors().find(place.key);
  if (found == reader_.tensors().end())
    return note_missing(name,
                        fmt::format("Key {} not found in checkpoint, where the program has {} {}",
                                    place.key, variable.dtype(), variable.shape()),
                        !rules.allow_missing);
  claim(place.key);
  const TensorInfo& info = found->second;
  if (info.dtype != variable.dtype())
    return problems_.push_back(
        fmt::format("\"{}\" is {} {} in the checkpoint and {} {} in the program, which is not the "
                    "original dtype",
                    name, info.dtype, info.shape, variable.dtype(), variable.shape()));
  if (place.slice != nullptr && place.slice->full_shape != info.shape)
    return problems_.push_back(
        fmt::format("\"{}\" is a slice of {}, \"{}\" is {} in the checkpoint", name,
                    place.slice->full_shape, place.key, info.shape));
  Shape shape = stored_shape(info, place);
  if (!shape.is_compatible_with(variable.shape())) {
    if (!rules.reshape || !can_be_reshaped(shape, variable.shape()))
      return problems_.push_back(
          fmt::format("\"{}\" is {} {} in the checkpoint and {} {} in the program", name,
                      info.dtype, shape, variable.dtype(), variable.shape()));
    shape = variable.shape();
    report_.reshaped.push_back(name);
  }
  note_restored(name, place.key);
  const auto slice =
      place.slice ? std::optional<TensorSlice>(place.slice->slice) : std::optional<TensorSlice>();
  if (info.dtype == DType::kString) {
    assignments_.push_back(
        {.variable = variable, .shape = shape, .strings = [this, key = place.key, slice, shape] {
           const Tensor value = slice ? reader_.read_slice(key, *slice) : reader_.read(key);
           const auto strings = value.strings();
           return Tensor::from(std::vector<std::string>(strings.begin(), strings.end()), shape);
         }});
    return;
  }
  assignments_.push_back(
      {variable, shape, [this, key = place.key, slice](std::span<std::byte> destination) {
         throw_if_signalled("restoring");
         if (slice)
           reader_.read_slice_into(key, *slice, destination);
         else
           reader_.read_into(key, destination);
       }});
}

void RestorePlan::plan_objects(const Graph& graph, const VariableSelection& selection,
                               const std::vector<const RegisteredSaveable*>& objects,
                               const RestoreRules& rules) {
  const Owners owners(graph, selection);
  std::map<const RegisteredSaveable*, std::vector<std::pair<std::string, std::string>>> keys;
  std::string key;
  for (const auto& [name, info] : reader_.tensors())
    if (const RegisteredSaveable* const owner = owners.object_of(name, key))
      keys[owner].emplace_back(key, name);
  for (const RegisteredSaveable* const object : objects) {
    ObjectPart part{object, std::move(keys[object])};
    for (const auto& [within, name] : part.keys) claim(name);
    if (!part.keys.empty()) {
      objects_.push_back(std::move(part));
      note_restored(object->name, selection.place_of(object->name).key);
      continue;
    }
    if (object->optional)
      log_warning("checkpoint {} has no state of \"{}\"; it starts anew", reader_.prefix(),
                  object->name);
    note_missing(object->name,
                 fmt::format("Key {} not found in checkpoint, where the program has an object",
                             selection.place_of(object->name).key),
                 !object->optional && !rules.allow_missing);
  }
}

void RestorePlan::find_surplus(bool wants_all, const RestoreRules& rules) {
  std::ranges::sort(claimed_);
  for (const auto& [name, info] : reader_.tensors()) {
    if (std::ranges::binary_search(claimed_, name)) continue;
    report_.surplus.push_back(name);
    if (!wants_all) continue;
    if (name.starts_with(kHookState)) {
      log_warning("checkpoint {}: no hook of this run takes the state \"{}\"", reader_.prefix(),
                  name);
    } else if (!rules.allow_surplus) {
      problems_.push_back(
          fmt::format("\"{}\" ({} {}) is not in the program", name, info.dtype, info.shape));
    }
  }
}

RestoreReport RestorePlan::execute(Session& session) const {
  // Objects are small: read all of them before anything is overwritten.
  std::vector<TensorMap> states;
  for (const ObjectPart& part : objects_) {
    TensorMap& state = states.emplace_back();
    for (const auto& [key, name] : part.keys) state.emplace(key, reader_.read(name));
  }
  session.assign(assignments_);
  RestoreReport report = report_;
  for (size_t i = 0; i < objects_.size(); ++i) {
    const RegisteredSaveable& object = *objects_[i].object;
    try {
      object.object->restore(states[i]);
    } catch (const InvalidArgumentError& error) {
      const std::string message = fmt::format("checkpoint {}: \"{}\" cannot be restored: {}",
                                              reader_.prefix(), object.name, error.what());
      if (!object.optional) throw InvalidArgumentError("{}", message);
      log_warning("{}; it starts anew", message);
      std::erase(report.restored, object.name);
      report.renamed.erase(object.name);
      report.missing.push_back(object.name);
    }
  }
  return report;
}

std::vector<std::string> checkpoint_candidates(FileSystem& files, const std::string& directory,
                                               const std::string& basename) {
  if (!files.exists(directory)) return {};
  std::vector<std::string> candidates = list_checkpoints(files, directory, basename);
  if (!candidates.empty()) return candidates;
  for (const std::string& name : files.list(directory))
    if (const auto file = internal::parse_checkpoint_filename(name);
        file && file->part == internal::CheckpointPart::kIndex)
      throw FailedPreconditionError(
          "{} holds the checkpoint {} and none of the name {}-<step>: restore it by its name, or "
          "use "
          "another directory",
          directory, file->base, basename);
  if (const auto state = get_checkpoint_state(files, directory))
    throw DataLossError(
        "{} names the checkpoint {}, which is not there; to start afresh, remove {}",
        join_path(directory, "checkpoint"), state->model_checkpoint_path,
        join_path(directory, "checkpoint"));
  return {};
}

}  // namespace crochet
