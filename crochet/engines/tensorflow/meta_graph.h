// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"

namespace crochet::tensorflow {

// Which part of a partitioned variable a variable is.
struct SaveSlice {
  std::string full_name;  // Of the whole, and its name in checkpoints.
  std::vector<int64_t> full_shape;
  std::vector<int64_t> offset;
  std::vector<int64_t> shape;
};

// A variable as Python exports it (VariableDef). Names of tensors end in ":0".
struct VariableDef {
  std::string variable_name;  // A tensor: the reference, or the handle of the resource.
  std::string initializer_name;
  std::string snapshot_name;  // A tensor: the value, as it is read.
  std::string initial_value_name;
  std::optional<SaveSlice> slice;
  bool is_resource = false;
  bool trainable = false;
};

// How a graph's own saver is run (SaverDef).
struct SaverDef {
  std::string filename_tensor_name;
  std::string save_tensor_name;
  std::string restore_op_name;
  int64_t max_to_keep = 0;
  bool sharded = false;
  // Of the checkpoints' format: 2 is V2; 1 and 0, which is what old files lack, are V1.
  int64_t version = 0;
};

// A queue and what fills it (QueueRunnerDef).
struct QueueRunnerDef {
  std::string queue_name;
  std::vector<std::string> enqueue_op_names;
  std::string close_op_name;
  std::string cancel_op_name;
  // Empty: OutOfRangeError alone.
  std::vector<Code> queue_closed_exception_types;
};

// What a SavedModel says of one way to use it (SignatureDef): tensors by the names under which they
// are asked for. A sparse input "x" is three, "x/values", "x/indices" and "x/dense_shape".
struct SignatureDef {
  std::string method_name;  // "tensorflow/serving/predict".
  std::map<std::string, std::string, std::less<>> inputs;
  std::map<std::string, std::string, std::less<>> outputs;
};

// A file that a SavedModel brings along (AssetFileDef, from the field or the collection).
struct AssetFileDef {
  std::string tensor_name;  // What its path is fed to.
  std::string filename;     // In the folder "assets".
};

// A graph with what belongs to it, as tf.compat.v1.train.export_meta_graph writes it.
struct MetaGraph {
  std::string tensorflow_version;  // Of the exporter: "2.21.0".
  std::vector<std::string> tags;   // Of a SavedModel: "serve".
  std::string graph_def;           // A GraphDef, as it is in the file.
  std::optional<SaverDef> saver;
  // By collection. Operations and tensors, by name: "train_op", "init_op", "summaries".
  std::map<std::string, std::vector<std::string>, std::less<>> nodes;
  // Numbers.
  std::map<std::string, std::vector<int64_t>, std::less<>> numbers;
  // "variables", "global_step", "local_variables", "trainable_variables" and other collections of
  // them.
  std::map<std::string, std::vector<VariableDef>, std::less<>> variables;
  std::vector<QueueRunnerDef> queue_runners;
  std::vector<SaverDef> savers;
  std::map<std::string, SignatureDef, std::less<>> signatures;
  std::vector<AssetFileDef> assets;
  // What of other collections is messages: serialized.
  std::map<std::string, std::vector<std::string>, std::less<>> messages;
};

namespace internal {

// Throws: UnimplementedError if the bytes are a MetaGraphDef, or a GraphDef, in text form.
void check_is_binary(std::string_view bytes, const std::string& name);

// The bytes of a file with a graph. Throws: the errors of FileSystem; DataLossError for more than
// protobuf reads, 2 GiB, and for a file that is mostly holes.
std::string read_graph_file(FileSystem& files, const std::string& path);

}  // namespace internal

// Reads a MetaGraphDef; `name` is the one in messages.
// Throws: DataLossError with the place, such as "digits.meta: collection_def["variables"][2]", if
// the bytes are no such message; InvalidArgumentError if it has no graph, or a variable lacks what
// it needs; UnimplementedError for the text form.
MetaGraph parse_meta_graph(std::string_view bytes, const std::string& name);

}  // namespace crochet::tensorflow
