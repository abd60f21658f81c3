// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/optimizer_fields.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include "crochet/base/internal/dynamic_type.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

namespace optim = torch::optim;

template <typename Options>
void visit_adam_options(Options& options, FieldVisitor& visit) {
  visit("lr", options.lr());
  visit("betas/0", std::get<0>(options.betas()));
  visit("betas/1", std::get<1>(options.betas()));
  visit("eps", options.eps());
  visit("weight_decay", options.weight_decay());
  visit("amsgrad", options.amsgrad());
}
void visit_fields(optim::AdamOptions& options, FieldVisitor& visit) {
  visit_adam_options(options, visit);
}
void visit_fields(optim::AdamWOptions& options, FieldVisitor& visit) {
  visit_adam_options(options, visit);
}

template <typename State>
void visit_adam_state(State& state, FieldVisitor& visit) {
  visit("step", state.step());
  visit("exp_avg", state.exp_avg());
  visit("exp_avg_sq", state.exp_avg_sq());
  visit("max_exp_avg_sq", state.max_exp_avg_sq());
}
void visit_fields(optim::AdamParamState& state, FieldVisitor& visit) {
  visit_adam_state(state, visit);
}
void visit_fields(optim::AdamWParamState& state, FieldVisitor& visit) {
  visit_adam_state(state, visit);
}

void visit_fields(optim::SGDOptions& options, FieldVisitor& visit) {
  visit("lr", options.lr());
  visit("momentum", options.momentum());
  visit("dampening", options.dampening());
  visit("weight_decay", options.weight_decay());
  visit("nesterov", options.nesterov());
}
void visit_fields(optim::SGDParamState& state, FieldVisitor& visit) {
  visit("momentum_buffer", state.momentum_buffer());
}

void visit_fields(optim::RMSpropOptions& options, FieldVisitor& visit) {
  visit("lr", options.lr());
  visit("alpha", options.alpha());
  visit("eps", options.eps());
  visit("weight_decay", options.weight_decay());
  visit("momentum", options.momentum());
  visit("centered", options.centered());
}
void visit_fields(optim::RMSpropParamState& state, FieldVisitor& visit) {
  visit("step", state.step());
  visit("square_avg", state.square_avg());
  visit("momentum_buffer", state.momentum_buffer());
  visit("grad_avg", state.grad_avg());
}

void visit_fields(optim::AdagradOptions& options, FieldVisitor& visit) {
  visit("lr", options.lr());
  visit("lr_decay", options.lr_decay());
  visit("weight_decay", options.weight_decay());
  visit("initial_accumulator_value", options.initial_accumulator_value());
  visit("eps", options.eps());
}
void visit_fields(optim::AdagradParamState& state, FieldVisitor& visit) {
  visit("step", state.step());
  visit("sum", state.sum());
}

void visit_fields(optim::LBFGSOptions& options, FieldVisitor& visit) {
  visit("lr", options.lr());
  visit("max_iter", options.max_iter());
  visit(
      "max_eval",
      [&options] { return options.max_eval() ? std::to_string(*options.max_eval()) : ""; },
      [&options](const std::string& text) {
        if (text.empty()) {
          options.max_eval({});
        } else {
          options.max_eval(std::stoll(text));
        }
      });
  visit("tolerance_grad", options.tolerance_grad());
  visit("tolerance_change", options.tolerance_change());
  visit("history_size", options.history_size());
  visit(
      "line_search_fn", [&options] { return options.line_search_fn().value_or(""); },
      [&options](const std::string& text) {
        if (text.empty()) {
          options.line_search_fn({});
        } else {
          options.line_search_fn(text);
        }
      });
}
// Without `al`, which each step fills again.
void visit_fields(optim::LBFGSParamState& state, FieldVisitor& visit) {
  visit("func_evals", state.func_evals());
  visit("n_iter", state.n_iter());
  visit("t", state.t());
  visit("prev_loss", state.prev_loss());
  visit("d", state.d());
  visit("H_diag", state.H_diag());
  visit("prev_flat_grad", state.prev_flat_grad());
  visit("old_dirs", state.old_dirs());
  visit("old_stps", state.old_stps());
  visit("ro", state.ro());
}

template <typename Optimizer, typename Options, typename State, bool kStateOfEach = true>
class FieldsOf final : public OptimizerFields {
 public:
  explicit FieldsOf(const char* name) : name_(name) {}

  const char* name() const override { return name_; }
  std::unique_ptr<optim::OptimizerParamState> new_state() const override {
    return std::make_unique<State>();
  }
  void visit(optim::OptimizerParamState& state, FieldVisitor& visitor) const override {
    visit_fields(static_cast<State&>(state), visitor);
  }
  void visit(optim::OptimizerOptions& options, FieldVisitor& visitor) const override {
    visit_fields(static_cast<Options&>(options), visitor);
  }
  bool has_state_of_each() const override { return kStateOfEach; }

 private:
  const char* name_;
};

enum class Match { kExactly, kAlsoDerived };

template <typename Optimizer, typename Options, typename State, bool kStateOfEach = true>
std::unique_ptr<const OptimizerFields> fields_if(const optim::Optimizer& optimizer, Match match,
                                                 const char* name) {
  const bool matches = match == Match::kExactly
                           ? crochet::internal::is_exactly<Optimizer>(optimizer)
                           : crochet::internal::dynamic_as<const Optimizer>(&optimizer) != nullptr;
  if (!matches) return nullptr;
  return std::make_unique<FieldsOf<Optimizer, Options, State, kStateOfEach>>(name);
}

std::unique_ptr<const OptimizerFields> fields_of(const optim::Optimizer& optimizer, Match match) {
  using namespace torch::optim;
  if (auto fields = fields_if<Adam, AdamOptions, AdamParamState>(optimizer, match, "Adam"))
    return fields;
  if (auto fields = fields_if<AdamW, AdamWOptions, AdamWParamState>(optimizer, match, "AdamW"))
    return fields;
  if (auto fields = fields_if<SGD, SGDOptions, SGDParamState>(optimizer, match, "SGD"))
    return fields;
  if (auto fields =
          fields_if<RMSprop, RMSpropOptions, RMSpropParamState>(optimizer, match, "RMSprop"))
    return fields;
  if (auto fields =
          fields_if<Adagrad, AdagradOptions, AdagradParamState>(optimizer, match, "Adagrad"))
    return fields;
  return fields_if<LBFGS, LBFGSOptions, LBFGSParamState, false>(optimizer, match, "LBFGS");
}

}  // namespace

std::unique_ptr<const OptimizerFields> OptimizerFields::of(const optim::Optimizer& optimizer) {
  return fields_of(optimizer, Match::kExactly);
}

std::unique_ptr<const OptimizerFields> OptimizerFields::of_base(const optim::Optimizer& optimizer) {
  return fields_of(optimizer, Match::kAlsoDerived);
}

}  // namespace crochet::inline v0::libtorch::internal
