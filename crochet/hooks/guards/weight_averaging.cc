// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/weight_averaging.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/hooks/guards/internal/program_values.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/tensor/internal/convert.h"

namespace crochet::inline v0 {
namespace {

WeightAveragingOptions checked(WeightAveragingOptions options) {
  if (options.values.empty())
    throw InvalidArgumentError(
        "WeightAveraging: values is not set: expected names of values, such as {\"model\"}");
  if (!(options.decay >= 0 && options.decay < 1))
    throw InvalidArgumentError(fmt::format(
        "WeightAveraging: decay is {}: expected at least 0 and less than 1", options.decay));
  return options;
}

bool is_floating(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf ||
         dtype == DType::kBfloat16;
}

// In which the average of such values is kept.
DType average_type(DType dtype) { return dtype == DType::kDouble ? DType::kDouble : DType::kFloat; }

Tensor converted(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result(dtype, tensor.shape());
  internal::convert(tensor, dtype, result.writable_bytes());
  return result;
}

template <typename T>
void move_towards(Tensor& average, const Tensor& value, double part) {
  const std::span<const T> from = value.flat<T>();
  const std::span<T> to = average.writable_flat<T>();
  const T weight = static_cast<T>(part);
  for (size_t i = 0; i < to.size(); ++i) to[i] += weight * (from[i] - to[i]);
}

}  // namespace

WeightAveraging::WeightAveraging(WeightAveragingOptions options)
    : internal::PeriodicHook(Fetches::List{}, {.every_steps = options.every_n_steps,
                                               .owner = "WeightAveraging",
                                               .steps_option = "every_n_steps"}),
      options_(checked(std::move(options))) {}

WeightAveraging::~WeightAveraging() = default;
WeightAveraging::WeightAveraging(WeightAveraging&&) noexcept = default;

void WeightAveraging::begin(Graph& graph) {
  internal::PeriodicHook::begin(graph);
  const auto mark = std::make_shared<GraphMark>(GraphMark{graph});
  graph.attach(mark);
  graph_ = mark;
}

void WeightAveraging::after_create_session(Session& session, Coordinator& coordinator) {
  internal::PeriodicHook::after_create_session(session, coordinator);
  session_ = &session;
  // A recovery without a checkpoint begins again.
  if (!is_restored_) {
    averages_.clear();
    num_updates_ = 0;
  }
  const auto includes = [patterns = options_.values](const std::string& name, DType dtype) {
    return is_floating(dtype) && patterns.match(name);
  };
  values_ = std::make_unique<internal::ProgramValues>(session, includes);
  if (values_->names().empty())
    throw InvalidArgumentError(
        fmt::format("WeightAveraging: no floating-point value of the program matches {}",
                    fmt::join(options_.values.patterns(), ", ")));
  if (const auto layout = internal::RankLayout::find(session.graph()))
    for (const std::string& name : values_->names())
      if (layout->is_own(name))
        throw InvalidArgumentError(fmt::format(
            "WeightAveraging: \"{}\" is not the same in all ranks, whose averages are one", name));
  update(session, 0);
}

std::optional<SessionRunArgs> WeightAveraging::before_run(SessionRunContext& context) {
  is_restored_ = false;
  return internal::PeriodicHook::before_run(context);
}

void WeightAveraging::look(int64_t, const FetchValues&, SessionRunContext& context) {
  double decay = options_.decay;
  const auto n = static_cast<double>(num_updates_);
  if (options_.warm_up) decay = std::min(decay, (1 + n) / (10 + n));
  update(context.session(), 1 - decay);
  ++num_updates_;
}

void WeightAveraging::update(Session& session, double part) {
  TensorMap updated;
  const internal::ProgramValues::Copy values = values_->read(session);
  values_->for_each(values, [&](const std::string& name, const Tensor& value) {
    const DType dtype = average_type(value.dtype());
    const Tensor now = converted(value, dtype);
    const auto found = averages_.find(name);
    if (found == averages_.end() || found->second.dtype() != dtype ||
        found->second.shape() != value.shape()) {
      updated.emplace(name, now);
      return;
    }
    // Moved, so that it is written in place.
    Tensor average = std::move(found->second);
    if (part > 0 && dtype == DType::kFloat) move_towards<float>(average, now, part);
    if (part > 0 && dtype == DType::kDouble) move_towards<double>(average, now, part);
    updated.emplace(name, std::move(average));
  });
  averages_ = std::move(updated);
}

void WeightAveraging::replace_values(Session* given, const std::function<void()>& function) {
  if (is_replaced_)
    throw FailedPreconditionError("WeightAveraging: with_averages() was called within itself");
  const auto mark = graph_.lock();
  if (!mark || averages_.empty())
    throw FailedPreconditionError(
        "WeightAveraging: with_averages() was called before the run, or after its Loop was "
        "destroyed");
  std::unique_ptr<Session> own;
  if (given == nullptr) given = session_;
  if (given == nullptr) {
    if (!mark->graph.starts_initialized())
      throw FailedPreconditionError(
          "WeightAveraging: with_averages() was called at the end of the run or after it: call "
          "with_averages(session, function) in an evaluation, with its session");
    own = mark->graph.new_session();
  }
  Session& session = own ? *own : *given;
  const internal::ProgramValues::Copy before = values_->read(session);
  internal::ProgramValues::Copy averages = before;
  values_->for_each(averages, [&](const std::string& name, Tensor& value) {
    const auto found = averages_.find(name);
    if (found != averages_.end() && found->second.shape() == value.shape())
      value = converted(found->second, value.dtype());
  });
  is_replaced_ = true;
  const auto put_back = [&] {
    is_replaced_ = false;
    values_->write(session, before);
  };
  try {
    values_->write(session, averages);
    function();
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
}

void WeightAveraging::end(Session&) { session_ = nullptr; }

void WeightAveraging::on_error(std::exception_ptr) { session_ = nullptr; }

SaveableMap WeightAveraging::saveables() {
  const auto restore = [this](const TensorMap& state) {
    for (const auto& [name, average] : state)
      if (average.dtype() != average_type(average.dtype()))
        throw InvalidArgumentError(
            fmt::format("WeightAveraging: the average of \"{}\" is {}, expected float32 or float64",
                        name, describe(average)));
    averages_ = state;
    is_restored_ = true;
  };
  return {{"averages", internal::make_saveable([this] { return averages_; }, restore)},
          {"num_updates", saveable_value(num_updates_)}};
}

}  // namespace crochet::inline v0
