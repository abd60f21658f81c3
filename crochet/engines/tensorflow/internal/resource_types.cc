// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/resource_types.h"

#include <algorithm>
#include <array>

#include "crochet/engines/tensorflow/internal/definitions.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

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

// Of an argument in an OpDef. Old resources are named by a reference to a string.
bool is_resource(ProtoReader argument) {
  int64_t type = 0;  // 0 if it depends on an attribute.
  bool is_reference = false;
  argument.read(number_at(kArgType, type), flag_at(kArgIsReference, is_reference));
  return type == TF_RESOURCE || (type == TF_STRING && is_reference);
}

}  // namespace

bool holds_state(TF_Graph* graph, const std::string& type) {
  if (is_one_of(type, kStateful)) return true;
  // Anonymous resources end with the run that created them; dummies are handles of nothing.
  if (is_one_of(type, kWithoutState) || type.starts_with("Anonymous") || type.starts_with("Dummy"))
    return false;
  const BufferPtr definition = op_def(graph, type);
  if (!definition) return false;  // The type is a function's name: a call.
  bool is_stateful = false, gives_resource = false, takes_resource = false;
  const auto note_in = [](bool& is_there) {
    return [&is_there](ProtoReader argument) { is_there |= is_resource(std::move(argument)); };
  };
  ProtoReader(view_of(*definition), type)
      .read(message_at(kOpInput, "input_arg", note_in(takes_resource)),
            message_at(kOpOutput, "output_arg", note_in(gives_resource)),
            flag_at(kOpIsStateful, is_stateful));
  return is_stateful && gives_resource && !takes_resource;
}

}  // namespace crochet::inline v0::tensorflow::internal
