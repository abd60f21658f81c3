// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/session.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <unordered_set>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/run_messages.h"
#include "crochet/engines/tensorflow/internal/session_options.h"
#include "crochet/engines/tensorflow/internal/state_access.h"
#include "crochet/engines/tensorflow/internal/status.h"
#include "crochet/engines/tensorflow/internal/task_placement.h"
#include "crochet/engines/tensorflow/internal/tensor_conversion.h"
#include "crochet/engines/tensorflow/internal/tensor_parts.h"
#include "crochet/engines/tensorflow/server.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow {
namespace {

using crochet::internal::Access;
using crochet::internal::AccessGate;
using internal::is_same;
using internal::Sharing;
using internal::Status;
using internal::TensorPtr;

// The maximum number of names in a message.
constexpr size_t kNamesInMessages = 4;

TF_Output place_of(const Output& output) { return {node_of(output).operation, output.index()}; }

std::string describe_run(std::span<const Output> fetches) {
  std::vector<std::string> names;
  for (const Output& output : fetches.first(std::min(fetches.size(), kNamesInMessages)))
    names.push_back(to_string(output));
  if (fetches.size() > kNamesInMessages) names.emplace_back("...");
  return fmt::format("run of {}", fmt::join(names, ", "));
}

// For a run in a cluster: its target, and the limit if it timed out.
std::string describe_place(const internal::RemoteTarget& remote, const RunOptions& options,
                           Status& status) {
  const std::string place = fmt::format(" at {}", remote.target);
  if (TF_GetCode(status.get()) != TF_DEADLINE_EXCEEDED) return place;
  const int64_t limit =
      options.timeout_in_ms > 0 ? options.timeout_in_ms : int64_t{remote.limit.count()};
  return fmt::format("{}: no answer within {} s{}", place, static_cast<double>(limit) / 1000,
                     internal::describe_absent(remote));
}

// Operations of the graph may give a resource any shape.
void check_part(const Graph::Slice& part, const Shape& shape) {
  if (shape != part.shape)
    throw FailedPreconditionError(
        fmt::format("the part \"{}\" of a variable is {} now, expected {}",
                    part.definition->variable_name, shape, part.shape));
}

// Checked before the run: a step whose values are lost afterwards would be repeated.
void check_fetch(const Graph& graph, const Output& output) {
  graph.check_has(output);
  if (!output.has_value()) return;
  const DType dtype = node_of(output).outputs[static_cast<size_t>(output.index())].dtype;
  if (element_size(dtype) == 0 && dtype != DType::kString)
    throw UnimplementedError(fmt::format(
        "{} cannot be fetched: it is of TensorFlow's type {} ({}), whose values cannot leave "
        "TensorFlow",
        to_string(output), internal::type_number(place_of(output)) % internal::kReferenceTypes,
        dtype));
}

const Graph::VariableNode& checked_node(const Graph& graph, const Variable& variable) {
  if (!variable || variable.info()->graph != &graph)
    throw InvalidArgumentError(fmt::format("\"{}\" is not a variable of this graph",
                                           variable ? variable.name() : "(none)"));
  return node_of(variable);
}

}  // namespace

// The arguments of one run of TensorFlow's: each fetched output and each target once.
class Session::Request {
 public:
  void feed(TF_Output place, TensorPtr value) {
    feeds_.push_back(place);
    fed_values_.push_back(std::move(value));
  }
  bool feeds(TF_Output place) const {
    return std::ranges::any_of(feeds_, [&](const TF_Output& fed) { return is_same(fed, place); });
  }
  // Returns the index for fetched_value().
  size_t fetch(TF_Output place) {
    const auto found = std::ranges::find_if(
        fetches_, [&](const TF_Output& fetched) { return is_same(fetched, place); });
    if (found != fetches_.end()) return static_cast<size_t>(found - fetches_.begin());
    fetches_.push_back(place);
    return fetches_.size() - 1;
  }
  void target(const TF_Operation* operation) {
    if (std::ranges::find(targets_, operation) == targets_.end()) targets_.push_back(operation);
  }

  // True if everything that is fetched is fed; TensorFlow refuses to run nothing.
  bool empty() const { return fetches_.empty() && targets_.empty(); }

