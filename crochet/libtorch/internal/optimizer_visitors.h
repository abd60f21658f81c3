// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "crochet/libtorch/internal/optimizer_fields.h"
#include "crochet/libtorch/internal/optimizer_parameters.h"
#include "crochet/libtorch/internal/scalar_type.h"
#include "crochet/libtorch/internal/tensor_memory.h"
#include "crochet/libtorch/internal/tracked_tensor.h"
#include "crochet/libtorch/track.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::libtorch::internal {

// What saves and restores do with the fields of the states and options of an optimizer.

// "exp_avg/net/fc.weight".
inline std::string state_name(const char* field, const std::string& parameter) {
  return fmt::format("{}/{}", field, parameter);
}
inline std::string option_name(size_t group, const char* option) {
  return fmt::format("param_groups/{}/{}", group, option);
}
// Lists fields as parts, by the name that `name` makes of the field's.
template <typename Name>
class ListingFields final : public FieldVisitor {
 public:
  ListingFields(Tracker& tracker, std::shared_ptr<OperatorBarrier> barrier, Name name)
      : tracker_(tracker), barrier_(std::move(barrier)), name_(std::move(name)) {}

  void operator()(const char* field, int64_t& value) override { tracker_(name_(field), value); }
  void operator()(const char* field, double& value) override { tracker_(name_(field), value); }
  void operator()(const char* field, bool& value) override { tracker_(name_(field), value); }
  void operator()(const char* field, std::function<std::string()> get,
                  std::function<void(const std::string& text)> set) override {
    tracker_.add_object(name_(field), crochet::internal::make_saveable(
                                          [get = std::move(get)] {
                                            return TensorMap{{"", Tensor::scalar(get())}};
                                          },
                                          [set = std::move(set)](const TensorMap& state) {
                                            set(single_value(state, DType::kString).strings()[0]);
                                          }));
  }
  void operator()(const char* field, at::Tensor& value) override {
    if (value.defined()) track_tensor(tracker_, name_(field), value, barrier_);
  }
  void operator()(const char* field, std::deque<at::Tensor>& values) override {
    for (size_t i = 0; i < values.size(); ++i)
      track_tensor(tracker_, fmt::format("{}/{}", name_(field), i), values[i], barrier_);
  }

 private:
  Tracker& tracker_;
  const std::shared_ptr<OperatorBarrier> barrier_;
  const Name name_;
};

// Plans fields as parts that are named by `name`.
template <typename Name>
class PlanningFields final : public FieldVisitor {
 public:
  // `like` is the part of a tensor; its shape may have unknown sizes. `model` has what all have.
  PlanningFields(std::vector<StatePart>& parts, const StoredParts& stored, StatePart model,
                 StatePart like, Name name)
      : parts_(parts),
        stored_(stored),
        model_(std::move(model)),
        like_(std::move(like)),
        name_(std::move(name)) {}

  void operator()(const char* field, int64_t&) override { add(field, DType::kInt64, {}); }
  void operator()(const char* field, double&) override { add(field, DType::kDouble, {}); }
  void operator()(const char* field, bool&) override { add(field, DType::kBool, {}); }
  void operator()(const char* field, std::function<std::string()>,
                  std::function<void(const std::string&)>) override {
    StatePart part = named(field);
    part.is_object = true;
    parts_.push_back(std::move(part));
  }
  void operator()(const char* field, at::Tensor&) override { add_tensor(name_(field)); }
  void operator()(const char* field, std::deque<at::Tensor>&) override {
    const StoredParts::Map stored = stored_.beneath(name_(field)).all();
    for (const auto& [key, part] : stored) add_tensor(fmt::format("{}/{}", name_(field), key));
    if (stored.empty()) add_any(name_(field));
  }

 private:
  StatePart named(const char* field) const {
    StatePart part = model_;
    part.key = name_(field);
    return part;
  }
  void add(const char* field, DType dtype, Shape shape) {
    StatePart part = named(field);
    part.dtype = dtype;
    part.shape = std::move(shape);
    parts_.push_back(std::move(part));
  }
  // Whatever has this name, and is not stored.
  void add_any(const std::string& name) {
    StatePart part = model_;
    part.key = name;
    part.is_object = true;
    parts_.push_back(std::move(part));
  }
  void add_tensor(const std::string& name) {
    StatePart part = model_;
    part.key = name;
    part.dtype = like_.dtype;
    part.shape = like_.shape;
    // One state for all parameters: its tensors have the shape that is stored.
    if (part.dtype == DType::kInvalid) {
      const StoredParts::Part* const stored = stored_.find(name);
      if (stored == nullptr) return add_any(name);
      part.dtype = stored->dtype;
      part.shape = stored->shape;
    }
    parts_.push_back(std::move(part));
  }

