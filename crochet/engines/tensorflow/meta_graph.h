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
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::tensorflow {

// The part of a partitioned variable that a variable is.
struct SaveSlice {
  std::string full_name;  // The name of the whole, also in checkpoints.
  std::vector<int64_t> full_shape;
  std::vector<int64_t> offset;
  std::vector<int64_t> shape;
};

// A variable as Python exports it (VariableDef). Names of tensors end in ":0".
struct VariableDef {
  std::string variable_name;  // A tensor: the reference, or the resource handle.
  std::string initializer_name;
  std::string snapshot_name;  // A tensor: the value that is read.
  std::string initial_value_name;
  std::optional<SaveSlice> slice;
  bool is_resource = false;
  bool trainable = false;
};

// The operations of a graph's own saver (SaverDef).
struct SaverDef {
  std::string filename_tensor_name;
  std::string save_tensor_name;
  std::string restore_op_name;
  int64_t max_to_keep = 0;
  bool sharded = false;
  // The checkpoints' format: 2 is V2; 1, and 0 for old files that lack the field, are V1.
  int64_t version = 0;
};

// A queue and the operations that fill it (QueueRunnerDef).
struct QueueRunnerDef {
  std::string queue_name;
  std::vector<std::string> enqueue_op_names;
  std::string close_op_name;
  std::string cancel_op_name;
  // Empty: only OutOfRangeError.
  std::vector<Code> queue_closed_exception_types;
};

// A signature of a SavedModel (SignatureDef): tensors by the names under which they
// are requested. A sparse input "x" is three: "x/values", "x/indices" and "x/dense_shape".
struct SignatureDef {
  std::string method_name;  // "tensorflow/serving/predict".
  std::map<std::string, std::string, std::less<>> inputs;
  std::map<std::string, std::string, std::less<>> outputs;
};

// A file of a SavedModel (AssetFileDef, from the field or the collection).
struct AssetFileDef {
  std::string tensor_name;  // Its path is fed to this tensor.
  std::string filename;     // In the folder "assets".
};

// A graph with its collections and savers, as tf.compat.v1.train.export_meta_graph writes it.
struct MetaGraph {
  std::string tensorflow_version;  // The exporter's: "2.21.0".
  std::vector<std::string> tags;   // Of a SavedModel: "serve".
  std::string graph_def;           // The GraphDef, as it is in the file.
  std::optional<SaverDef> saver;
  // By collection: names of operations and tensors: "train_op", "init_op", "summaries".
  std::map<std::string, std::vector<std::string>, std::less<>> nodes;
  // By collection: numbers.
  std::map<std::string, std::vector<int64_t>, std::less<>> numbers;
  // By collection: variables, in "variables", "global_step", "local_variables",
  // "trainable_variables" and others.
  std::map<std::string, std::vector<VariableDef>, std::less<>> variables;
  std::vector<QueueRunnerDef> queue_runners;
  std::vector<SaverDef> savers;
  std::map<std::string, SignatureDef, std::less<>> signatures;
  std::vector<AssetFileDef> assets;
  // By collection: messages of other collections, serialized.
  std::map<std::string, std::vector<std::string>, std::less<>> messages;
};

namespace internal {

// True for Python's collections of variables; others hold a program's own messages.
CROCHET_EXPORT bool holds_variables(std::string_view collection);

// Throws: UnimplementedError if the bytes are a MetaGraphDef, or a GraphDef, in text form.
CROCHET_EXPORT void check_is_binary(std::string_view bytes, const std::string& name);

// The bytes of a file with a graph; `files`: the operating system's if null. Throws: the errors of
// FileSystem; DataLossError for more than protobuf's limit of 2 GiB, and for a sparse file.
CROCHET_EXPORT std::string read_graph_file(FileSystem* files, const std::string& path);

}  // namespace internal

// Parses a MetaGraphDef; `name` is used in messages.
// Throws: DataLossError with the location, such as "digits.meta: collection_def["variables"][2]",
// if the bytes are not such a message; InvalidArgumentError if it has no graph, or a variable lacks
// a required name; UnimplementedError for the text form.
CROCHET_EXPORT MetaGraph parse_meta_graph(std::string_view bytes, const std::string& name);

}  // namespace crochet::inline v0::tensorflow
