// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/module_modes.h"

#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/internal/listed.h"
#include "crochet/base/log.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

void visit_modules(
    torch::nn::Module& module, const std::string& path, std::set<const torch::nn::Module*>& visited,
    const std::function<void(torch::nn::Module& module, const std::string& path)>& visit) {
  if (!visited.insert(&module).second) return;
  visit(module, path);
  for (const auto& child : module.named_children())
    visit_modules(*child.value(), path.empty() ? child.key() : path + '.' + child.key(), visited,
                  visit);
}

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + '.' + name;
}

template <typename Visit>
Modes modes_by_module(torch::nn::Module& module, const Visit& visit) {
  Modes modes;
  std::set<const torch::nn::Module*> visited;
  visit_modules(module, "", visited, [&](torch::nn::Module& each, const std::string& path) {
    visit(each, path, modes);
  });
  return modes;
}

std::string text(bool value) { return value ? "true" : "false"; }
bool is_true(const std::string& value) { return value == "true"; }

Modes training_modes(torch::nn::Module& module) {
  return modes_by_module(module, [](torch::nn::Module& each, const std::string& path,
                                    Modes& modes) {
    modes.push_back(
        {joined(path, "training"),
         {text(each.is_training()), [&each](const auto& value) { each.train(is_true(value)); }}});
  });
}

template <typename Visit>
Modes modes_by_parameter(torch::nn::Module& module, const Visit& visit) {
  return modes_by_module(module,
                         [&](torch::nn::Module& each, const std::string& path, Modes& modes) {
                           for (const auto& item : each.named_parameters(/*recurse=*/false))
                             if (item.value().defined())
                               visit(item.value(), joined(path, item.key()), modes);
                         });
}

Modes requires_grad_modes(torch::nn::Module& module) {
  return modes_by_parameter(
      module, [](const at::Tensor& parameter, const std::string& name, Modes& modes) {
        modes.push_back({name, {text(parameter.requires_grad()), [parameter](const auto& value) {
                                  at::Tensor(parameter).set_requires_grad(is_true(value));
                                }}});
      });
}

// Hooks are functions of the program, which no checkpoint has.
Modes hook_modes(torch::nn::Module& module) {
  return modes_by_parameter(
      module, [](const at::Tensor& parameter, const std::string& name, Modes& modes) {
        const auto* const meta = torch::autograd::impl::get_autograd_meta(parameter);
        if (meta == nullptr || !meta->cpp_hooks_list_) return;
        size_t count = 0;
        for (const auto& hook : *meta->cpp_hooks_list_)
          if (hook) ++count;
        if (count > 0) modes.push_back({name, {std::to_string(count), {}}});
      });
}

template <typename Layer>
bool add_probability(torch::nn::Module& module, const std::string& path, Modes& modes) {
  auto* const layer = crochet::internal::dynamic_as<Layer>(&module);
  if (layer == nullptr) return false;
  modes.push_back({joined(path, "p"),
                   {fmt::format("{}", layer->options.p()),
                    [layer](const std::string& value) { layer->options.p(std::stod(value)); }}});
  return true;
}

// As the layer prints it; empty if it prints only its class.
std::string printed_options(const torch::nn::Module& module) {
  std::ostringstream stream;
  stream.precision(9);
  module.pretty_print(stream);
  const std::string text = stream.str();
  return text.find('(') == std::string::npos ? "" : text;
}

Modes option_modes(torch::nn::Module& module) {
  using namespace torch::nn;
  return modes_by_module(module, [](Module& each, const std::string& path, Modes& modes) {
    if (add_probability<DropoutImpl>(each, path, modes) ||
        add_probability<Dropout2dImpl>(each, path, modes) ||
        add_probability<Dropout3dImpl>(each, path, modes) ||
        add_probability<AlphaDropoutImpl>(each, path, modes) ||
        add_probability<FeatureAlphaDropoutImpl>(each, path, modes))
      return;
    if (std::string options = printed_options(each); !options.empty())
      modes.push_back({path.empty() ? "module" : path, {std::move(options), {}}});
  });
}

Tensor to_tensor(std::vector<std::string> texts) {
  const auto size = static_cast<int64_t>(texts.size());
  return Tensor::from(std::move(texts), {size});
}

Tensor to_texts(const Modes& modes) {
  std::vector<std::string> texts;
  for (const auto& [name, mode] : modes) texts.push_back(name + '=' + mode.value);
  return to_tensor(std::move(texts));
}
Tensor to_texts(const std::map<std::string, std::string>& values) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : values) texts.push_back(name + '=' + value);
  return to_tensor(std::move(texts));
}