  void run(TF_Session* session, const TF_Buffer* options, TF_Buffer* metadata, Status& status) {
    std::vector<TF_Tensor*> inputs;
    for (const TensorPtr& value : fed_values_) inputs.push_back(value.get());
    std::vector<TF_Tensor*> outputs(fetches_.size());
    TF_SessionRun(session, options, feeds_.data(), inputs.data(), static_cast<int>(inputs.size()),
                  fetches_.data(), outputs.data(), static_cast<int>(outputs.size()),
                  targets_.data(), static_cast<int>(targets_.size()), metadata, status.get());
    for (TF_Tensor* const output : outputs) fetched_values_.emplace_back(output);
  }
  void convert(Sharing sharing) {
    for (TensorPtr& value : fetched_values_)
      tensors_.push_back(internal::from_tensorflow(std::move(value), sharing));
  }
  const Tensor& fetched_value(size_t index) const { return tensors_[index]; }

 private:
  std::vector<TF_Output> feeds_;
  std::vector<TensorPtr> fed_values_;
  std::vector<TF_Output> fetches_;
  std::vector<const TF_Operation*> targets_;
  std::vector<TensorPtr> fetched_values_;
  std::vector<Tensor> tensors_;
};

Session::Session(Graph& graph, std::string target, const SessionConfig& config)
    : graph_(graph),
      target_(std::move(target)),
      config_(config),
      remote_(target_.empty() ? std::nullopt
                              : std::optional(internal::remote_target(target_, config))),
      is_single_threaded_(!remote_ && internal::is_single_threaded(config.serialized)) {
  if (remote_) {
    if (const auto self = internal::own_member_at(remote_->target))
      internal::check_placed_on(graph.tensorflow_graph(), self->task);
    internal::probe(*remote_);
  }
  const internal::SessionOptionsPtr options = internal::session_options(
      remote_ ? remote_->target : target_, remote_ ? remote_->config : config.serialized);
  Status status;
  session_ = TF_NewSession(graph.tensorflow_graph(), options.get(), status.get());
  status.check("new session");
  if (is_single_threaded_) check_has_one_device();
}

// Each device has its own executor. Of two single-threaded ones the first would wait for the
// second.
void Session::check_has_one_device() {
  Status status;
  const internal::DeviceListPtr devices(TF_SessionListDevices(session_, status.get()));
  status.check("the devices of a session");
  const int num_devices = TF_DeviceListCount(devices.get());
  if (num_devices == 1) return;
  close();
  throw InvalidArgumentError(fmt::format(
      "the settings of a session ask for the single-threaded executor, which runs on one device; "
      "the session has {}",
      num_devices));
}

Session::~Session() { close(); }

void Session::close() {
  if (!gate_.close()) return gate_.wait_until_empty();
  if (remote_) {
    internal::RemoteClosing closing(session_, *remote_);
    gate_.wait_until_empty();  // Those runs also end by their own limits.
    return closing.finish();
  }
  // Cancels runs that hang. Deleting the session while one is in flight would crash.
  Status status;
  TF_CloseSession(session_, status.get());
  gate_.wait_until_empty();
  if (!status.ok())
    log_warning(fmt::format("closing a session of TensorFlow: {}", TF_Message(status.get())));
  Status deleted;
  TF_DeleteSession(session_, deleted.get());
  if (!deleted.ok())
    log_warning(fmt::format("deleting a session of TensorFlow: {}", TF_Message(deleted.get())));
}

void Session::execute(Request& request, const std::function<std::string()>& what,
                      const RunOptions& options, RunMetadata* metadata) {
  if (metadata != nullptr) metadata->clear();
  if (request.empty()) return;
  if (is_single_threaded_ && options.inter_op_thread_pool < 0)
    throw InvalidArgumentError(fmt::format(
        "{}: inter_op_thread_pool is {}, in a session of the single-threaded executor: it could "
        "not time out; expected at least 0",
        what(), options.inter_op_thread_pool));
  const std::string serialized = internal::serialize(options);
  internal::BufferPtr run_options;
  if (!serialized.empty())
    run_options.reset(TF_NewBufferFromString(serialized.data(), serialized.size()));
  const bool is_recorded = metadata != nullptr && (options.trace_level != TraceLevel::kNone ||
                                                   options.output_partition_graphs);
  const internal::BufferPtr run_metadata(is_recorded ? TF_NewBuffer() : nullptr);
  Status status;
  request.run(session_, run_options.get(), run_metadata.get(), status);
  if (!status.ok())
    status.check(remote_ ? what() + describe_place(*remote_, options, status) : what());
  if (is_recorded) *metadata = internal::parse_run_metadata(internal::view_of(*run_metadata));
}

