// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/graph.h"

#include <algorithm>
#include <cassert>
#include <unordered_set>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/engines/local/internal/session.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::local {

using internal::Node;
using internal::node_of;
using internal::VariableNode;

namespace {

constexpr const char* kGlobalStepName = "global_step";

// A variable that is named twice is copied, and swapped with its next value, only once.
std::vector<size_t> unique_indices(std::span<const Variable> variables) {
  std::unordered_set<size_t> seen;
  std::vector<size_t> indices;
  for (const Variable& variable : variables)
    if (const size_t index = node_of(variable).index; seen.insert(index).second)
      indices.push_back(index);
  return indices;
}

}  // namespace

Graph::Graph() : state_(std::make_unique<internal::GraphState>()) {}
Graph::~Graph() = default;

Operation Graph::add(OperationOptions options) { return Operation(&add_node(std::move(options))); }

Node& Graph::add_node(OperationOptions options, bool is_named) {
  check_not_finalized(options.name);
  if (options.name.empty()) throw InvalidArgumentError("an operation without a name");
  if (is_named && state_->nodes_by_name.contains(options.name))
    throw AlreadyExistsError(
        fmt::format("the graph already has an operation \"{}\"", options.name));
  check_outputs(options);
  check_inputs(options);
  check_variables(options);
  auto node = std::make_unique<Node>();
  node->graph = this;
  node->name = options.name;
  node->num_outputs = options.num_outputs;
  node->index = state_->nodes.size();
  node->call = {.kernel = std::move(options.kernel),
                .first_slot = state_->num_slots,
                .checks_inputs = !options.input_specs.empty() &&
                                 (!options.kernel_checks_inputs || options.changes_state()),
                .changes_state = options.changes_state()};
  for (const Output& input : options.inputs)
    node->input_slots.push_back(node_of(input).slot(input.index()));
  node->updates = unique_indices(options.updates);
  node->replaces = unique_indices(options.replaces);
  node->options = std::move(options);
  state_->num_slots += static_cast<size_t>(node->num_outputs);
  if (is_named) state_->nodes_by_name.emplace(node->name, node.get());
  state_->nodes.push_back(std::move(node));
  return *state_->nodes.back();
}

void Graph::check_outputs(const OperationOptions& options) const {
  for (const std::vector<Output>* const outputs :
       {&options.inputs, &options.control_inputs, &options.after})
    for (const Output& output : *outputs)
      if (output.graph() != this)
        throw InvalidArgumentError(
            fmt::format("operation \"{}\": {} is not an output of this graph", options.name,
                        to_string(output)));
}

void Graph::check_inputs(const OperationOptions& options) const {
  assert(options.input_specs.empty() || options.input_specs.size() == options.inputs.size());
  assert(options.output_specs.empty() ||
         options.output_specs.size() == static_cast<size_t>(options.num_outputs));
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    const Output& input = options.inputs[i];
    if (!input.has_value())
      throw InvalidArgumentError(fmt::format("operation \"{}\": its input {} has no value",
                                             options.name, to_string(input)));
    const TensorSpec* const found = node_of(input).output_spec(input.index());
    if (found == nullptr || options.input_specs.empty()) continue;
    if (!options.input_specs[i].agrees_with(*found))
      throw InvalidArgumentError(fmt::format("operation \"{}\": input {}, {}, is {}, expected {}",
                                             options.name, i, to_string(input), to_string(*found),
                                             to_string(options.input_specs[i])));
  }
}

void Graph::check_variables(const OperationOptions& options) const {
  for (const std::vector<Variable>* const variables :
       {&options.reads, &options.updates, &options.replaces})
    for (const Variable& variable : *variables)
      if (!variable || variable.info()->graph != this || !node_of(variable).is_owned())
        throw InvalidArgumentError(
            fmt::format("operation \"{}\": \"{}\" is not a variable that this graph owns",
                        options.name, variable ? variable.name() : "(none)"));
  for (const Variable& variable : options.replaces)
    if (element_size(variable.dtype()) == 0)
      throw InvalidArgumentError(
          fmt::format("operation \"{}\": \"{}\" of type {} cannot be replaced", options.name,
                      variable.name(), variable.dtype()));
}

