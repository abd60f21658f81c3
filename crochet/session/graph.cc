// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/graph.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/edit_distance.h"

namespace crochet::inline v0 {
namespace {

// As many as a person will read.
constexpr size_t kNamesInMessages = 8;

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// A name whose scope is missing or mistyped also counts as close.
size_t distance(std::string_view wanted, std::string_view name) {
  return std::min(internal::edit_distance(wanted, name),
                  internal::edit_distance(last_part(wanted), last_part(name)) + 1);
}

[[noreturn]] void throw_unknown_name(const char* what, std::string_view name,
                                     std::vector<std::string> names) {
  std::ranges::sort(names);
  if (names.size() <= kNamesInMessages)
    throw NotFoundError(fmt::format("the graph has {} named \"{}\"; it has: {}", what, name,
                                    fmt::join(names, ", ")));
  const std::string_view wanted = name.substr(0, name.rfind(':'));
  std::vector<std::pair<size_t, const std::string*>> by_distance;
  for (const std::string& known : names) by_distance.emplace_back(distance(wanted, known), &known);
  std::ranges::stable_sort(by_distance, {}, &std::pair<size_t, const std::string*>::first);
  std::vector<std::string_view> closest;
  for (size_t i = 0; i < kNamesInMessages; ++i) closest.push_back(*by_distance[i].second);
  throw NotFoundError(
      fmt::format("the graph has {} named \"{}\"; of its {} names, the closest are: {}", what, name,
                  names.size(), fmt::join(closest, ", ")));
}

[[noreturn]] void throw_unknown_name(const Graph& graph, std::string_view name) {
  throw_unknown_name("nothing", name, graph.operation_names());
}

// std::nullopt if the text is not a number, or the number is negative or beyond int.
std::optional<int> parse_index(std::string_view text) {
  int index = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, index);
  if (error != std::errc() || stop != end || index < 0) return std::nullopt;
  return index;
}

}  // namespace

Operation Graph::operation(std::string_view name) const {
  const OperationInfo* const info = find_operation(name);
  if (info == nullptr) throw_unknown_name(*this, name);
  return Operation(info);
}

Output Graph::output(std::string_view name) const {
  if (const OperationInfo* const info = find_operation(name)) {
    if (info->num_outputs == 1) return Output(info, 0);
    if (info->num_outputs == 0)
      throw InvalidArgumentError(
          fmt::format("\"{}\" has no value: the operation has no outputs", name));
    throw InvalidArgumentError(
        fmt::format("\"{}\" is ambiguous: the operation has {} outputs; choose one, as in \"{}:0\"",
                    name, info->num_outputs, name));
  }
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) throw_unknown_name(*this, name);
  const OperationInfo* const info = find_operation(name.substr(0, colon));
  if (info == nullptr) throw_unknown_name(*this, name);
  const std::optional<int> index = parse_index(name.substr(colon + 1));
  if (!index || *index >= info->num_outputs)
    throw NotFoundError(fmt::format("operation \"{}\": output {} of {} does not exist", info->name,
                                    name.substr(colon + 1), info->num_outputs));
  return Output(info, *index);
}

Output Graph::requested(std::string_view name) const {
  const OperationInfo* const info = find_operation(name);
  return info != nullptr && info->num_outputs == 0 ? Output(Operation(info)) : output(name);
}

Variable Graph::variable_named(std::string_view name) const {
  const std::vector<Variable> all = variables();
  const auto found = std::ranges::find(all, name, &Variable::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Variable& variable : all) names.push_back(variable.name());
  throw_unknown_name("no variable", name, std::move(names));
}

Fetches Graph::resolve(const Fetches& fetches) const {
  if (const std::string* const name = fetches.as_name()) return requested(*name);
  if (const Output* const output = fetches.as_output()) {
    if (output->graph() != this)
      throw InvalidArgumentError(
          fmt::format("{} is not an output of this graph", to_string(*output)));
    return *output;
  }
  if (const auto* const list = fetches.as_list()) {
    Fetches::List items;
    for (const Fetches& item : *list) items.push_back(resolve(item));
    return items;
  }
  if (const auto* const map = fetches.as_map()) {
    Fetches::Map items;
    for (const auto& [key, item] : *map) items.emplace(key, resolve(item));
    return items;
  }
  return {};
}

OutputInfo Graph::output_info(const Output&) const { return {}; }

Output Graph::global_step() const { return find_global_step(*this); }

std::string Graph::global_step_name() const {
  const Output step = global_step();
  return step ? step.operation()->name : "";
}

void Graph::add_global_step() {
  throw UnimplementedError("this engine cannot add a global step to a graph");
}

Operation Graph::add_global_step_increment(int64_t, std::vector<Output>) {
  throw UnimplementedError("this engine cannot add operations to a graph");
}

void Graph::add_to_collection(std::string_view collection, Output output) {
  check_not_finalized(collection);
  collections_[std::string(collection)].push_back(output);
}

std::vector<Output> Graph::collection(std::string_view collection) const {
  const auto found = collections_.find(collection);
  return found == collections_.end() ? std::vector<Output>{} : found->second;
}

std::vector<std::string> Graph::collection_names() const {
  std::vector<std::string> names;
  for (const auto& [name, outputs] : collections_) names.push_back(name);
  return names;
}

void Graph::add_background_loop(std::shared_ptr<BackgroundLoop> loop) {
  if (!loop) throw InvalidArgumentError("the background loop to add is a null pointer");
  check_not_finalized(loop->name());
  loops_.push_back(std::move(loop));
}

void Graph::add_saveable(RegisteredSaveable saveable) {
  if (std::ranges::find(saveables_, saveable.name, &RegisteredSaveable::name) != saveables_.end())
    throw AlreadyExistsError(
        fmt::format("two objects to save have the name \"{}\"", saveable.name));
  saveables_.push_back(std::move(saveable));
}

void Graph::remove_saveable(std::string_view name) {
  std::erase_if(saveables_,
                [&](const RegisteredSaveable& saveable) { return saveable.name == name; });
}

void Graph::check_not_finalized(std::string_view addition) const {
  if (finalized_)
    throw FailedPreconditionError(
        fmt::format("\"{}\" cannot be added: the graph is finalized", addition));
}

}  // namespace crochet::inline v0
