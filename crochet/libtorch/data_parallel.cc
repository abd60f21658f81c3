// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/data_parallel.h"

#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "crochet/base/error.h"
#include "crochet/libtorch/internal/collectives.h"
#include "crochet/libtorch/internal/module_layout.h"
#include "crochet/libtorch/internal/sending_devices.h"

namespace crochet::inline v0::libtorch {
namespace {

// The type in which gradients of `type` are sent and added: Gloo does not add all of them, and
// halves would lose precision.
at::ScalarType sent_type(const internal::NamedTensor& parameter) {
  switch (parameter.tensor.scalar_type()) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
      return at::kFloat;
    case at::kDouble:
      return at::kDouble;
    default:
      throw InvalidArgumentError(fmt::format(
          "libtorch::DataParallel: the gradients of \"{}\" are of type {}, expected floating point",
          parameter.name, c10::toString(parameter.tensor.scalar_type())));
  }
}

void check_dense(const internal::NamedTensor& value) {
  if (value.tensor.layout() != at::kStrided || value.tensor.is_quantized())
    throw InvalidArgumentError(fmt::format(
        "libtorch::DataParallel: \"{}\" is sparse or quantized, expected a dense tensor",
        value.name));
}

// Gives all ranks the values of rank 0, of those that are sent from `device`. Bytes are sent, so
// that no type is changed.
void broadcast_from(at::Device device, internal::Collectives& collectives,
                    const std::vector<internal::NamedTensor>& values) {
  if (values.empty()) return;
  const at::NoGradGuard guard;
  std::vector<at::Tensor> parts;
  for (const internal::NamedTensor& value : values)
    parts.push_back(value.tensor.detach().to(device).contiguous().reshape({-1}).view(at::kByte));
  const at::Tensor bytes = at::cat(parts);
  if (bytes.numel() == 0) return;
  collectives.start_broadcast(bytes);
  collectives.finish();
  int64_t offset = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const at::Tensor& target = values[i].tensor;
    const int64_t length = parts[i].numel();
    // Cloned, because a view of another type needs memory that is aligned for it.
    const at::Tensor part = bytes.narrow(0, offset, length).clone();
    if (length > 0) target.detach().copy_(part.view(target.scalar_type()).reshape(target.sizes()));
    offset += length;
  }
}

void broadcast(const internal::SendingDevices& devices, internal::Collectives& collectives,
               const std::vector<internal::NamedTensor>& values) {
  for (const at::Device device : devices.all()) {
    std::vector<internal::NamedTensor> own;
    for (const internal::NamedTensor& value : values)
      if (devices.of(value.tensor) == device) own.push_back(value);
    broadcast_from(device, collectives, own);
  }
}

}  // namespace

class DataParallel::State : public std::enable_shared_from_this<State> {
 public:
  State(torch::nn::Module& module, std::shared_ptr<Group> group,
        const DataParallelOptions& options);

  void add_hooks();
  void remove_hooks() noexcept;
  void finish();
  void pause() { ++num_pauses_; }
  void resume() { --num_pauses_; }

 private:
  class Hook;
  struct Parameter {
    internal::NamedTensor value;
    size_t bucket = 0;
    int64_t offset = 0;
    bool is_ready = false;
    // Owns the accumulator, too, which the tensor does not.
    std::function<void()> remove_hook = {};
  };
  struct Bucket {
    std::vector<size_t> parameters;
    // The gradients, and then for each parameter how many ranks had one.
    at::Tensor values;
    size_t num_ready = 0;
  };

  void fill_buckets(size_t bucket_bytes);
  void check_ranks(const DataParallelOptions& options);
  void is_ready(size_t parameter) noexcept;
  void start_next();
  void give_up() noexcept;
  void copy_back(const Bucket& bucket);
  void reset();

  const std::shared_ptr<Group> group_;
  std::vector<Parameter> parameters_;  // Those that have gradients, last first.
  std::vector<Bucket> buckets_;
  std::vector<internal::NamedTensor> all_parameters_;
  std::vector<internal::NamedTensor> buffers_;
  const internal::SendingDevices devices_;
  const bool broadcasts_buffers_;
  std::unique_ptr<internal::Collectives> collectives_;  // Null for a rank alone.
  int num_pauses_ = 0;

  std::mutex mutex_;  // For what follows, which hooks change: they run in threads of their devices.
  size_t num_started_ = 0;
  std::exception_ptr error_;
};