const TensorSpec* internal::Node::output_spec(int output) const {
  return options.output_specs.empty() ? nullptr
                                      : &options.output_specs[static_cast<size_t>(output)];
}

void internal::Node::check_inputs(std::span<const Tensor> values) const {
  const std::vector<TensorSpec>& specs = options.input_specs;
  for (size_t i = 0; i < specs.size(); ++i)
    if (!specs[i].admits(values[input_slots[i]]))
      throw InvalidArgumentError(fmt::format(
          "operation \"{}\": input {}, {}, is {}, expected {}", name, i,
          to_string(options.inputs[i]), describe(values[input_slots[i]]), to_string(specs[i])));
}

Output Graph::placeholder(std::string name, DType dtype, Shape shape) {
  if (!is_valid_dtype(static_cast<int32_t>(dtype)))
    throw InvalidArgumentError(fmt::format("placeholder \"{}\" of type {}", name, dtype));
  Node& node = add_node({.name = std::move(name),
                         .num_outputs = 1,
                         .output_specs = {TensorSpec::of(dtype, std::move(shape))},
                         .concurrent = true});
  node.is_placeholder = true;
  return Output(&node, 0);
}

Operation Graph::group(std::string name, std::vector<Output> operations) {
  return add(
      {.name = std::move(name), .control_inputs = std::move(operations), .concurrent = true});
}

OperationOptions Graph::passing_on(std::string name, const OpInput& value) {
  OperationOptions operation =
      internal::typed_operation(*this, std::move(name), {&value, 1},
                                [](const Tensor& tensor) { return tensor; }, {.concurrent = true});
  if (value.use() == OpInput::Use::kRead) {
    operation.output_specs = {TensorSpec::of(value.variable().dtype(), value.variable().shape())};
  } else if (const TensorSpec* const spec =
                 node_of(value.output()).output_spec(value.output().index())) {
    operation.output_specs = {*spec};
  }
  return operation;
}

Output Graph::name(std::string name, const OpInput& value) {
  return add(passing_on(std::move(name), value))[0];
}

Output Graph::value(std::string name, std::function<Tensor()> compute, std::vector<Output> after) {
  const auto kernel = [compute = std::move(compute)](KernelContext& context) {
    context.set_output(0, compute());
  };
  return add(
      {.name = std::move(name), .num_outputs = 1, .after = std::move(after), .kernel = kernel})[0];
}

const VariableNode* Graph::find_variable(std::string_view name) const {
  const auto found = state_->variables_by_name.find(name);
  return found == state_->variables_by_name.end() ? nullptr : found->second;
}

VariableNode& Graph::add_variable(std::string name, DType dtype, Shape shape) {
  check_not_finalized(name);
  if (name.empty()) throw InvalidArgumentError("a variable without a name");
  if (find_variable(name) != nullptr)
    throw AlreadyExistsError(fmt::format("the graph already has a variable \"{}\"", name));
  if (std::ranges::find(saveables(), name, &RegisteredSaveable::name) != saveables().end())
    throw AlreadyExistsError(fmt::format("the graph already has an object \"{}\"", name));
  auto variable = std::make_unique<VariableNode>();
  variable->graph = this;
  variable->name = std::move(name);
  variable->dtype = dtype;
  variable->shape = std::move(shape);
  variable->index = state_->variables.size();
  state_->variables.push_back(std::move(variable));
  state_->variables_by_name.emplace(state_->variables.back()->name, state_->variables.back().get());
  return *state_->variables.back();
}

OwnedVariable Graph::variable(std::string name, Tensor initial) {
  if (!initial.is_set())
    throw InvalidArgumentError(fmt::format("variable \"{}\" has no initial value", name));
  VariableNode& node = add_variable(std::move(name), initial.dtype(), initial.shape());
  node.initial = std::move(initial);
  const OwnedVariable variable(&node);
  node.value = Output(&add_node(passing_on(node.name, variable), /*is_named=*/false), 0);
  return variable;
}

