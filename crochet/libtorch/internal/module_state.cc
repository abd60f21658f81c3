// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/module_state.h"

#include <cstring>
#include <set>
#include <utility>

#include <ATen/ATen.h>

#include "crochet/base/error.h"
#include "crochet/libtorch/internal/scalar_type.h"
#include "crochet/libtorch/internal/tensor_memory.h"
#include "crochet/libtorch/internal/tracked_tensor.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/tracking/internal/restore_purpose.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

constexpr char kZeroGradients[] = "zero_gradients";

std::string gradient_name(const std::string& parameter) { return "gradients/" + parameter; }
// An entry whose name says that a parameter or buffer changed its size in the training.
std::string resized_name(const std::string& tensor) { return "resized/" + tensor; }

Shape any_size(const Shape& shape) {
  return Shape(std::vector<int64_t>(static_cast<size_t>(shape.rank()), Shape::kUnknownDimension));
}

// Without reading all of one that is not, and without waiting for a device.
bool is_known_to_be_zero(const at::Tensor& tensor) {
  if (tensor.is_sparse()) return tensor._nnz() == 0;
  if (!is_plain(tensor)) return tensor.numel() == 0;
  const auto* const bytes = static_cast<const char*>(tensor.data_ptr());
  const size_t size = tensor.nbytes();
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

at::Tensor zero_gradient_of(const at::Tensor& tensor) {
  return at::zeros_like(tensor, at::TensorOptions().requires_grad(false),
                        at::MemoryFormat::Preserve);
}

at::IntArrayRef sizes_of(const Shape& shape) {
  const std::span<const int64_t> sizes = shape.dimensions();
  return {sizes.data(), sizes.size()};
}

// A list of the parameters whose gradient is zero.
class ZeroGradients final : public Saveable, public crochet::internal::NamingState {
 public:
  ZeroGradients(std::string module, std::vector<std::string> zero,
                std::function<std::vector<NamedTensor>()> parameters)
      : module_(std::move(module)), zero_(std::move(zero)), parameters_(std::move(parameters)) {}

  TensorMap save() const override { return to_state(zero_); }

  void restore(const TensorMap& state) override {
    const auto names = names_in(state);
    for (const auto& [name, parameter] : parameters_())
      if (names.contains(name)) at::Tensor(parameter).mutable_grad() = zero_gradient_of(parameter);
  }

  TensorMap by_own_names(TensorMap state, const StoredNameOf& stored_name_of) const override {
    const auto names = names_in(state);
    std::vector<std::string> own;
    for (const auto& [name, parameter] : parameters_()) {
      const auto stored_as = stored_in_list(module_, kZeroGradients, name, stored_name_of);
      if (stored_as && names.contains(*stored_as)) own.push_back(name);
    }
    return to_state(std::move(own));
  }

 private:
  static TensorMap to_state(std::vector<std::string> names) {
    const auto size = static_cast<int64_t>(names.size());
    return {{"", Tensor::from(std::move(names), {size})}};
  }
  static std::set<std::string> names_in(const TensorMap& state) {
    const auto found = state.find("");
    if (found == state.end() || found->second.dtype() != DType::kString)
      throw InvalidArgumentError("expected names of parameters");
    const auto names = found->second.strings();
    return {names.begin(), names.end()};
  }

  const std::string module_;
  const std::vector<std::string> zero_;
  const std::function<std::vector<NamedTensor>()> parameters_;
};

std::shared_ptr<Saveable> size_mark() {
  return crochet::internal::make_saveable(
      [] {
        return TensorMap{{"", Tensor::scalar(true)}};
      },
      [](const TensorMap&) {});
}

}  // namespace

void ModuleState::track(Tracker& tracker, ModuleParts parts) {
  const std::shared_ptr<const ModuleState> state(new ModuleState(tracker, std::move(parts)));
  tracker.add_provider({.list = [state](Tracker& here) { state->list(here); },
                        .plan = [state](const StoredParts& stored) { return state->plan(stored); },
                        .make = [state](const StoredParts& stored,
                                        const StoredParts& read) { state->make(stored, read); }});
}

ModuleState::ModuleState(const Tracker& tracker, ModuleParts parts)
    : name_(tracker.name()),
      parts_(std::move(parts)),
      names_(ParameterNames::of(tracker.graph())),
      barrier_(OperatorBarrier::of(tracker.graph())),
      purpose_(crochet::internal::RestorePurpose::of(tracker.graph())) {}

std::string ModuleState::full_name(const std::string& name) const {
  return crochet::internal::full_name(name_, name);
}