// In a cluster the other members' changes cannot be blocked.
Access Session::access_of(std::span<const Output> fetches) {
  std::vector<const OperationInfo*> key;
  key.reserve(fetches.size());
  for (const Output& output : fetches) key.push_back(output.operation());
  std::ranges::sort(key);
  key.erase(std::unique(key.begin(), key.end()), key.end());
  const std::lock_guard lock(mutex_);
  const auto found = accesses_.find(key);
  if (found != accesses_.end()) return found->second;
  const Access access = graph_.changes_variables(fetches)         ? Access::kShared
                        : !remote_ && graph_.saves_state(fetches) ? Access::kExclusive
                                                                  : Access::kNone;
  return accesses_[std::move(key)] = access;
}

// Fed values replace the placeholders, whose own checks are then skipped.
void Session::check_feeds(const Feeds& feeds) const {
  for (size_t i = 0; i < feeds.size(); ++i) {
    const auto& [output, value] = feeds[i];
    if (output.graph() != &graph_ || !output.has_value())
      throw InvalidArgumentError(
          fmt::format("{} cannot be fed: it is not a value of this graph", to_string(output)));
    const OutputInfo info = graph_.output_info(output);
    if (value.dtype() != info.dtype ||
        (info.shape && !info.shape->is_compatible_with(value.shape())))
      throw InvalidArgumentError(
          fmt::format("{} is {} {}, but it was fed {}", to_string(output), info.dtype,
                      info.shape ? to_string(*info.shape) : "of any shape", describe(value)));
    for (size_t k = 0; k < i; ++k)
      if (feeds[k].first == output)
        throw InvalidArgumentError(fmt::format("{} is fed twice", to_string(output)));
  }
}

void Session::run_into(std::span<const Output> fetches, const Feeds& feeds,
                       std::span<Tensor> results, const RunOptions& options,
                       RunMetadata* metadata) {
  assert(fetches.size() == results.size());
  for (const Output& output : fetches) check_fetch(graph_, output);
  check_feeds(feeds);
  const AccessGate::Pass pass(gate_, access_of(fetches), "run",
                              std::chrono::milliseconds(options.timeout_in_ms));
  Request request;
  for (const auto& [output, value] : feeds)
    request.feed(place_of(output), internal::to_tensorflow(value));
  // TensorFlow refuses to fetch what is fed.
  std::vector<std::optional<size_t>> indices(fetches.size());
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (!fetches[i].has_value())
      request.target(node_of(fetches[i]).operation);
    else if (!request.feeds(place_of(fetches[i])))
      indices[i] = request.fetch(place_of(fetches[i]));
  }
  execute(
      request, [&] { return describe_run(fetches); }, options, metadata);
  request.convert(graph_.has_reference_variables() ? Sharing::kCopy : Sharing::kBorrow);
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (indices[i])
      results[i] = request.fetched_value(*indices[i]);
    else if (fetches[i].has_value())
      results[i] = std::ranges::find(feeds, fetches[i], &Feeds::value_type::first)->second;
    else
      results[i].reset();
  }
}

