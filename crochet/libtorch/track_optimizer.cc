// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "crochet/base/class_name.h"
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
    for (const auto& [key, part] : stored_.beneath(name_(field)).all())
      add_tensor(fmt::format("{}/{}", name_(field), key));
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
  void add_tensor(const std::string& name) {
    StatePart part = model_;
    part.key = name;
    part.dtype = like_.dtype;
    part.shape = like_.shape;
    // One state for all parameters: its tensors have the shape that is stored.
    if (part.dtype == DType::kInvalid) {
      const StoredParts::Part* const stored = stored_.find(name);
      if (stored == nullptr) return;
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

constexpr char kInitialOptions[] = "initial_options";

// What the program gave an optimizer before its training changed it, by the optimizer's name.
struct InitialOptimizers {
  struct Initial {
    size_t num_groups = 0;
    std::map<std::string, std::string> options = {};  // As texts, by their names.
    // The names of the parameters, by their places; empty for one that no module has.
    std::vector<std::string> parameters = {};
  };
  std::map<std::string, Initial> by_name = {};

  static std::shared_ptr<InitialOptimizers> of(local::Graph& graph) {
    if (const auto attached = graph.attached<InitialOptimizers>(); !attached.empty())
      return attached.front();
    const auto all = std::make_shared<InitialOptimizers>();
    graph.attach(all);
    return all;
  }
};

std::string membership_name(size_t group, const std::string& parameter) {
  return fmt::format("param_groups/{}/params/{}", group, parameter);
}

std::shared_ptr<Saveable> mark() {
  return internal::make_saveable(
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
        fence_(OperatorFence::of(tracker.graph())) {
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
      ListingFields listing(here, fence_,
                            [group](const char* option) { return option_name(group, option); });
      fields_->visit(optimizer_.param_groups()[group].options(), listing);
    }
    for (const OptimizerParameter& parameter : parameters) {
      if (parameter.group >= initial_->num_groups)
        here.add_object(membership_name(parameter.group, parameter.name), mark());
      torch::optim::OptimizerParamState* const state = state_of(optimizer_, parameter.tensor);
      if (state == nullptr) continue;
      ListingFields listing(here, fence_, [&parameter](const char* field) {
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
    return internal::make_saveable(
        [this] {
          std::vector<std::string> texts;
          for (const auto& [name, value] : initial_->options) texts.push_back(name + '=' + value);
          const auto size = static_cast<int64_t>(texts.size());
          return TensorMap{{"", Tensor::from(std::move(texts), {size})}};
        },
        [this](const TensorMap& state) { compare_initial(state); });
  }

  void compare_initial(const TensorMap& state) const {
    const auto found = state.find("");
    if (found == state.end() || found->second.dtype() != DType::kString)
      throw InvalidArgumentError("expected texts \"name=value\"");
    std::vector<std::string> differences, names;
    for (const std::string& text : found->second.strings()) {
      const size_t end = std::min(text.find('='), text.size());
      const std::string name = text.substr(0, end);
      const auto own = initial_->options.find(name);
      if (own == initial_->options.end() || !read_options_.contains(name)) continue;
      std::string stored = text.substr(std::min(end + 1, text.size()));
      if (stored == own->second) continue;
      differences.push_back(fmt::format("{} = {} (this program: {})", name, stored, own->second));
      names.push_back(fmt::format("\"{}/{}\"", name_, name));
      own->second = std::move(stored);
    }
    if (!differences.empty())
      log_warning(fmt::format(
          "optimizer \"{}\": the options of the checkpoint's run count: {}; .restore.keep = {{{}}} "
          "keeps this program's",
          name_, internal::listed(differences), internal::listed(names)));
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
                      name_, internal::listed(added)));
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
    PlanningFields planning(parts, stored, std::move(model), std::move(like),
                            [&](const char* field) { return state_name(field, parameter.name); });
    fields_->visit(*fields_->new_state(), planning);
    const std::string membership = membership_name(parameter.group, parameter.name);
    if (stored.find(membership) != nullptr)
      parts.push_back({.key = membership, .is_object = true, .is_optional = true});
  }

  torch::optim::Optimizer& optimizer_;
  const std::shared_ptr<const OptimizerFields> fields_;
  const std::string name_;
  const std::shared_ptr<ParameterNames> names_;
  const std::shared_ptr<InitialOptimizers> initial_optimizers_;
  InitialOptimizers::Initial* initial_ = nullptr;  // In the former.
  const std::shared_ptr<OperatorFence> fence_;
  mutable std::set<std::string> read_options_;  // By the restore that is being made.
};

void track_known(Tracker& tracker, torch::optim::Optimizer& optimizer,
                 std::shared_ptr<const OptimizerFields> fields) {
  const auto known = std::make_shared<KnownOptimizer>(optimizer, std::move(fields), tracker);
  tracker.add_provider({.list = [known](Tracker& here) { known->list(here); },
                        .plan = [known](const StoredParts& stored) { return known->plan(stored); },
                        .make = [known](const StoredParts& stored,
                                        const StoredParts& read) { known->make(stored, read); }});
}

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

void track_base(Tracker& tracker, torch::optim::Optimizer& optimizer) {
  warn_of_duplicates(optimizer, tracker.name());
  if (std::shared_ptr<const OptimizerFields> fields = OptimizerFields::of_base(optimizer))
    return track_known(tracker, optimizer, std::move(fields));
  track_foreign_optimizer(tracker, optimizer);
}

}  // namespace libtorch

void track(Tracker& tracker, torch::optim::Optimizer& optimizer) {
  using libtorch::OptimizerFields;
  const auto base = OptimizerFields::of_base(optimizer);
  if (base && !OptimizerFields::of(optimizer))
    throw InvalidArgumentError(fmt::format(
        "optimizer \"{0}\": the class {1} is derived from {2}, and may have more state: give it "
        "`void track(crochet::Tracker& tracker)`, which calls "
        "crochet::libtorch::track_base(tracker, "
        "*this) for the state of {2} and tracker(\"name\", member) for each member that changes, "
        "and "
        "track it as {1}, not as Optimizer",
        tracker.name(), class_name_of(optimizer, "of this optimizer"), base->name()));
  libtorch::track_base(tracker, optimizer);
}

}  // namespace crochet::inline v0