void ModuleState::list(Tracker& here) const {
  // First: what is listed holds tensors, too.
  if (!here.is_restoring() && purpose_->is_same_training && parts_.check) parts_.check();
  const std::vector<NamedTensor> parameters = parts_.parameters();
  names_->set(name_, parameters);
  const auto list_tensors = [&](const auto& tensors, const auto& barrier) {
    for (const auto& [name, tensor] : tensors) {
      track_tensor(here, name, tensor, barrier);
      if (names_->is_resized(full_name(name), tensor.sizes()) && !here.is_restoring())
        here.add_object(resized_name(name), size_mark());
    }
  };
  list_tensors(parameters, barrier_);
  list_tensors(parts_.buffers(), std::shared_ptr<OperatorBarrier>());
  if (here.is_restoring())
    for (const std::string& name : read_marks_) here.add_object(resized_name(name), size_mark());
  if (!purpose_->is_same_training) return;
  if (parts_.saves_gradients) list_gradients(here);
  for (const ModuleMode& mode : parts_.modes) here.add_object(mode.key, mode.object);
}

void ModuleState::list_gradients(Tracker& here) const {
  std::vector<std::string> zero;
  for (const auto& [name, parameter] : parts_.parameters()) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    if (!here.is_restoring() && is_known_to_be_zero(gradient))
      zero.push_back(name);
    else if (!gradient.is_sparse())
      track_tensor(here, gradient_name(name), gradient, barrier_);
    else if (!here.is_restoring())
      track_tensor(here, gradient_name(name), gradient.to_dense(), nullptr);
  }
  if (zero.empty() && !here.is_restoring()) return;
  here.add_object(kZeroGradients,
                  std::make_shared<ZeroGradients>(name_, std::move(zero), parts_.parameters));
}

std::vector<StatePart> ModuleState::plan(const StoredParts& stored) const {
  std::vector<StatePart> parts;
  const std::vector<NamedTensor> parameters = parts_.parameters();
  names_->set(name_, parameters);
  std::set<std::string> known;
  const auto plan_tensors = [&](const auto& tensors) {
    for (const auto& [name, tensor] : tensors) {
      const bool is_resized = stored.find(resized_name(name)) != nullptr;
      names_->plan_size(full_name(name), is_resized);
      const Shape shape = is_resized ? any_size(shape_of(tensor)) : shape_of(tensor);
      parts.push_back({.key = name,
                       .dtype = checked_dtype(tensor),
                       .shape = shape,
                       .present_shape = shape_of(tensor),
                       .is_fixed = true});
      parts.push_back({.key = resized_name(name),
                       .is_object = true,
                       .is_optional = true,
                       .named_after = full_name(name)});
      known.insert(name);
    }
  };
  plan_tensors(parameters);
  plan_tensors(parts_.buffers());
  // Of buffers that the module makes later.
  for (const auto& [name, part] : stored.beneath("resized").all())
    if (!known.contains(name))
      parts.push_back({.key = resized_name(name), .is_object = true, .is_optional = true});
  if (!purpose_->is_same_training) return parts;
  if (parts_.saves_gradients) {
    for (const auto& [name, parameter] : parameters)
      parts.push_back({.key = gradient_name(name),
                       .dtype = checked_dtype(parameter),
                       .shape = names_->is_size_planned(full_name(name))
                                    ? any_size(shape_of(parameter))
                                    : shape_of(parameter),
                       .is_optional = true,
                       .named_after = full_name(name)});
    parts.push_back({.key = kZeroGradients, .is_object = true, .is_optional = true});
  }
  for (const ModuleMode& mode : parts_.modes)
    parts.push_back({.key = mode.key, .is_object = true, .is_optional = true});
  return parts;
}

void ModuleState::make(const StoredParts& stored, const StoredParts& read) const {
  read_marks_.clear();
  for (const auto& [name, part] : read.beneath("resized").all()) read_marks_.push_back(name);
  const auto make_sizes = [&](const auto& tensors) {
    for (const auto& [name, tensor] : tensors) {
      if (read.find(resized_name(name)) != nullptr) names_->set_resized(full_name(name));
      const StoredParts::Part* const part = read.find(name);
      if (part == nullptr || part->shape == shape_of(tensor)) continue;
      at::Tensor(tensor).mutable_grad() = at::Tensor();
      at::Tensor(tensor).set_data(at::empty(sizes_of(part->shape), tensor.options()));
    }
  };
  const std::vector<NamedTensor> parameters = parts_.parameters();
  make_sizes(parameters);
  make_sizes(parts_.buffers());
  if (!purpose_->is_same_training || !parts_.saves_gradients) return;
  for (const NamedTensor& parameter : parameters) make_gradient(parameter, stored, read);
}

void ModuleState::make_gradient(const NamedTensor& parameter, const StoredParts& stored,
                                const StoredParts& read) const {
  at::Tensor& gradient = at::Tensor(parameter.tensor).mutable_grad();
  const std::string name = gradient_name(parameter.name);
  if (read.find(name) != nullptr) {
    if (!gradient.defined() || gradient.sizes() != parameter.tensor.sizes() || gradient.is_sparse())
      gradient = zero_gradient_of(parameter.tensor);
  } else if (stored.find(name) == nullptr && !stored.is_partial()) {
    gradient = at::Tensor();
  }
}

}  // namespace crochet::inline v0::libtorch::internal
