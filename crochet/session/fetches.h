// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "crochet/session/output.h"
#include "crochet/tensor/tensor.h"

namespace crochet {

class Graph;

// What a run is asked for: nothing, one output or operation, or a list or a map
// of such requests, nested at will. A leaf may be the name of an output, or of an
// operation, which Graph::resolve turns into that. The results come back in the same structure.
//
//   session.run({"loss", accuracy});                                // a list
//   session.run({{"loss", loss}, {"gradients", {dw, db}}});         // a map
//   session.run(Fetches::Map{{"loss", "total"}, {"rate", "lr"}});   // a map of names
//   session.run({{"loss", "accuracy"}});                            // does not compile
class Fetches {
 public:
  using List = std::vector<Fetches>;
  using Map = std::map<std::string, Fetches>;
  // What stands in braces: an item of a list, and an entry of a map.
  class Item;
  class Entry;

  Fetches() = default;
  Fetches(Output output) : node_(output) {}
  Fetches(Operation operation) : node_(Output(operation)) {}
  Fetches(std::string name) : node_(std::move(name)) {}
  Fetches(const char* name) : node_(std::string(name)) {}
  Fetches(List list) : node_(std::move(list)) {}
  Fetches(std::initializer_list<Item> list);
  Fetches(Map map) : node_(std::move(map)) {}
  Fetches(std::initializer_list<Entry> map);

  bool empty() const { return std::holds_alternative<std::monostate>(node_); }
  // Null if it is something else. Of a temporary they do not compile: what they point to is in it.
  const Output* as_output() const& { return std::get_if<Output>(&node_); }
  const Output* as_output() const&& = delete;
  const std::string* as_name() const& { return std::get_if<std::string>(&node_); }
  const std::string* as_name() const&& = delete;
  const List* as_list() const& { return std::get_if<List>(&node_); }
  const List* as_list() const&& = delete;
  const Map* as_map() const& { return std::get_if<Map>(&node_); }
  const Map* as_map() const&& = delete;

 private:
  std::variant<std::monostate, Output, std::string, List, Map> node_;
};

// Made of one value, so that no item reads a pair of names as anything.
class Fetches::Item {
 public:
  Item(Output output) : fetches_(output) {}
  Item(Operation operation) : fetches_(operation) {}
  // A template: two names in braces would make a std::string of the characters between them.
  template <std::convertible_to<std::string> Name>
  Item(Name name) : fetches_(std::string(std::move(name))) {}
  Item(Fetches fetches) : fetches_(std::move(fetches)) {}

 private:
  friend class Fetches;
  Fetches fetches_;
};

namespace internal {

// The compiler shows its name where two names stand in two pairs of braces.
struct UseOnePairOfBracesForAListOrFetchesMap {};

}  // namespace internal

class Fetches::Entry {
 public:
  Entry(std::string key, Fetches value) : key_(std::move(key)), value_(std::move(value)) {}
  // {{"loss", "accuracy"}}: two names, or one with a key? Say which. (In one line, as clang shows
  // the first line of a declaration.)
  template <std::convertible_to<std::string_view> Name>
  Entry(std::string, const Name&, internal::UseOnePairOfBracesForAListOrFetchesMap = {}) = delete;

 private:
  friend class Fetches;
  std::string key_;
  Fetches value_;
};

inline Fetches::Fetches(std::initializer_list<Item> list) {
  List items;
  items.reserve(list.size());
  for (const Item& item : list) items.push_back(item.fetches_);
  node_ = std::move(items);
}

inline Fetches::Fetches(std::initializer_list<Entry> map) {
  Map entries;
  for (const Entry& entry : map) entries.emplace(entry.key_, entry.value_);
  node_ = std::move(entries);
}

// The results of a run, in the structure of the Fetches that asked for them.
// Nothing stands where nothing was asked; an operation gives an unset tensor.
class FetchValues {
 public:
  using List = std::vector<FetchValues>;
  using Map = std::map<std::string, FetchValues>;

  FetchValues() = default;
  explicit FetchValues(Tensor tensor) : node_(std::move(tensor)) {}
  explicit FetchValues(List list) : node_(std::move(list)) {}
  explicit FetchValues(Map map) : node_(std::move(map)) {}

  // False if nothing was asked for.
  explicit operator bool() const { return !std::holds_alternative<std::monostate>(node_); }
  // Null if it is something else. Of a temporary they do not compile: what they point to is in it.
  const Tensor* as_tensor() const& { return std::get_if<Tensor>(&node_); }
  const Tensor* as_tensor() const&& = delete;
  const List* as_list() const& { return std::get_if<List>(&node_); }
  const List* as_list() const&& = delete;
  const Map* as_map() const& { return std::get_if<Map>(&node_); }
  const Map* as_map() const&& = delete;

  // The one tensor that was asked for; of a temporary, by value, as a reference would dangle.
  // Throws: InvalidArgumentError if it was not one.
  const Tensor& tensor() const&;
  Tensor tensor() &&;
  Tensor tensor() const&& = delete;
  template <Element T>
  T scalar() const {
    return tensor().scalar<T>();
  }
  // A part of a list or a map; of a temporary, by value. Throws: InvalidArgumentError if there is
  // none.
  const FetchValues& operator[](size_t index) const&;
  const FetchValues& operator[](std::string_view key) const&;
  FetchValues operator[](size_t index) &&;
  FetchValues operator[](std::string_view key) &&;
  FetchValues operator[](size_t index) const&& = delete;
  FetchValues operator[](std::string_view key) const&& = delete;

 private:
  std::variant<std::monostate, Tensor, List, Map> node_;
};

// Appends the leaves of `fetches` in their order (maps by key), repeats included.
// Requires: no leaf is a name.
void flatten(const Fetches& fetches, std::vector<Output>& leaves);
// The inverse: moves as many tensors out of the front of `values` as `fetches`
// has leaves, and sets `values` behind them.
FetchValues unflatten(const Fetches& fetches, std::span<Tensor>& values);

// Values that stand in for outputs during one run. The same output twice is an error.
using Feeds = std::vector<std::pair<Output, Tensor>>;

}  // namespace crochet
