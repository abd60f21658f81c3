// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/resource_types.h"

#include <algorithm>
#include <array>

#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/engines/tensorflow/proto_reader.h"
#include "crochet/engines/tensorflow/status.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// The fields of OpDef and of its arguments.
constexpr uint32_t kInputArg = 2;
constexpr uint32_t kOutputArg = 3;
constexpr uint32_t kIsStateful = 17;
constexpr uint32_t kArgType = 3;
constexpr uint32_t kArgIsReference = 16;

bool is_one_of(std::string_view type, const auto& types) {
  return std::ranges::find(types, type) != types.end();
}

// Their state has no handle, or the handle's type does not identify it.
constexpr std::array<std::string_view, 8> kStateful = {
    "Variable", "VariableV2",      "AutoReloadVariable", "Stage",
    "MapStage", "OrderedMapStage", "RecordInput",        "Skipgram"};

constexpr std::array<std::string_view, 24> kWithoutState = {
    // Filled once, by an initialiser that every session runs.
    "HashTable", "HashTableV2",
    // End with the run, or with an iteration of a loop.
    "Stack", "StackV2", "TensorArray", "TensorArrayV2", "TensorArrayV3", "TensorArrayGrad",
    "TensorArrayGradV2", "TensorArrayGradV3", "TemporaryVariable",
    // A handle to the resource of another operation.
    "IteratorFromStringHandle", "IteratorFromStringHandleV2", "MultiDeviceIteratorFromStringHandle",
    // Output files, locks, threads.
    "SummaryWriter", "MutexV2", "ThreadPoolHandle", "ExperimentalThreadPoolHandle",
    "StatsAggregatorHandle", "StatsAggregatorHandleV2", "ExperimentalStatsAggregatorHandle",
    "CollectiveInitializeCommunicator", "RpcClient", "RpcServer"};

struct Arg {
  int64_t type = 0;  // 0 if it depends on an attribute.
  bool is_reference = false;
};

Arg read_arg(ProtoReader message) {
  Arg arg;
  message.read(number_at(kArgType, arg.type), flag_at(kArgIsReference, arg.is_reference));
  return arg;
}

// Old resources are named by a reference to a string.
bool is_resource(const Arg& arg) {
  return arg.type == TF_RESOURCE || (arg.type == TF_STRING && arg.is_reference);
}

}  // namespace

bool ResourceTypes::hold_state(std::string_view type) {
  if (const auto found = known_.find(type); found != known_.end()) return found->second;
  const std::string name(type);
  return known_[name] = find_out(name);
}

bool ResourceTypes::find_out(const std::string& type) const {
  if (is_one_of(type, kStateful)) return true;
  // Anonymous resources end with the run that created them; dummies are handles of nothing.
  if (is_one_of(type, kWithoutState) || type.starts_with("Anonymous") || type.starts_with("Dummy"))
    return false;
  const BufferPtr definition(TF_NewBuffer());
  Status status;
  TF_GraphGetOpDef(graph_, type.c_str(), definition.get(), status.get());
  if (!status.ok()) return false;  // The type is a function's name: a call.
  bool is_stateful = false, gives_resource = false, takes_resource = false;
  ProtoReader(view_of(*definition), type)
      .read(message_at(kInputArg, "input_arg",
                       [&](ProtoReader arg) {
                         takes_resource = is_resource(read_arg(std::move(arg))) || takes_resource;
                       }),
            message_at(kOutputArg, "output_arg",
                       [&](ProtoReader arg) {
                         gives_resource = is_resource(read_arg(std::move(arg))) || gives_resource;
                       }),
            flag_at(kIsStateful, is_stateful));
  return is_stateful && gives_resource && !takes_resource;
}

}  // namespace crochet::inline v0::tensorflow::internal