class DataParallel::State::Hook final : public torch::autograd::FunctionPostHook {
 public:
  Hook(std::weak_ptr<State> state, size_t parameter)
      : state_(std::move(state)), parameter_(parameter) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    if (const std::shared_ptr<State> state = state_.lock()) state->is_ready(parameter_);
    return outputs;
  }

 private:
  const std::weak_ptr<State> state_;
  const size_t parameter_;
};

DataParallel::State::State(torch::nn::Module& module, std::shared_ptr<Group> group,
                           const DataParallelOptions& options)
    : group_(std::move(group)),
      all_parameters_(internal::parameters_of(module)),
      buffers_(internal::buffers_of(module)),
      devices_(options.backend, all_parameters_, buffers_),
      broadcasts_buffers_(options.broadcast_buffers) {
  check_ranks(options);
  for (const internal::NamedTensor& value : all_parameters_) check_dense(value);
  for (const internal::NamedTensor& value : buffers_) check_dense(value);
  fill_buckets(options.bucket_bytes);
  if (group_->size() == 1) return;
  try {
    collectives_ = std::make_unique<internal::Collectives>(
        *group_, options.host, options.timeout_secs.value_or(group_->timeout_secs()),
        options.backend);
    broadcast(devices_, *collectives_, all_parameters_);
    broadcast(devices_, *collectives_, buffers_);
  } catch (...) {
    give_up();
    throw;
  }
}

void DataParallel::State::check_ranks(const DataParallelOptions& options) {
  std::vector<std::string> lines;
  for (const internal::NamedTensor& value : all_parameters_)
    lines.push_back(internal::describe_layout("parameter", value) +
                    devices_.describe(value.tensor));
  for (const internal::NamedTensor& value : buffers_)
    lines.push_back(internal::describe_layout("buffer", value) + devices_.describe(value.tensor));
  // They decide what is sent.
  lines.push_back(fmt::format("DataParallelOptions::bucket_bytes {}", options.bucket_bytes));
  lines.push_back(
      fmt::format("DataParallelOptions::broadcast_buffers {}", options.broadcast_buffers));
  lines.push_back(fmt::format("DataParallelOptions::backend for {}",
                              options.backend.make
                                  ? c10::DeviceTypeName(options.backend.device, /*lower_case=*/true)
                                  : "nothing"));
  internal::check_same_lines(*group_, lines);
}

// In reverse order: the gradients of the last parameters are computed first.
void DataParallel::State::fill_buckets(size_t bucket_bytes) {
  std::vector<int64_t> lengths;
  std::vector<at::ScalarType> types;
  std::vector<at::Device> devices;
  size_t bytes = 0;
  for (auto value = all_parameters_.rbegin(); value != all_parameters_.rend(); ++value) {
    if (!value->tensor.requires_grad()) continue;
    const at::ScalarType type = sent_type(*value);
    const size_t own = static_cast<size_t>(value->tensor.numel()) * c10::elementSize(type);
    const at::Device device = devices_.of(value->tensor);
    if (buckets_.empty() || types.back() != type || devices.back() != device ||
        bytes + own > bucket_bytes) {
      buckets_.emplace_back();
      lengths.push_back(0);
      types.push_back(type);
      devices.push_back(device);
      bytes = 0;
    }
    buckets_.back().parameters.push_back(parameters_.size());
    parameters_.push_back(
        {.value = *value, .bucket = buckets_.size() - 1, .offset = lengths.back()});
    lengths.back() += value->tensor.numel();
    bytes += own;
  }
  if (group_->size() == 1) return;
  for (size_t i = 0; i < buckets_.size(); ++i)
    buckets_[i].values =
        at::zeros({lengths[i] + static_cast<int64_t>(buckets_[i].parameters.size())},
                  at::TensorOptions(types[i]).device(devices[i]));
}

void DataParallel::State::add_hooks() {
  if (!collectives_) return;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto accumulator = torch::autograd::impl::grad_accumulator(parameters_[i].value.tensor);
    const auto key = accumulator->add_post_hook(std::make_unique<Hook>(weak_from_this(), i));
    parameters_[i].remove_hook = [accumulator, key] { accumulator->del_post_hook(key); };
  }
}

void DataParallel::State::remove_hooks() noexcept {
  for (Parameter& parameter : parameters_)
    if (parameter.remove_hook) std::exchange(parameter.remove_hook, nullptr)();
}

