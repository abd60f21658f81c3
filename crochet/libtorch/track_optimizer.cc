// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "crochet/base/error.h"
#include "crochet/base/listed.h"
#include "crochet/base/log.h"
#include "crochet/libtorch/foreign_optimizer.h"
#include "crochet/libtorch/optimizer_fields.h"
#include "crochet/libtorch/optimizer_parameters.h"
#include "crochet/libtorch/scalar_type.h"
#include "crochet/libtorch/tensor_memory.h"
#include "crochet/libtorch/track.h"
#include "crochet/libtorch/tracked_tensor.h"
#include "crochet/libtorch/write_fence.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0 {
namespace libtorch {
namespace {

// "exp_avg/net/fc.weight".
std::string state_name(const char* field, const std::string& parameter) {
  return fmt::format("{}/{}", field, parameter);
}
std::string option_name(size_t group, const char* option) {
  return fmt::format("param_groups/{}/{}", group, option);
}
// An entry whose name is the class: so a restore compares it before it changes anything.
std::string class_entry(const std::string& name) { return "class/" + name; }

// Lists fields as parts, by the name that `name` makes of the field's.
template <typename Name>
class ListingFields final : public FieldVisitor {
 public:
  ListingFields(Tracker& tracker, std::shared_ptr<OperatorFence> fence, Name name)
      : tracker_(tracker), fence_(std::move(fence)), name_(std::move(name)) {}

  void operator()(const char* field, int64_t& value) override { tracker_(name_(field), value); }
  void operator()(const char* field, double& value) override { tracker_(name_(field), value); }
  void operator()(const char* field, bool& value) override { tracker_(name_(field), value); }
  void operator()(const char* field, std::function<std::string()> get,
                  std::function<void(const std::string& text)> set) override {
    tracker_.add_object(name_(field), internal::make_saveable(
                                          [get = std::move(get)] {
                                            return TensorMap{{"", Tensor::scalar(get())}};
                                          },
                                          [set = std::move(set)](const TensorMap& state) {
                                            set(single_value(state, DType::kString).strings()[0]);
                                          }));
  }
  void operator()(const char* field, at::Tensor& value) override {
    if (value.defined()) track_tensor(tracker_, name_(field), value, fence_);
  }
  void operator()(const char* field, std::deque<at::Tensor>& values) override {
    for (size_t i = 0; i < values.size(); ++i)
      track_tensor(tracker_, fmt::format("{}/{}", name_(field), i), values[i], fence_);
  }

 private:
  Tracker& tracker_;
  const std::shared_ptr<OperatorFence> fence_;
  const Name name_;
};

// Notes which stored entries the fields of a state are, and checks those of tensors.
class CheckingFields final : public FieldVisitor {
 public:
  // `like` has the shape that tensors of the state have; null for any.
  CheckingFields(const StoredParts& stored, std::string parameter, const at::Tensor* like,
                 std::set<std::string>& known)
      : stored_(stored), parameter_(std::move(parameter)), like_(like), known_(known) {}

  void operator()(const char* field, int64_t&) override { note(field); }
  void operator()(const char* field, double&) override { note(field); }
  void operator()(const char* field, bool&) override { note(field); }
  void operator()(const char* field, std::function<std::string()>,
                  std::function<void(const std::string&)>) override {
    note(field);
  }
  void operator()(const char* field, at::Tensor&) override {
    const StoredParts::Part* const part = note(field);
    if (part == nullptr || like_ == nullptr) return;
    if (part->shape != shape_of(*like_) || part->dtype != dtype_of(like_->scalar_type()))
      throw InvalidArgumentError(
          fmt::format("the stored {} of parameter \"{}\" is {} {}, but the parameter is {}", field,
                      parameter_, part->dtype, part->shape, describe(*like_)));
  }
  void operator()(const char* field, std::deque<at::Tensor>&) override {
    for (const auto& [key, part] : stored_.beneath(state_name(field, parameter_)).all())
      known_.insert(fmt::format("{}/{}", state_name(field, parameter_), key));
  }

 private:
  const StoredParts::Part* note(const char* field) {
    const std::string name = state_name(field, parameter_);
    const StoredParts::Part* const part = stored_.find(name);
    if (part != nullptr) known_.insert(name);
    return part;
  }

  const StoredParts& stored_;
  const std::string parameter_;
  const at::Tensor* const like_;
  std::set<std::string>& known_;
};

// Gives a state the tensors that are stored, on the parameter's device, and no others.
class MakingFields final : public FieldVisitor {
 public:
  MakingFields(const StoredParts& stored, const OptimizerParameter& parameter)
      : stored_(stored), parameter_(parameter) {}

  void operator()(const char*, int64_t&) override {}
  void operator()(const char*, double&) override {}
  void operator()(const char*, bool&) override {}
  void operator()(const char*, std::function<std::string()>,
                  std::function<void(const std::string&)>) override {}
  void operator()(const char* field, at::Tensor& value) override {
    value = made(stored_.find(state_name(field, parameter_.name)), value);
  }
  void operator()(const char* field, std::deque<at::Tensor>& values) override {
    const StoredParts stored = stored_.beneath(state_name(field, parameter_.name));
    size_t size = 0;
    while (stored.find(std::to_string(size)) != nullptr) ++size;
    values.resize(size);
    for (size_t i = 0; i < size; ++i) values[i] = made(stored.find(std::to_string(i)), values[i]);
  }

 private:
  at::Tensor made(const StoredParts::Part* part, const at::Tensor& present) const {
    if (part == nullptr) return {};
    if (present.defined() && dtype_of(present.scalar_type()) == part->dtype &&
        shape_of(present) == part->shape)
      return present;
    const std::span<const int64_t> sizes = part->shape.dimensions();
    return at::empty(
        at::IntArrayRef(sizes.data(), sizes.size()),
        at::TensorOptions(scalar_type_of(part->dtype).value()).device(parameter_.tensor.device()));
  }

