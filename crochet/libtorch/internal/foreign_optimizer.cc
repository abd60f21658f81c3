// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/foreign_optimizer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/class_name.h"
#include "crochet/libtorch/internal/archive_state.h"
#include "crochet/libtorch/internal/optimizer_parameters.h"
#include "crochet/libtorch/internal/parameter_names.h"
#include "crochet/session/internal/naming_state.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

constexpr char kClassKey[] = "class";

std::string group_archive(size_t group) {
  return fmt::format("param_groups:param_groups/{}:", group);
}
std::string parameter_key(size_t group, size_t place) {
  return fmt::format("{}params/{}", group_archive(group), place);
}

// A text value of an archive; "" for any other value.
std::string text_at(const TensorMap& values, const std::string& key) {
  const auto found = values.find(key);
  if (found == values.end() || found->second.dtype() != DType::kString ||
      found->second.num_elements() != 1)
    return "";
  const std::string& text = found->second.strings()[0];
  return text.starts_with("str ") ? text.substr(4) : "";
}

class ForeignOptimizer final : public Saveable, public crochet::internal::NamingState {
 public:
  ForeignOptimizer(torch::optim::Optimizer& optimizer, std::string name,
                   std::shared_ptr<ParameterNames> names)
      : optimizer_(optimizer), name_(std::move(name)), names_(std::move(names)) {}

  TensorMap save() const override {
    const TensorMap values = values_of_archive(functions());
    check_is_complete(values);
    TensorMap state = renamed(values, names_by_address(values));
    state.emplace(kClassKey, Tensor::scalar(own_class()));
    return state;
  }

  TensorMap by_own_names(TensorMap state, const StoredNameOf& stored_name_of) const override {
    std::map<std::string, std::string> own_names;  // By the stored ones.
    std::vector<std::string> staying;
    for (const OptimizerParameter& parameter : parameters_of(optimizer_, *names_)) {
      if (const auto stored_as = stored_name_of(parameter.name))
        own_names.emplace(*stored_as, parameter.name);
      else
        staying.push_back(parameter.name);
    }
    TensorMap own = renamed(state, own_names);
    if (staying.empty()) return own;
    TensorMap present = save();
    for (const std::string& name : staying) {
      const auto is_of = [start = "state:" + name + ':'](const auto& entry) {
        return entry.first.starts_with(start);
      };
      std::erase_if(own, is_of);
      std::copy_if(present.begin(), present.end(), std::inserter(own, own.end()), is_of);
    }
    return own;
  }

  void restore(const TensorMap& state) override {
    TensorMap stored = state;
    check_class(stored);
    stored.erase(kClassKey);
    const TensorMap present = values_of_archive(functions());
    const std::map<std::string, std::string> names = names_by_address(present);
    check_parameters(stored, renamed(present, names));
    std::map<std::string, std::string> addresses;
    for (const auto& [address, name] : names) addresses.emplace(name, address);
    TensorMap values = renamed(stored, addresses);
    // load() knows parameters by their places.
    for_each_place([&](const std::string& key) {
      if (const auto found = present.find(key); found != present.end())
        values.insert_or_assign(key, found->second);
    });
    load_archive(values, functions());
    load_options(values);
  }

  // Throws: InvalidArgumentError for a class that saves nothing or not all of its state.
  void check_is_complete() const { check_is_complete(values_of_archive(functions())); }

 private:
  static bool has_any(const TensorMap& values, std::string_view prefix) {
    const auto found = values.lower_bound(std::string(prefix));
    return found != values.end() && found->first.starts_with(prefix);
  }

  void check_is_complete(const TensorMap& values) const {
    const bool has_groups = has_any(values, "param_groups:");
    if (has_groups && (optimizer_.state().empty() || has_any(values, "state:"))) return;
    throw InvalidArgumentError(fmt::format(
        "optimizer \"{0}\": the save() of class {1} writes no {2}: override save() and load() as "
        "LibTorch's optimizers do, by torch::optim::serialize<State, Options>(archive, *this); or "
        "give the class `void track(crochet::Tracker& tracker)`, which lists its members, and "
        "track "
        "it as {1}, not as Optimizer",
        name_, own_class(), has_groups ? "state of parameters" : "parameter groups"));
  }

  ArchiveFunctions functions() const {
    return {.save = [this](torch::serialize::OutputArchive& archive) { optimizer_.save(archive); },
            .load = [this](torch::serialize::InputArchive& archive) { optimizer_.load(archive); }};
  }

