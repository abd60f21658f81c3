// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/known_optimizer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/listed.h"
#include "crochet/base/log.h"
#include "crochet/libtorch/internal/initial_optimizers.h"
#include "crochet/libtorch/internal/optimizer_parameters.h"
#include "crochet/libtorch/internal/optimizer_visitors.h"
#include "crochet/libtorch/internal/scalar_type.h"
#include "crochet/libtorch/internal/tensor_memory.h"
#include "crochet/libtorch/track.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

constexpr char kInitialOptions[] = "initial_options";

// An entry whose name is the class: so a restore compares it before it changes anything.
std::string class_entry(const std::string& name) { return "class/" + name; }

std::string membership_name(size_t group, const std::string& parameter) {
  return fmt::format("param_groups/{}/params/{}", group, parameter);
}

std::shared_ptr<Saveable> mark() {
  return crochet::internal::make_saveable(
      [] {
        return TensorMap{{"", Tensor::scalar(true)}};
      },
      [](const TensorMap&) {});
}

// An optimizer of one of LibTorch's classes, as parts of a tracker.
class KnownOptimizer {
 public:
  KnownOptimizer(torch::optim::Optimizer& optimizer, std::shared_ptr<const OptimizerFields> fields,
                 Tracker& tracker)
      : optimizer_(optimizer),
        fields_(std::move(fields)),
        name_(tracker.name()),
        names_(ParameterNames::of(tracker.graph())),
        initial_optimizers_(InitialOptimizers::of(tracker.graph())),
        barrier_(OperatorBarrier::of(tracker.graph())) {
    names_->add(optimizer_);
    const auto [initial, is_new] = initial_optimizers_->by_name.try_emplace(name_);
    initial_ = &initial->second;
    if (!is_new) return;
    initial_->num_groups = optimizer_.param_groups().size();
    initial_->options = option_texts();
  }
  ~KnownOptimizer() { names_->remove(optimizer_); }
  KnownOptimizer(const KnownOptimizer&) = delete;
  KnownOptimizer& operator=(const KnownOptimizer&) = delete;

  void list(Tracker& here) const {
    const std::vector<OptimizerParameter> parameters = parameters_of(optimizer_, *names_);
    if (!here.is_restoring()) check_parameters(parameters);
    here.add_object(class_entry(fields_->name()), mark());
    here.add_object(kInitialOptions, initial_options());
    for (size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
      ListingFields listing(here, barrier_,
                            [group](const char* option) { return option_name(group, option); });
      fields_->visit(optimizer_.param_groups()[group].options(), listing);
    }
    for (const OptimizerParameter& parameter : parameters) {
      if (parameter.group >= initial_->num_groups)
        here.add_object(membership_name(parameter.group, parameter.name), mark());
      torch::optim::OptimizerParamState* const state = state_of(optimizer_, parameter.tensor);
      if (state == nullptr) continue;
      ListingFields listing(here, barrier_, [&parameter](const char* field) {
        return state_name(field, parameter.name);
      });
      fields_->visit(*state, listing);
    }
  }

  std::vector<StatePart> plan(const StoredParts& stored) const {
    std::vector<StatePart> parts;
    parts.push_back({.key = class_entry(fields_->name()), .is_object = true, .is_fixed = true});
    parts.push_back({.key = kInitialOptions, .is_object = true, .is_optional = true});
    std::vector<OptimizerParameter> parameters;
    const size_t num_groups = num_groups_after(stored);
    for (const OptimizerParameter& parameter : parameters_of(optimizer_, *names_))
      if (parameter.group < num_groups) parameters.push_back(parameter);
    for (size_t group = 0; group < num_groups; ++group) plan_options(group, stored, parts);
    for (size_t group = optimizer_.param_groups().size(); group < num_groups; ++group)
      for (const NamedTensor& added : added_parameters(group, stored))
        parameters.push_back({added.tensor, added.name, group});
    for (const OptimizerParameter& parameter : parameters) plan_state(parameter, stored, parts);
    return parts;
  }

  void make(const StoredParts& stored, const StoredParts& read) const {
    make_groups(stored, read);
    for (const OptimizerParameter& parameter : parameters_of(optimizer_, *names_)) {
      if (!has_state(read, parameter)) {
        if (!stored.is_partial() && !has_state(stored, parameter))
          remove_state(optimizer_, parameter.tensor);
        continue;
      }
      if (state_of(optimizer_, parameter.tensor) == nullptr)
        set_state(optimizer_, parameter.tensor, fields_->new_state());
      MakingFields making(stored, read, parameter);
      fields_->visit(*state_of(optimizer_, parameter.tensor), making);
    }
  }

 private:
  using Texts = std::map<std::string, std::string>;

  bool has_state(const StoredParts& parts, const OptimizerParameter& parameter) const {
    FindingFields finding(parts, parameter.name);
    fields_->visit(*fields_->new_state(), finding);
    return finding.has_found();
  }