  const StoredParts& stored_;
  const OptimizerParameter& parameter_;
};

// An optimizer of one of LibTorch's classes, as parts of a tracker.
class KnownOptimizer {
 public:
  KnownOptimizer(torch::optim::Optimizer& optimizer, std::shared_ptr<const OptimizerFields> fields,
                 Tracker& tracker)
      : optimizer_(optimizer),
        fields_(std::move(fields)),
        name_(tracker.name()),
        names_(ParameterNames::of(tracker.graph())),
        fence_(OperatorFence::of(tracker.graph())) {}

  void list(Tracker& here) const {
    here.add_object(class_entry(fields_->name()),
                    internal::make_saveable(
                        [] {
                          return TensorMap{{"", Tensor::scalar(true)}};
                        },
                        [](const TensorMap&) {}));
    for (size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
      ListingFields listing(here, fence_,
                            [group](const char* option) { return option_name(group, option); });
      fields_->visit(optimizer_.param_groups()[group].options(), listing);
    }
    for (const OptimizerParameter& parameter : parameters_of(optimizer_, *names_)) {
      torch::optim::OptimizerParamState* const state = state_of(optimizer_, parameter.tensor);
      if (state == nullptr) continue;
      ListingFields listing(here, fence_, [&parameter](const char* field) {
        return state_name(field, parameter.name);
      });
      fields_->visit(*state, listing);
    }
  }

  // Throws: InvalidArgumentError if the optimizer cannot take what is stored.
  void check(const StoredParts& stored) const {
    std::set<std::string> known;
    check_class(stored, known);
    check_groups(stored, known);
    for (const OptimizerParameter& parameter : parameters_of(optimizer_, *names_)) {
      CheckingFields checking(stored, parameter.name,
                              fields_->has_state_of_each() ? &parameter.tensor : nullptr, known);
      try {
        fields_->visit(*fields_->new_state(), checking);
      } catch (const InvalidArgumentError& error) {
        throw InvalidArgumentError(fmt::format("optimizer \"{}\": {}", name_, error.what()));
      }
    }
    std::vector<std::string> unknown;
    for (const auto& [name, part] : stored.all())
      if (!known.contains(name)) unknown.push_back(fmt::format("\"{}\"", name));
    if (!unknown.empty())
      throw InvalidArgumentError(fmt::format(
          "optimizer \"{}\": the checkpoint has state that belongs to none of its parameters: {}",
          name_, internal::listed(unknown)));
  }

  void make(const StoredParts& stored) const {
    check(stored);
    for (const OptimizerParameter& parameter : parameters_of(optimizer_, *names_)) {
      std::set<std::string> found;
      CheckingFields finding(stored, parameter.name, nullptr, found);
      fields_->visit(*fields_->new_state(), finding);
      if (found.empty()) {
        if (!stored.is_partial()) remove_state(optimizer_, parameter.tensor);
        continue;
      }
      if (state_of(optimizer_, parameter.tensor) == nullptr)
        set_state(optimizer_, parameter.tensor, fields_->new_state());
      MakingFields making(stored, parameter);
      fields_->visit(*state_of(optimizer_, parameter.tensor), making);
    }
  }

 private:
  void check_class(const StoredParts& stored, std::set<std::string>& known) const {
    for (const std::string& name : stored.beneath("class").names()) {
      if (name != fields_->name())
        throw InvalidArgumentError(
            fmt::format("optimizer \"{}\": found the state of {}, expected that of {}", name_, name,
                        fields_->name()));
      known.insert(class_entry(name));
    }
  }

  void check_groups(const StoredParts& stored, std::set<std::string>& known) const {
    const size_t expected = optimizer_.param_groups().size();
    const StoredParts groups = stored.beneath("param_groups");
    const size_t found = groups.names().size();
    if (found != expected && !(stored.is_partial() && found < expected))
      throw InvalidArgumentError(fmt::format(
          "optimizer \"{}\": found {} parameter groups, expected {}", name_, found, expected));
    for (const auto& [name, part] : groups.all()) known.insert("param_groups/" + name);
  }

  torch::optim::Optimizer& optimizer_;
  const std::shared_ptr<const OptimizerFields> fields_;
  const std::string name_;
  const std::shared_ptr<ParameterNames> names_;
  const std::shared_ptr<OperatorFence> fence_;
};

void warn_of_duplicates(const torch::optim::Optimizer& optimizer, const std::string& name) {
  std::set<const at::TensorImpl*> known;
  size_t place = 0;
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) {
      if (!known.insert(parameter.unsafeGetTensorImpl()).second)
        log_warning(fmt::format(
            "optimizer \"{}\" has parameter {} twice, and changes it twice in each step: "
            "LibTorch's "
            "parameters() has a tensor that two modules share once for each; pass it only once",
            name, place));
      ++place;
    }
}

}  // namespace
}  // namespace libtorch

void track(Tracker& tracker, torch::optim::Optimizer& optimizer) {
  libtorch::warn_of_duplicates(optimizer, tracker.name());
  std::shared_ptr<const libtorch::OptimizerFields> fields =
      libtorch::OptimizerFields::of(optimizer);
  if (!fields) return libtorch::track_foreign_optimizer(tracker, optimizer);
  const auto known =
      std::make_shared<libtorch::KnownOptimizer>(optimizer, std::move(fields), tracker);
  tracker.add_provider({.list = [known](Tracker& here) { known->list(here); },
                        .make = [known](const StoredParts& stored) { known->make(stored); },
                        .check = [known](const StoredParts& stored) { known->check(stored); }});
}

}  // namespace crochet::inline v0