  std::string own_class() const {
    return crochet::internal::class_name_of(optimizer_, "a class that is not known");
  }

  void check_class(const TensorMap& state) const {
    const auto found = state.find(kClassKey);
    if (found == state.end())
      throw InvalidArgumentError(fmt::format(
          "found the state of an optimizer that LibTorch has, expected that of {}", own_class()));
    const std::string& stored = single_string(found->second);
    if (stored != own_class())
      throw InvalidArgumentError(
          fmt::format("found the state of {}, expected that of {}", stored, own_class()));
  }

  static const std::string& single_string(const Tensor& value) {
    if (value.dtype() != DType::kString || value.num_elements() != 1)
      throw InvalidArgumentError(
          fmt::format("\"{}\": found {}, expected a text", kClassKey, describe(value)));
    return value.strings()[0];
  }

  template <typename Use>
  void for_each_place(const Use& use) const {
    for (size_t group = 0; group < optimizer_.param_groups().size(); ++group)
      for (size_t place = 0; place < optimizer_.param_groups()[group].params().size(); ++place)
        use(parameter_key(group, place));
  }

  // Of an archive of this optimizer, which has the addresses as texts.
  std::map<std::string, std::string> names_by_address(const TensorMap& values) const {
    std::map<std::string, std::string> names;
    size_t number = 0;
    for (size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
      const auto& parameters = optimizer_.param_groups()[group].params();
      for (size_t place = 0; place < parameters.size(); ++place, ++number) {
        const std::string address = text_at(values, parameter_key(group, place));
        std::string name = names_->find(parameters[place]);
        if (name.empty()) name = std::to_string(number);
        if (!address.empty()) names.emplace(address, std::move(name));
      }
    }
    return names;
  }

  // With other names for parameters, in keys and in texts.
  static TensorMap renamed(const TensorMap& values,
                           const std::map<std::string, std::string>& names) {
    TensorMap result;
    for (const auto& [key, value] : values) {
      std::string name;
      for (size_t begin = 0; begin <= key.size();) {
        const size_t end = std::min(key.find(':', begin), key.size());
        const std::string part = key.substr(begin, end - begin);
        const auto found = names.find(part);
        name += (begin == 0 ? "" : ":") + (found == names.end() ? part : found->second);
        begin = end + 1;
      }
      const std::string text = text_at(values, key);
      const auto found = names.find(text);
      result.emplace(std::move(name), text.empty() || found == names.end()
                                          ? value
                                          : Tensor::scalar("str " + found->second));
    }
    return result;
  }

  // Throws: InvalidArgumentError unless the groups have the same parameters.
  void check_parameters(const TensorMap& stored, const TensorMap& present) const {
    const auto places = [](const TensorMap& values) {
      std::multiset<std::string> texts;
      for (const auto& [key, value] : values)
        if (key.find(":params/") != std::string::npos && !text_at(values, key).empty())
          texts.insert(key.substr(0, key.find(":params/")) + ": " + text_at(values, key));
      return texts;
    };
    if (places(stored) != places(present))
      throw InvalidArgumentError(
          fmt::format("optimizer \"{}\": the checkpoint has the state of other parameters, or has "
                      "them in other groups: found {}, expected {}",
                      name_, places(stored).size(), places(present).size()));
  }

  // LibTorch 1.13 leaves them as they are in load().
  void load_options(const TensorMap& values) const {
    for (size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
      const std::string prefix = group_archive(group) + "options:";
      TensorMap options;
      for (auto each = values.lower_bound(prefix);
           each != values.end() && each->first.starts_with(prefix); ++each)
        options.emplace(each->first.substr(prefix.size()), each->second);
      if (options.empty()) continue;
      auto& own = optimizer_.param_groups()[group].options();
      load_archive(options, {.save = {}, .load = [&own](torch::serialize::InputArchive& archive) {
                               own.serialize(archive);
                             }});
    }
  }

  torch::optim::Optimizer& optimizer_;
  const std::string name_;
  const std::shared_ptr<ParameterNames> names_;
};

}  // namespace

void track_foreign_optimizer(Tracker& tracker, torch::optim::Optimizer& optimizer) {
  const auto object = std::make_shared<ForeignOptimizer>(optimizer, tracker.name(),
                                                         ParameterNames::of(tracker.graph()));
  object->check_is_complete();
  tracker.add_object("", object);
}

}  // namespace crochet::inline v0::libtorch::internal