std::map<std::string, std::string> from_texts(const TensorMap& state) {
  const auto found = state.find("");
  if (found == state.end() || found->second.dtype() != DType::kString)
    throw InvalidArgumentError("expected texts \"name=value\"");
  std::map<std::string, std::string> values;
  for (const std::string& text : found->second.strings()) {
    const size_t end = text.find('=');
    if (end == std::string::npos)
      throw InvalidArgumentError(fmt::format("found \"{:.60}\", expected \"name=value\"", text));
    values.emplace(text.substr(0, end), text.substr(end + 1));
  }
  return values;
}

class ModesObject final : public Saveable, public crochet::internal::NamingState {
 public:
  ModesObject(std::string module, std::string key, std::function<Modes()> list, std::string absent)
      : module_(std::move(module)),
        key_(std::move(key)),
        name_(crochet::internal::full_name(module_, key_)),
        list_(std::move(list)),
        absent_(std::move(absent)) {}

  TensorMap save() const override { return {{"", to_texts(list_())}}; }

  TensorMap by_own_names(TensorMap state, const StoredNameOf& stored_name_of) const override {
    std::map<std::string, std::string> rest = from_texts(state), own;
    const std::map<std::string, std::string> stored = rest;
    for (const auto& [name, mode] : list_()) {
      auto stored_as = stored_in_list(module_, key_, name, stored_name_of);
      if (stored_as == name) {  // A rule about all that is in a module is about the module.
        stored_as = stored_in_list(module_, key_, name + '.', stored_name_of);
        if (stored_as) stored_as->pop_back();
      }
      rest.erase(name);
      if (stored_as) rest.erase(*stored_as);
      if (!stored_as)
        own.emplace(name, mode.value);
      else if (const auto found = stored.find(*stored_as); found != stored.end())
        own.emplace(name, found->second);
    }
    own.merge(rest);
    return {{"", to_texts(own)}};
  }

  void restore(const TensorMap& state) override {
    std::map<std::string, std::string> stored = from_texts(state);
    std::vector<std::string> set, left;
    const Modes present = list_();
    for (const auto& [name, mode] : present) {
      const auto found = stored.find(name);
      const bool is_stored = found != stored.end();
      const std::string value = is_stored ? found->second : absent_;
      if (is_stored) stored.erase(found);
      if (!value.empty() && value != mode.value)
        (mode.set ? set : left).push_back(difference(name, value, mode.value));
      // Also what is equal: a module that was set before set its children.
      if (is_stored && mode.set) mode.set(value);
    }
    if (!absent_.empty())
      for (const auto& [name, value] : stored) left.push_back(difference(name, value, absent_));
    log(set, left);
  }

 private:
  static std::string difference(const std::string& name, const std::string& stored,
                                const std::string& own) {
    return fmt::format("{} was {} and is {} in this program", name, stored, own);
  }
  void log(const std::vector<std::string>& set, const std::vector<std::string>& left) const {
    if (!set.empty())
      log_warning(
          fmt::format("\"{0}\": the checkpoint's values count: {1}; .restore.keep = "
                      "{{\"{0}\"}} keeps this program's",
                      name_, crochet::internal::listed(set)));
    if (!left.empty())
      log_warning(fmt::format("\"{}\": differs from the checkpoint, which cannot change it: {}",
                              name_, crochet::internal::listed(left)));
  }

  const std::string module_;
  const std::string key_;
  const std::string name_;  // For messages.
  const std::function<Modes()> list_;
  const std::string absent_;  // The value of what is not listed; empty if there is none.
};

}  // namespace

ModuleMode make_mode(const std::string& key, const std::string& name, std::function<Modes()> list,
                     std::string absent) {
  return {key, std::make_shared<ModesObject>(name, key, std::move(list), std::move(absent))};
}

std::optional<std::string> stored_in_list(
    const std::string& module, const std::string& list, const std::string& name,
    const crochet::internal::NamingState::StoredNameOf& stored_name_of) {
  const std::string start = module.empty() ? "" : module + '/';
  const std::optional<std::string> stored_as = stored_name_of(start + name);
  if (!stored_as) return std::nullopt;
  const std::string list_stored_as = stored_name_of(start + list).value_or(start + list);
  const std::string stored_start =
      list_stored_as.ends_with(list) ? list_stored_as.substr(0, list_stored_as.size() - list.size())
                                     : start;
  return stored_as->starts_with(stored_start) ? stored_as->substr(stored_start.size()) : name;
}

std::vector<ModuleMode> modes_of(torch::nn::Module& module, const std::string& name) {
  const auto mode = [&](const char* key, Modes (*list)(torch::nn::Module&), const char* absent) {
    return make_mode(
        key, name, [&module, list] { return list(module); }, absent);
  };
  return {mode("modes/training", training_modes, ""),
          mode("modes/requires_grad", requires_grad_modes, ""),
          mode("modes/options", option_modes, ""), mode("modes/hooks", hook_modes, "0")};
}

}  // namespace crochet::inline v0::libtorch::internal
