// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/libtorch/test_training.h"

#include <stdexcept>
#include <utility>

#include "crochet/libtorch/internal/optimizer_parameters.h"

namespace crochet {

void SlowSgdOptions::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, decay);
}
void SlowSgdOptions::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(decay);
}
void SlowSgdState::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(int64_t, step);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(torch::Tensor, velocity);
}
void SlowSgdState::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(step);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(velocity);
}

torch::Tensor SlowSgd::step(LossClosure closure) {
  torch::Tensor loss = closure ? closure() : torch::Tensor();
  const torch::NoGradGuard no_grad;
  for (auto& group : param_groups_) {
    auto& options = static_cast<SlowSgdOptions&>(group.options());
    for (auto& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      if (libtorch::internal::state_of(*this, parameter) == nullptr) {
        auto fresh = std::make_unique<SlowSgdState>();
        fresh->velocity(torch::zeros_like(parameter));
        libtorch::internal::set_state(*this, parameter, std::move(fresh));
      }
      auto& own = static_cast<SlowSgdState&>(*libtorch::internal::state_of(*this, parameter));
      own.step(own.step() + 1);
      own.velocity().mul_(options.decay()).add_(parameter.grad(), 1.0 / own.step());
      parameter.add_(own.velocity(), -options.lr());
    }
  }
  return loss;
}

namespace {
template <typename Self, typename Archive>
void serialize_slow_sgd(Self& self, Archive& archive) {
  torch::optim::serialize<SlowSgdState, SlowSgdOptions>(archive, self);
}
}  // namespace

void SlowSgd::save(torch::serialize::OutputArchive& archive) const {
  serialize_slow_sgd(*this, archive);
}
void SlowSgd::load(torch::serialize::InputArchive& archive) { serialize_slow_sgd(*this, archive); }

const std::vector<std::string>& all_optimizers() {
  static const auto* const kinds = new std::vector<std::string>{
      "Adam",    "Adam, amsgrad",     "AdamW",   "SGD",   "SGD, momentum",
      "RMSprop", "RMSprop, centered", "Adagrad", "LBFGS", "SlowSgd"};
  return *kinds;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const std::string& kind, const std::vector<torch::Tensor>& parameters) {
  namespace optim = torch::optim;
  if (kind == "Adam") return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(0.01));
  if (kind == "Adam, amsgrad")
    return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(0.01).amsgrad(true));
  if (kind == "AdamW") return std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions(0.01));
  if (kind == "SGD") return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.05));
  if (kind == "SGD, momentum")
    return std::make_unique<optim::SGD>(parameters,
                                        optim::SGDOptions(0.05).momentum(0.9).dampening(0.1));
  if (kind == "RMSprop")
    return std::make_unique<optim::RMSprop>(parameters, optim::RMSpropOptions(0.01));
  if (kind == "RMSprop, centered")
    return std::make_unique<optim::RMSprop>(
        parameters, optim::RMSpropOptions(0.01).momentum(0.9).centered(true));
  if (kind == "Adagrad")
    return std::make_unique<optim::Adagrad>(parameters, optim::AdagradOptions(0.05).lr_decay(0.01));
  if (kind == "LBFGS")
    return std::make_unique<optim::LBFGS>(parameters,
                                          optim::LBFGSOptions(0.1).max_iter(3).history_size(4));
  if (kind == "SlowSgd") return std::make_unique<SlowSgd>(parameters, SlowSgdOptions(0.05));
  throw std::invalid_argument("no optimizer " + kind);
}

TestData::TestData() {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(17);
  x_ = torch::randn({40, 6}, generator);
  y_ = torch::randint(3, {40}, generator, torch::kLong);
}

torch::data::Example<> TestData::get_batch(const std::vector<size_t>& indices) const {
  const std::vector<int64_t> places(indices.begin(), indices.end());
  const torch::Tensor index = torch::tensor(places, torch::kLong);
  return {x_.index_select(0, index), y_.index_select(0, index)};
}

TestTraining::TestTraining(const std::string& kind)
    : kind(kind),
      optimizer(make_optimizer(kind, net->parameters())),
      schedule(*optimizer, 3, 0.5),
      batches(TestData(), {.batch_size = 7, .seed = 5}) {}

void TestTraining::step() {
  const auto [x, y] = batches.next();
  const auto closure = [this, x = x, y = y] {
    optimizer->zero_grad();
    torch::Tensor loss = torch::nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    return loss;
  };
  if (kind == "LBFGS") {  // Its steps call the closure several times.
    loss = optimizer->step(closure);
  } else {
    loss = closure();
    optimizer->step();
  }
  schedule.step();
}

}  // namespace crochet
