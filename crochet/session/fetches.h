// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/output.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

class Graph;

// What a run should compute: nothing, one output or operation, or a list or a map
// of such requests, nested to any depth. A leaf may also be the name of an output or operation,
// which Graph::resolve looks up. The results have the same structure.
//
//   session.run({"loss", accuracy});                                // a list
//   session.run({{"loss", loss}, {"gradients", {dw, db}}});         // a map
//   session.run(Fetches::Map{{"loss", "total"}, {"rate", "lr"}});   // a map of names
//   session.run({{"loss", "accuracy"}});                            // does not compile
class CROCHET_EXPORT Fetches {
 public:
  using List = std::vector<Fetches>;
  using Map = std::map<std::string, Fetches>;
  // For initializers in braces: an item of a list, and an entry of a map.
  class Item;
  class Entry;

  Fetches() = default;
  Fetches(Output output) : kind_(Kind::kOutput), output_(output) {}
  Fetches(Operation operation) : Fetches(Output(operation)) {}
  Fetches(std::string name);
  Fetches(const char* name);
  Fetches(List list);
  Fetches(std::initializer_list<Item> list);
  Fetches(Map map);
  Fetches(std::initializer_list<Entry> map);

  bool empty() const { return kind_ == Kind::kNothing; }
  // Null if it is something else. On a temporary they do not compile: the pointer would dangle.
  const Output* as_output() const& { return kind_ == Kind::kOutput ? &output_ : nullptr; }
  const Output* as_output() const&& = delete;
  const std::string* as_name() const& { return as<std::string>(Kind::kName); }
  const std::string* as_name() const&& = delete;
  const List* as_list() const& { return as<List>(Kind::kList); }
  const List* as_list() const&& = delete;
  const Map* as_map() const& { return as<Map>(Kind::kMap); }
  const Map* as_map() const&& = delete;

 private:
  enum class Kind { kNothing, kOutput, kName, kList, kMap };

  template <typename T>
  const T* as(Kind kind) const {
    return kind_ == kind ? static_cast<const T*>(shared_.get()) : nullptr;
  }

  Kind kind_ = Kind::kNothing;
  Output output_;
  // A name, a list or a map, which never changes: copies of a request share it.
  std::shared_ptr<const void> shared_;
};

// Made from one value, so that a pair of names cannot become an item.
class CROCHET_EXPORT Fetches::Item {
 public:
  Item(Output output) : fetches_(output) {}
  Item(Operation operation) : fetches_(operation) {}
  // A template, since two names in braces would construct a std::string from two iterators.
  template <std::convertible_to<std::string> Name>
  Item(Name name) : fetches_(std::string(std::move(name))) {}
  Item(Fetches fetches) : fetches_(std::move(fetches)) {}

 private:
  friend class Fetches;
  Fetches fetches_;
};

namespace internal {

// The compiler shows this name in its error for two names in two pairs of braces.
struct UseOnePairOfBracesForAListOrFetchesMap {};

}  // namespace internal

class CROCHET_EXPORT Fetches::Entry {
 public:
  Entry(std::string key, Fetches value) : key_(std::move(key)), value_(std::move(value)) {}
  // Deleted, because {{"loss", "accuracy"}} is ambiguous: two names, or one with a key? (On one
  // line, as clang shows the first line of a declaration.)
  template <std::convertible_to<std::string_view> Name>
  Entry(std::string, const Name&, internal::UseOnePairOfBracesForAListOrFetchesMap = {}) = delete;

 private:
  friend class Fetches;
  std::string key_;
  Fetches value_;
};

// The results of a run, in the structure of the Fetches that requested them.
// An empty request gives an empty result; an operation gives an unset tensor.
class CROCHET_EXPORT FetchValues {
 public:
  using List = std::vector<FetchValues>;
  using Map = std::map<std::string, FetchValues>;

  FetchValues() = default;
  explicit FetchValues(Tensor&& tensor) : kind_(Kind::kTensor), tensor_(std::move(tensor)) {}
  explicit FetchValues(const Tensor& tensor) : kind_(Kind::kTensor), tensor_(tensor) {}
  explicit FetchValues(List list);
  explicit FetchValues(Map map);

  // False if nothing was requested.
  explicit operator bool() const { return kind_ != Kind::kNothing; }
  // Null if it is something else. On a temporary they do not compile: the pointer would dangle.
  const Tensor* as_tensor() const& { return kind_ == Kind::kTensor ? &tensor_ : nullptr; }
  const Tensor* as_tensor() const&& = delete;
  const List* as_list() const& { return as<List>(Kind::kList); }
  const List* as_list() const&& = delete;
  const Map* as_map() const& { return as<Map>(Kind::kMap); }
  const Map* as_map() const&& = delete;

  // The tensor, if one was requested; of a temporary, by value, as a reference would dangle.
  // Throws: InvalidArgumentError if something else was requested.
  const Tensor& tensor() const& {
    if (kind_ != Kind::kTensor) throw_no_tensor();
    return tensor_;
  }
  Tensor tensor() && {
    static_cast<void>(std::as_const(*this).tensor());
    return std::move(tensor_);
  }
  Tensor tensor() const&& = delete;
  template <Element T>
  T scalar() const {
    return tensor().scalar<T>();
  }
  // An item of a list or a map; of a temporary, by value. Throws: InvalidArgumentError if there is
  // no such item.
  const FetchValues& operator[](size_t index) const&;
  const FetchValues& operator[](std::string_view key) const&;
  FetchValues operator[](size_t index) && { return std::as_const(*this)[index]; }
  FetchValues operator[](std::string_view key) && { return std::as_const(*this)[key]; }
  FetchValues operator[](size_t index) const&& = delete;
  FetchValues operator[](std::string_view key) const&& = delete;

 private:
  enum class Kind { kNothing, kTensor, kList, kMap };

  template <typename T>
  const T* as(Kind kind) const {
    return kind_ == kind ? static_cast<const T*>(shared_.get()) : nullptr;
  }
  [[noreturn]] void throw_no_tensor() const;

  Kind kind_ = Kind::kNothing;
  Tensor tensor_;
  std::shared_ptr<const void> shared_;  // A list or a map, which never changes: copies share it.
};

// Appends the leaves of `fetches` in order (maps by key), repeats included.
// Requires: no leaf is a name.
CROCHET_EXPORT void flatten(const Fetches& fetches, std::vector<Output>& leaves);
// The inverse: moves one tensor for each leaf of `fetches` out of the front of `values`,
// and removes them from the span.
CROCHET_EXPORT FetchValues unflatten(const Fetches& fetches, std::span<Tensor>& values);

// Values that replace outputs during one run. The same output twice is an error.
using Feeds = std::vector<std::pair<Output, Tensor>>;

}  // namespace crochet::inline v0
