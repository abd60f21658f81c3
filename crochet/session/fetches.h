// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "crochet/session/output.h"
#include "crochet/tensor/tensor.h"

namespace crochet {

class Graph;

// What a run is asked for: nothing, one output or operation, or a list or a map
// of such requests, nested at will. A leaf may be a name, which Graph::resolve
// turns into the output. The results come back in the same structure.
//
//   session.run({{"loss", loss}, {"gradients", {dw, db}}});
class Fetches {
 public:
  using List = std::vector<Fetches>;
  using Map = std::map<std::string, Fetches>;

  Fetches() = default;
  Fetches(Output output) : node_(output) {}
  Fetches(Operation operation) : node_(Output(operation)) {}
  Fetches(std::string name) : node_(std::move(name)) {}
  Fetches(const char* name) : node_(std::string(name)) {}
  Fetches(List list) : node_(std::move(list)) {}
  Fetches(std::initializer_list<Output> list) : node_(List(list.begin(), list.end())) {}
  Fetches(Map map) : node_(std::move(map)) {}
  Fetches(std::initializer_list<Map::value_type> map) : node_(Map(map)) {}

  bool empty() const { return std::holds_alternative<std::monostate>(node_); }
  const Output* as_output() const { return std::get_if<Output>(&node_); }
  const std::string* as_name() const { return std::get_if<std::string>(&node_); }
  const List* as_list() const { return std::get_if<List>(&node_); }
  const Map* as_map() const { return std::get_if<Map>(&node_); }

 private:
  std::variant<std::monostate, Output, std::string, List, Map> node_;
};

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
  const Tensor* as_tensor() const { return std::get_if<Tensor>(&node_); }
  const List* as_list() const { return std::get_if<List>(&node_); }
  const Map* as_map() const { return std::get_if<Map>(&node_); }

  // The one tensor that was asked for. Throws: InvalidArgumentError if it was not one.
  const Tensor& tensor() const;
  template <Element T>
  T scalar() const {
    return tensor().scalar<T>();
  }
  // A part of a list or a map. Throws: InvalidArgumentError if there is none.
  const FetchValues& operator[](size_t index) const;
  const FetchValues& operator[](std::string_view key) const;

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
