// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/fetches.h"

#include <cassert>

#include <fmt/ranges.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {
namespace {

const char* kind_of(const FetchValues& values) {
  if (values.as_tensor() != nullptr) return "one tensor";
  return values.as_list() != nullptr ? "a list" : values.as_map() != nullptr ? "a map" : "nothing";
}

std::string joined_keys(const FetchValues::Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

}  // namespace

Fetches::Fetches(std::string name)
    : kind_(Kind::kName), shared_(std::make_shared<const std::string>(std::move(name))) {}
Fetches::Fetches(const char* name) : Fetches(std::string(name)) {}
Fetches::Fetches(List list)
    : kind_(Kind::kList), shared_(std::make_shared<const List>(std::move(list))) {}
Fetches::Fetches(Map map)
    : kind_(Kind::kMap), shared_(std::make_shared<const Map>(std::move(map))) {}

Fetches::Fetches(std::initializer_list<Item> list) {
  List items;
  items.reserve(list.size());
  for (const Item& item : list) items.push_back(item.fetches_);
  *this = std::move(items);
}

Fetches::Fetches(std::initializer_list<Entry> map) {
  Map entries;
  for (const Entry& entry : map) entries.emplace(entry.key_, entry.value_);
  *this = std::move(entries);
}

FetchValues::FetchValues(List list)
    : kind_(Kind::kList), shared_(std::make_shared<const List>(std::move(list))) {}
FetchValues::FetchValues(Map map)
    : kind_(Kind::kMap), shared_(std::make_shared<const Map>(std::move(map))) {}

void FetchValues::throw_no_tensor() const {
  throw InvalidArgumentError(
      fmt::format("fetched values: found {}, expected one tensor", kind_of(*this)));
}

const FetchValues& FetchValues::operator[](size_t index) const& {
  const List* const list = as_list();
  if (list == nullptr)
    throw InvalidArgumentError(fmt::format("fetched values: found {}, expected a list with item {}",
                                           kind_of(*this), index));
  if (index >= list->size())
    throw InvalidArgumentError(
        fmt::format("fetched values: no item {} in a list of {}", index, list->size()));
  return (*list)[index];
}

const FetchValues& FetchValues::operator[](std::string_view key) const& {
  const Map* const map = as_map();
  if (map == nullptr)
    throw InvalidArgumentError(fmt::format(
        "fetched values: found {}, expected a map with item \"{}\"", kind_of(*this), key));
  const auto found = map->find(std::string(key));
  if (found == map->end())
    throw InvalidArgumentError(
        fmt::format("fetched values: no item \"{}\" in a map with: {}", key, joined_keys(*map)));
  return found->second;
}

void flatten(const Fetches& fetches, std::vector<Output>& leaves) {
  assert(fetches.as_name() == nullptr && "names are resolved first");
  if (const Output* const output = fetches.as_output()) return leaves.push_back(*output);
  if (const auto* const list = fetches.as_list())
    for (const Fetches& item : *list) flatten(item, leaves);
  if (const auto* const map = fetches.as_map())
    for (const auto& [key, item] : *map) flatten(item, leaves);
}

FetchValues unflatten(const Fetches& fetches, std::span<Tensor>& values) {
  if (fetches.as_output() != nullptr) {
    FetchValues value(std::move(values.front()));
    values = values.subspan(1);
    return value;
  }
  if (const auto* const list = fetches.as_list()) {
    FetchValues::List items;
    items.reserve(list->size());
    for (const Fetches& item : *list) items.push_back(unflatten(item, values));
    return FetchValues(std::move(items));
  }
  if (const auto* const map = fetches.as_map()) {
    FetchValues::Map items;
    for (const auto& [key, item] : *map) items.emplace(key, unflatten(item, values));
    return FetchValues(std::move(items));
  }
  return {};
}

}  // namespace crochet::inline v0