  std::vector<StatePart>& parts_;
  const StoredParts& stored_;
  const StatePart model_;
  const StatePart like_;
  const Name name_;
};

// Gives a state the tensors that are stored, on the parameter's device, and no others.
class MakingFields final : public FieldVisitor {
 public:
  MakingFields(const StoredParts& stored, const StoredParts& read,
               const OptimizerParameter& parameter)
      : stored_(stored), read_(read), parameter_(parameter) {}

  void operator()(const char*, int64_t&) override {}
  void operator()(const char*, double&) override {}
  void operator()(const char*, bool&) override {}
  void operator()(const char*, std::function<std::string()>,
                  std::function<void(const std::string&)>) override {}
  void operator()(const char* field, at::Tensor& value) override {
    const std::string name = state_name(field, parameter_.name);
    if (const StoredParts::Part* const part = read_.find(name))
      value = made(*part, value);
    else if (stored_.find(name) == nullptr && !stored_.is_partial())
      value = at::Tensor();
  }
  void operator()(const char* field, std::deque<at::Tensor>& values) override {
    const StoredParts read = read_.beneath(state_name(field, parameter_.name));
    size_t size = 0;
    while (read.find(std::to_string(size)) != nullptr) ++size;
    values.resize(size);
    for (size_t i = 0; i < size; ++i) values[i] = made(*read.find(std::to_string(i)), values[i]);
  }

 private:
  at::Tensor made(const StoredParts::Part& part, const at::Tensor& present) const {
    if (present.defined() && dtype_of(present.scalar_type()) == part.dtype &&
        shape_of(present) == part.shape)
      return present;
    const std::span<const int64_t> sizes = part.shape.dimensions();
    return at::empty(
        at::IntArrayRef(sizes.data(), sizes.size()),
        at::TensorOptions(scalar_type_of(part.dtype).value()).device(parameter_.tensor.device()));
  }

  const StoredParts& stored_;
  const StoredParts& read_;
  const OptimizerParameter& parameter_;
};

// Whether any field of a state has an entry.
class FindingFields final : public FieldVisitor {
 public:
  FindingFields(const StoredParts& parts, const std::string& parameter)
      : parts_(parts), parameter_(parameter) {}
  bool has_found() const { return has_found_; }

  void operator()(const char* field, int64_t&) override { look(field); }
  void operator()(const char* field, double&) override { look(field); }
  void operator()(const char* field, bool&) override { look(field); }
  void operator()(const char* field, std::function<std::string()>,
                  std::function<void(const std::string&)>) override {
    look(field);
  }
  void operator()(const char* field, at::Tensor&) override { look(field); }
  void operator()(const char* field, std::deque<at::Tensor>&) override { look(field); }

 private:
  void look(const char* field) {
    has_found_ = has_found_ || !parts_.beneath(state_name(field, parameter_)).empty();
  }

  const StoredParts& parts_;
  const std::string& parameter_;
  bool has_found_ = false;
};

// The numbers of options, as texts.
class TextsOfFields final : public FieldVisitor {
 public:
  TextsOfFields(std::map<std::string, std::string>& texts, size_t group)
      : texts_(texts), group_(group) {}

  void operator()(const char* field, int64_t& value) override { add(field, fmt::to_string(value)); }
  void operator()(const char* field, double& value) override { add(field, fmt::to_string(value)); }
  void operator()(const char* field, bool& value) override { add(field, fmt::to_string(value)); }
  void operator()(const char* field, std::function<std::string()> get,
                  std::function<void(const std::string&)>) override {
    add(field, get());
  }
  void operator()(const char*, at::Tensor&) override {}
  void operator()(const char*, std::deque<at::Tensor>&) override {}

 private:
  void add(const char* field, std::string text) {
    texts_.insert_or_assign(option_name(group_, field), std::move(text));
  }

  std::map<std::string, std::string>& texts_;
  const size_t group_;
};

}  // namespace crochet::inline v0::libtorch::internal