  // Throws: FailedPreconditionError if a parameter was replaced only in the optimizer, or only in
  // its module: what the step changes would be another tensor than the one that is saved.
  void check_parameters(const std::vector<OptimizerParameter>& parameters) const {
    std::vector<std::string>& known = initial_->parameters;
    known.resize(std::max(known.size(), parameters.size()));
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (const std::string former = names_->former_name(parameters[i].tensor); !former.empty())
        throw FailedPreconditionError(fmt::format(
            "optimizer \"{}\" changes the former tensor of parameter \"{}\", which its module has "
            "replaced: put the new one in param_groups()[{}].params(), and move its state in "
            "state()",
            name_, former, parameters[i].group));
      std::string name = names_->find(parameters[i].tensor);
      if (name.empty() && !known[i].empty())
        throw FailedPreconditionError(fmt::format(
            "optimizer \"{}\" changes another tensor than parameter \"{}\" in its place {}, which "
            "no tracked module has: replace it in the module's parameters_ as well, and track the "
            "module before its optimizer; or change the parameter in place, by copy_() or "
            "set_data()",
            name_, known[i], i));
      known[i] = std::move(name);
    }
  }

  Texts option_texts() const {
    Texts texts;
    for (size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
      TextsOfFields adding(texts, group);
      fields_->visit(optimizer_.param_groups()[group].options(), adding);
    }
    return texts;
  }

  // What the program gave: a restore compares it with what the run was given that saved.
  std::shared_ptr<Saveable> initial_options() const {
    return crochet::internal::make_saveable(
        [this] { return initial_->save_options(); },
        [this](const TensorMap& state) { initial_->compare_options(state, name_, read_options_); });
  }

  // Groups that were added in the training are added again, or removed.
  size_t num_groups_after(const StoredParts& stored) const {
    size_t num_stored = stored.beneath("param_groups").names().size();
    const size_t num_own = optimizer_.param_groups().size();
    while (num_stored > num_own && added_parameters(num_stored - 1, stored).empty()) --num_stored;
    return stored.is_partial() ? std::max(num_own, num_stored)
                               : std::max(initial_->num_groups, num_stored);
  }

  // The parameters of a group that the program does not have; empty if it cannot be made.
  std::vector<NamedTensor> added_parameters(size_t group, const StoredParts& stored) const {
    std::vector<NamedTensor> parameters;
    const std::string members = fmt::format("param_groups/{}/params", group);
    for (const auto& [name, part] : stored.beneath(members).all()) {
      const at::Tensor tensor = names_->tensor(name);
      if (!tensor.defined()) return {};
      parameters.push_back({name, tensor});
    }
    return parameters;
  }

  void make_groups(const StoredParts& stored, const StoredParts& read) const {
    auto& groups = optimizer_.param_groups();
    const size_t num_groups = num_groups_after(stored);
    while (groups.size() > num_groups) {
      for (const at::Tensor& parameter : groups.back().params())
        remove_state(optimizer_, parameter);
      groups.pop_back();
    }
    std::vector<std::string> added;
    while (groups.size() < num_groups) {
      std::vector<at::Tensor> tensors;
      for (const NamedTensor& parameter : added_parameters(groups.size(), stored)) {
        tensors.push_back(parameter.tensor);
        added.push_back(fmt::format("\"{}\"", parameter.name));
      }
      optimizer_.add_param_group(torch::optim::OptimizerParamGroup(std::move(tensors)));
    }
    if (!added.empty())
      log_info(
          fmt::format("optimizer \"{}\": parameter groups of the checkpoint were added, with {}",
                      name_, crochet::internal::listed(added)));
    read_options_.clear();
    for (const auto& [name, part] : read.beneath("param_groups").all())
      read_options_.insert("param_groups/" + name);
  }

  void plan_options(size_t group, const StoredParts& stored, std::vector<StatePart>& parts) const {
    const bool is_own = group < optimizer_.param_groups().size();
    PlanningFields planning(parts, stored, {}, {},
                            [group](const char* option) { return option_name(group, option); });
    fields_->visit(is_own ? optimizer_.param_groups()[group].options() : optimizer_.defaults(),
                   planning);
  }

  void plan_state(const OptimizerParameter& parameter, const StoredParts& stored,
                  std::vector<StatePart>& parts) const {
    StatePart like;
    if (fields_->has_state_of_each()) {
      like.dtype = dtype_of(parameter.tensor.scalar_type()).value_or(DType::kInvalid);
      like.shape = shape_of(parameter.tensor);
      if (names_->is_size_planned(parameter.name))
        like.shape = Shape(
            std::vector<int64_t>(static_cast<size_t>(like.shape.rank()), Shape::kUnknownDimension));
    }
    StatePart model;
    model.is_optional = true;
    model.named_after = names_->find(parameter.tensor);
    PlanningFields planning(parts, stored, model, std::move(like),
                            [&](const char* field) { return state_name(field, parameter.name); });
    fields_->visit(*fields_->new_state(), planning);
    const std::string membership = membership_name(parameter.group, parameter.name);
    if (parameter.group >= initial_->num_groups || stored.find(membership) != nullptr)
      parts.push_back({.key = membership,
                       .is_object = true,
                       .is_optional = true,
                       .named_after = model.named_after});
  }

  torch::optim::Optimizer& optimizer_;
  const std::shared_ptr<const OptimizerFields> fields_;
  const std::string name_;
  const std::shared_ptr<ParameterNames> names_;
  const std::shared_ptr<InitialOptimizers> initial_optimizers_;
  InitialOptimizer* initial_ = nullptr;  // In the former.
  const std::shared_ptr<OperatorBarrier> barrier_;
  mutable std::set<std::string> read_options_;  // By the restore that is being made.
};

}  // namespace

void track_known(Tracker& tracker, torch::optim::Optimizer& optimizer,
                 std::shared_ptr<const OptimizerFields> fields) {
  const auto known = std::make_shared<KnownOptimizer>(optimizer, std::move(fields), tracker);
  tracker.add_provider({.list = [known](Tracker& here) { known->list(here); },
                        .plan = [known](const StoredParts& stored) { return known->plan(stored); },
                        .make = [known](const StoredParts& stored,
                                        const StoredParts& read) { known->make(stored, read); }});
}

}  // namespace crochet::inline v0::libtorch::internal