Variable Graph::borrow(std::string name, BorrowedArray array) {
  const ArrayView view = array.view();
  if (element_size(view.dtype) == 0)
    throw InvalidArgumentError(
        fmt::format("array \"{}\": elements of type {} have no fixed size", name, view.dtype));
  if (std::ranges::count(saveables(), name, &RegisteredSaveable::name) > 0)
    throw AlreadyExistsError(fmt::format("the graph already has an object \"{}\"", name));
  VariableNode& node = add_variable(std::move(name), view.dtype, possible_shape(array, view));
  node.array = std::move(array);
  return Variable(&node);
}

void Graph::set_copy_threads(int num_threads) {
  crochet::internal::check_at_least("set_copy_threads: num_threads", num_threads, 0);
  state_->copier = crochet::internal::make_shared_copier(num_threads);
}

void Graph::set_background_copies(bool on) { state_->background_copies = on; }
bool Graph::background_copies() const { return state_->background_copies; }
void Graph::set_checks_snapshots(bool on) { state_->checks_snapshots = on; }
bool Graph::checks_snapshots() const { return state_->checks_snapshots; }

void Graph::saveable(std::string name, std::shared_ptr<Saveable> object) {
  check_not_finalized(name);
  if (name.empty()) throw InvalidArgumentError("an object without a name");
  if (!object) throw InvalidArgumentError(fmt::format("object \"{}\" is null", name));
  if (find_variable(name) != nullptr)
    throw AlreadyExistsError(fmt::format("the graph already has a variable \"{}\"", name));
  add_saveable({.name = std::move(name), .object = std::move(object)});
}

void Graph::saveable(std::string name, Saveable& object) {
  saveable(std::move(name), std::shared_ptr<Saveable>(std::shared_ptr<void>(), &object));
}

OwnedVariable Graph::create_global_step() {
  global_step_variable_ = variable(kGlobalStepName, Tensor::scalar<int64_t>(0));
  global_step_ = name(kGlobalStepName, global_step_variable_);
  return global_step_variable_;
}

Operation Graph::increment_global_step(std::vector<Output> control_inputs) {
  if (!global_step_variable_) create_global_step();
  return add_global_step_increment(1, std::move(control_inputs));
}

Operation Graph::add_global_step_increment(int64_t increment, std::vector<Output> control_inputs) {
  if (!global_step_variable_)
    throw FailedPreconditionError(
        "increment_global_step: the graph did not create its global step");
  checked_global_step(increment);
  std::string name = increment == 1 ? "increment_global_step"
                                    : fmt::format("increment_global_step_by_{}", increment);
  return op(std::move(name), {update(global_step_variable_)},
            [increment](int64_t& step) {
              step = checked_global_step(checked_global_step(step) + increment);
            },
            {.control_inputs = std::move(control_inputs)});
}

std::unique_ptr<crochet::Session> Graph::new_session(const std::string& target,
                                                     const SessionConfig& config) {
  if (!target.empty())
    throw InvalidArgumentError(
        fmt::format("the local engine runs in this process; found target \"{}\", "
                    "expected \"\"",
                    target));
  if (!config.serialized.empty())
    throw InvalidArgumentError(fmt::format("the local engine takes no settings; found {} bytes",
                                           config.serialized.size()));
  return std::make_unique<local::internal::Session>(*this);
}

const OperationInfo* Graph::find_operation(std::string_view name) const {
  const auto found = state_->nodes_by_name.find(name);
  return found == state_->nodes_by_name.end() ? nullptr : found->second;
}

std::vector<std::string> Graph::operation_names() const {
  std::vector<std::string> names;
  for (const auto& node : state_->nodes)
    if (find_operation(node->name) == node.get()) names.push_back(node->name);
  return names;
}

Output Graph::requested(std::string_view name) const {
  if (find_operation(name) == nullptr)
    if (const VariableNode* const variable = find_variable(name); variable && variable->value)
      return variable->value;
  return crochet::Graph::requested(name);
}

Shape Graph::present_shape(const Variable& variable) const {
  const auto& node = static_cast<const VariableNode&>(*variable.info());
  return node.is_owned() ? variable.shape() : node.array.view().shape;
}

std::vector<Variable> Graph::variables() const {
  std::vector<Variable> variables;
  for (const auto& node : state_->variables) variables.emplace_back(node.get());
  return variables;
}

}  // namespace crochet::inline v0::local
