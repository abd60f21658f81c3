// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "python/src/python_state.h"

#include <map>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/tracking/tracker.h"

namespace crochet::python {
namespace {

using Parts = std::map<std::string, Described>;

Parts parts_of(const StoredParts& stored) {
  Parts parts;
  for (const auto& [name, part] : stored.all())
    parts.emplace(name, described(part.dtype, part.shape));
  return parts;
}

std::byte* at_address(uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));
}

// A restore of one value, until the last part is read.
struct Restoring {
  std::shared_ptr<nb::object> value;
  size_t num_unread = 0;
  std::map<std::string, Tensor> texts = {};

  void count() {
    if (--num_unread > 0) return;
    const nb::gil_scoped_acquire acquire;
    nb::dict all;
    for (auto& [name, text] : texts) all[nb::str(name.c_str())] = elements_of(std::move(text));
    value->attr("finish")(all);
  }
};

}  // namespace

PythonState::PythonState(local::Graph& graph, std::string name, nb::object value)
    : value_(kept(std::move(value))),
      parts_(graph, std::move(name), [this](Tracker& here) { list(here); }) {}

void PythonState::list(Tracker& here) const {
  using Array = std::tuple<std::string, uint64_t, std::string, std::vector<int64_t>>;
  using Text = std::tuple<std::string, std::vector<nb::bytes>, std::vector<int64_t>>;
  const nb::gil_scoped_acquire acquire;
  const auto [arrays, texts, keep] =
      nb::cast<std::tuple<std::vector<Array>, std::vector<Text>, nb::object>>(
          value_->attr("list")());
  for (const auto& [name, address, dtype, shape] : arrays)
    here.add_array(name,
                   {.view = [view = ArrayView{.dtype = dtype_named(dtype),
                                              .shape = Shape(shape),
                                              .data = at_address(address)}] { return view; }});
  for (const auto& [name, strings, shape] : texts) {
    std::vector<std::string> copies;
    for (const nb::bytes& text : strings) copies.emplace_back(text.c_str(), text.size());
    here.add_object(name, internal::make_saveable(
                              [tensor = Tensor::from(std::move(copies), Shape(shape))] {
                                return TensorMap{{"", tensor}};
                              },
                              [](const TensorMap&) {}));
  }
  keep_ = kept(keep);
}

std::vector<StatePart> PythonState::parts_for(const StoredParts& stored) const {
  using Planned = std::tuple<std::string, std::string, std::vector<int64_t>>;
  const nb::gil_scoped_acquire acquire;
  std::vector<StatePart> parts;
  for (const auto& [name, dtype, shape] :
       nb::cast<std::vector<Planned>>(value_->attr("plan")(parts_of(stored))))
    parts.push_back({.key = name, .dtype = dtype_named(dtype), .shape = Shape(shape)});
  return parts;
}

// Nothing about its structure is reported: a dict becomes what the checkpoint has.
std::vector<StatePart> PythonState::present_parts(const StoredParts& stored) const {
  return parts_for(stored);
}

void PythonState::restore_parts(const StoredParts&, PartValues& values) {
  const Parts parts = parts_of(values.parts());
  std::map<std::string, uint64_t> addresses;
  {
    const nb::gil_scoped_acquire acquire;
    addresses = nb::cast<std::map<std::string, uint64_t>>(value_->attr("begin")(parts));
  }
  const auto restoring = std::make_shared<Restoring>(Restoring{value_, parts.size()});
  for (const auto& [name, part] : parts) {
    const DType dtype = dtype_named(part.first);
    const size_t size = dtype == DType::kString ? 0 : Tensor::num_bytes(dtype, Shape(part.second));
    values.read_later(
        name, [restoring, name = name, dtype, size, to = addresses[name]](PartValue& value) {
          if (dtype == DType::kString)
            restoring->texts.emplace(name, value.read());
          else
            value.read_into({at_address(to), size});
          restoring->count();
        });
  }
}

void TrackedObject::track(Tracker& here) {
  here.add_object("", std::make_shared<PythonState>(here.graph(), here.name(), value));
}

}  // namespace crochet::python