Snapshot Session::snapshot(std::span<const Variable> variables) {
  const AccessGate::Pass pass(gate_, Access::kExclusive, "snapshot");
  Request request;
  for (const Variable& variable : variables)
    for (const Graph::Slice& part : checked_node(graph_, variable).parts)
      request.fetch(place_of(part.value));
  execute(
      request, [] { return std::string("snapshot"); }, {}, nullptr);
  request.convert(Sharing::kBorrow);

  std::vector<NamedTensor> tensors;
  for (const Variable& variable : variables) {
    const Graph::VariableNode& node = node_of(variable);
    const auto value = [&](const Graph::Slice& part) {
      return request.fetched_value(request.fetch(place_of(part.value)));
    };
    if (node.parts.front().offset.empty()) {
      tensors.push_back({node.name, value(node.parts.front())});
      continue;
    }
    Tensor whole(node.dtype, node.shape);
    for (const Graph::Slice& part : node.parts) {
      const Tensor& part_value = value(part);
      check_part(part, part_value.shape());
      internal::place_part(whole, part_value, part.offset);
    }
    tensors.push_back({node.name, std::move(whole)});
  }
  return Snapshot(std::move(tensors));
}

namespace {

// The value for one initialiser to assign.
struct PartValue {
  TF_Output place;  // The initialiser's input.
  TF_Operation* initializer;
  TensorPtr value;
};

// Throws: UnimplementedError if the initialisers depend on operations that change other variables,
// which would be run, too.
void check_changes_no_others(const Graph& graph,
                             const std::unordered_set<TF_Operation*>& initializers) {
  std::vector<TF_Operation*> before;
  for (TF_Operation* const initializer : initializers)
    for (TF_Operation* const control : internal::control_inputs_of(initializer))
      before.push_back(control);
  if (before.empty()) return;
  std::unordered_set<TF_Operation*> others;
  for (const Variable& variable : graph.variables())
    for (const Graph::Slice& part : node_of(variable).parts)
      if (!initializers.contains(node_of(part.initializer).operation)) others.insert(part.handle);
  if (internal::changes_state(before, others))
    throw UnimplementedError(
        "assign: the initializer of one of the variables runs operations that change others, which "
        "are not assigned: assign all of them in one call");
}

// Throws: UnimplementedError if it is not an operation that assigns its second input.
TF_Output assigned_input(const Graph::Slice& part) {
  TF_Operation* const initializer = node_of(part.initializer).operation;
  const std::string_view type = TF_OperationOpType(initializer);
  if (type != "Assign" && type != "AssignVariableOp")
    throw UnimplementedError(
        fmt::format("the variable \"{}\" cannot be assigned: its initializer \"{}\" is {}",
                    part.definition->variable_name, part.initializer.operation()->name, type));
  return TF_OperationInput({initializer, 1});
}

Tensor value_of(const Assignment& assignment) {
  if (assignment.variable.dtype() == DType::kString) return assignment.strings();
  Tensor value(assignment.variable.dtype(), assignment.shape);
  assignment.fill(value.writable_bytes());
  return value;
}

}  // namespace

void Session::assign(std::span<const Assignment> assignments) {
  for (const Assignment& assignment : assignments)
    if (!checked_node(graph_, assignment.variable).shape.is_compatible_with(assignment.shape))
      throw InvalidArgumentError(fmt::format("variable \"{}\": found shape {}, expected {}",
                                             assignment.variable.name(), assignment.shape,
                                             assignment.variable.shape()));
  std::vector<PartValue> values;
  for (const Assignment& assignment : assignments) {
    const Tensor value = value_of(assignment);
    for (const Graph::Slice& part : node_of(assignment.variable).parts)
      values.push_back(
          {assigned_input(part), node_of(part.initializer).operation,
           internal::to_tensorflow(
               part.offset.empty() ? value : internal::cut_part(value, part.offset, part.shape))});
  }
  // After the fills, which read files, and may run this session.
  const AccessGate::Pass pass(gate_, Access::kExclusive, "assign");
  // Each input takes only one value in a run.
  while (!values.empty()) {
    Request request;
    std::unordered_set<TF_Operation*> initializers;
    std::vector<PartValue> later;
    for (PartValue& part : values) {
      if (request.feeds(part.place)) {
        later.push_back(std::move(part));
        continue;
      }
      request.feed(part.place, std::move(part.value));
      request.target(part.initializer);
      initializers.insert(part.initializer);
    }
    check_changes_no_others(graph_, initializers);
    execute(
        request, [] { return std::string("assign"); }, {}, nullptr);
    values = std::move(later);
  }
}

}  // namespace crochet::inline v0::tensorflow