// Called by backward(). An error waits for finish(): backward() might run in another thread.
void DataParallel::State::is_ready(size_t parameter) noexcept {
  const std::lock_guard lock(mutex_);
  if (num_pauses_ > 0 || error_) return;
  try {
    Parameter& own = parameters_[parameter];
    if (own.is_ready)
      throw FailedPreconditionError(
          fmt::format("libtorch::DataParallel: \"{}\" has a second gradient before finish(): all "
                      "backward() of a step but the last need no_sync()",
                      own.value.name));
    own.is_ready = true;
    ++buckets_[own.bucket].num_ready;
    // All ranks start the buckets in the same order.
    while (num_started_ < buckets_.size() &&
           buckets_[num_started_].num_ready == buckets_[num_started_].parameters.size())
      start_next();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void DataParallel::State::start_next() {
  const at::NoGradGuard guard;
  Bucket& bucket = buckets_[num_started_];
  const auto num_parameters = static_cast<int64_t>(bucket.parameters.size());
  const at::Tensor flags =
      bucket.values.narrow(0, bucket.values.size(0) - num_parameters, num_parameters);
  flags.fill_(1);
  int64_t flag = 0;
  for (const size_t index : bucket.parameters) {
    const auto& [name, tensor] = parameters_[index].value;
    if (!tensor.requires_grad() ||
        sent_type(parameters_[index].value) != bucket.values.scalar_type())
      throw FailedPreconditionError(fmt::format(
          "libtorch::DataParallel: \"{}\" has changed its type since DataParallel was made", name));
    const at::Tensor part = bucket.values.narrow(0, parameters_[index].offset, tensor.numel());
    const at::Tensor& grad = tensor.grad();
    if (grad.defined()) {
      part.copy_((grad.is_sparse() ? grad.to_dense() : grad).reshape({-1}));
    } else {
      part.zero_();
      flags.narrow(0, flag, 1).zero_();
    }
    ++flag;
  }
  bucket.values.div_(group_->size());
  collectives_->start_sum(bucket.values);
  ++num_started_;
}

void DataParallel::State::finish() {
  if (num_pauses_ > 0)
    throw FailedPreconditionError("libtorch::DataParallel: finish() while no_sync() is in effect");
  // No hook runs now, unless the program calls backward() in another thread.
  const std::lock_guard lock(mutex_);
  try {
    if (error_) std::rethrow_exception(error_);
    if (!collectives_) return;
    while (num_started_ < buckets_.size()) start_next();
    collectives_->finish();
    for (const Bucket& bucket : buckets_) copy_back(bucket);
    if (broadcasts_buffers_) broadcast(devices_, *collectives_, buffers_);
  } catch (...) {
    error_ = std::current_exception();
    give_up();
    throw;
  }
  reset();
}

// Called in a catch block. The ranks cannot be connected again, so a recovery would be in vain.
void DataParallel::State::give_up() noexcept {
  // The other ranks notice that the connections end.
  collectives_.reset();
  group_->leave(describe(std::current_exception()));
}

void DataParallel::State::copy_back(const Bucket& bucket) {
  const at::NoGradGuard guard;
  const auto num_parameters = static_cast<int64_t>(bucket.parameters.size());
  at::Tensor flags;  // Read only if they say something, as that waits for the device.
  int64_t flag = -1;
  for (const size_t index : bucket.parameters) {
    at::Tensor tensor = parameters_[index].value.tensor;
    ++flag;
    if (!tensor.grad().defined()) {
      if (!flags.defined())
        flags = bucket.values.narrow(0, bucket.values.size(0) - num_parameters, num_parameters)
                    .to(at::kCPU);
      if (flags[flag].item<double>() == 0) continue;  // No rank had a gradient.
    }
    const at::Tensor average =
        bucket.values.narrow(0, parameters_[index].offset, tensor.numel()).reshape(tensor.sizes());
    if (!tensor.grad().defined() || tensor.grad().is_sparse())
      tensor.mutable_grad() = at::empty_like(tensor, at::MemoryFormat::Preserve);
    tensor.mutable_grad().copy_(average);
  }
}

void DataParallel::State::reset() {
  num_started_ = 0;
  for (Bucket& bucket : buckets_) bucket.num_ready = 0;
  for (Parameter& parameter : parameters_) parameter.is_ready = false;
}

DataParallel::DataParallel(torch::nn::Module& module, std::shared_ptr<Group> group,
                           const DataParallelOptions& options)
    : state_(std::make_shared<State>(module, std::move(group), options)) {
  state_->add_hooks();
}

DataParallel::~DataParallel() { state_->remove_hooks(); }

void DataParallel::finish() { state_->finish(); }

DataParallel::NoSync DataParallel::no_sync() { return NoSync(state_); }

DataParallel::NoSync::NoSync(std::shared_ptr<State> state) : state_(std::move(state)) {
  state_->pause();
}

DataParallel::NoSync::~NoSync() { state_->resume(); }

}  // namespace crochet::inline v0::libtorch
