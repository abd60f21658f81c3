// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/meta_graph.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/proto_reader.h"
#include "crochet/io/untrusted_file.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::bytes_field;
using internal::ProtoReader;
using internal::varint_field;

// Python's collections of variables; others hold a program's own messages.
constexpr std::array<std::string_view, 6> kVariableCollections = {
    "global_step",         "variables",       "local_variables",
    "trainable_variables", "model_variables", "metric_variables"};

constexpr std::string_view kAssetsCollection = "saved_model_assets";

SaveSlice read_slice(ProtoReader message) {
  SaveSlice slice;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        slice.full_name = value.text();
        return true;
      case varint_field(2):
      case bytes_field(2):
        value.append_integers<int64_t>(field, slice.full_shape);
        return true;
      case varint_field(3):
      case bytes_field(3):
        value.append_integers<int64_t>(field, slice.offset);
        return true;
      case varint_field(4):
      case bytes_field(4):
        value.append_integers<int64_t>(field, slice.shape);
        return true;
      default:
        return false;
    }
  });
  return slice;
}

// Throws: InvalidArgumentError unless the part lies in the whole.
void check_slice(const SaveSlice& slice, const std::string& place) {
  const size_t rank = slice.full_shape.size();
  bool fits = !slice.full_name.empty() && slice.offset.size() == rank && slice.shape.size() == rank;
  for (size_t i = 0; fits && i < rank; ++i)
    fits = slice.full_shape[i] >= 0 && slice.offset[i] >= 0 && slice.shape[i] >= 0 &&
           slice.shape[i] <= slice.full_shape[i] &&
           slice.offset[i] <= slice.full_shape[i] - slice.shape[i];
  if (!fits)
    throw InvalidArgumentError(
        fmt::format("{}: the part \"{}\" of a partitioned variable lies outside of it", place,
                    slice.full_name));
}

VariableDef read_variable(ProtoReader message) {
  VariableDef variable;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        variable.variable_name = value.text();
        return true;
      case bytes_field(2):
        variable.initializer_name = value.text();
        return true;
      case bytes_field(3):
        variable.snapshot_name = value.text();
        return true;
      case bytes_field(4):
        variable.slice = read_slice(value.message("save_slice_info_def"));
        return true;
      case varint_field(5):
        variable.is_resource = value.boolean();
        return true;
      case bytes_field(6):
        variable.initial_value_name = value.text();
        return true;
      case varint_field(7):
        variable.trainable = value.boolean();
        return true;
      default:
        return false;
    }
  });
  if (variable.variable_name.empty() || variable.initializer_name.empty() ||
      variable.snapshot_name.empty())
    throw InvalidArgumentError(fmt::format(
        "{}: the variable \"{}\" has the initializer \"{}\" and the snapshot \"{}\"; all three "
        "must have names",
        message.place(), variable.variable_name, variable.initializer_name,
        variable.snapshot_name));
  if (variable.slice) check_slice(*variable.slice, message.place());
  return variable;
}

SaverDef read_saver(ProtoReader message) {
  SaverDef saver;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        saver.filename_tensor_name = value.text();
        return true;
      case bytes_field(2):
        saver.save_tensor_name = value.text();
        return true;
      case bytes_field(3):
        saver.restore_op_name = value.text();
        return true;
      case varint_field(4):
        saver.max_to_keep = value.int64();
        return true;
      case varint_field(5):
        saver.sharded = value.boolean();
        return true;
      case varint_field(7):
        saver.version = value.int64();
        return true;
      default:
        return false;
    }
  });
  return saver;
}

Code code_of(int64_t number, const std::string& place) {
  if (number < static_cast<int64_t>(Code::kCancelled) ||
      number > static_cast<int64_t>(Code::kUnauthenticated))
    throw InvalidArgumentError(
        fmt::format("{}: {} is not an error code, expected 1 to 16", place, number));
  return static_cast<Code>(number);
}

QueueRunnerDef read_queue_runner(ProtoReader message) {
  QueueRunnerDef runner;
  std::vector<int64_t> codes;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        runner.queue_name = value.text();
        return true;
      case bytes_field(2):
        runner.enqueue_op_names.push_back(value.text());
        return true;
      case bytes_field(3):
        runner.close_op_name = value.text();
        return true;
      case bytes_field(4):
        runner.cancel_op_name = value.text();
        return true;
      case varint_field(5):
      case bytes_field(5):
        value.append_integers<int64_t>(field, codes);
        return true;
      default:
        return false;
    }
  });
  for (const int64_t code : codes)
    runner.queue_closed_exception_types.push_back(code_of(code, message.place()));
  return runner;
}

std::vector<std::string> read_strings(ProtoReader message) {
  std::vector<std::string> strings;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    if (field != bytes_field(1)) return false;
    strings.push_back(value.text());
    return true;
  });
  return strings;
}

std::vector<int64_t> read_numbers(ProtoReader message) {
  std::vector<int64_t> numbers;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    if (field != varint_field(1) && field != bytes_field(1)) return false;
    value.append_integers<int64_t>(field, numbers);
    return true;
  });
  return numbers;
}

void add_messages(const std::string& collection, const std::string& place,
                  std::vector<std::string> messages, MetaGraph& graph) {
  const bool are_variables =
      std::ranges::find(kVariableCollections, collection) != kVariableCollections.end();
  for (size_t i = 0; i < messages.size(); ++i) {
    const ProtoReader message(messages[i], fmt::format("{}[{}]", place, i));
    if (are_variables) graph.variables[collection].push_back(read_variable(message));
    if (collection == "queue_runners") graph.queue_runners.push_back(read_queue_runner(message));
    if (collection == "savers") graph.savers.push_back(read_saver(message));
  }
  if (!are_variables && collection != "queue_runners" && collection != "savers")
    graph.messages[collection] = std::move(messages);
}

// The tensors of one TensorInfo; a sparse one has several, with suffixes.
using TensorNames = std::vector<std::pair<std::string, std::string>>;

TensorNames read_sparse_info(ProtoReader message) {
  TensorNames names;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        names.emplace_back("/values", value.text());
        return true;
      case bytes_field(2):
        names.emplace_back("/indices", value.text());
        return true;
      case bytes_field(3):
        names.emplace_back("/dense_shape", value.text());
        return true;
      default:
        return false;
    }
  });
  return names;
}

TensorNames read_tensor_info(ProtoReader message) {
  TensorNames names;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        names = {{"", value.text()}};
        return true;
      case bytes_field(4):
        names = read_sparse_info(value.message("coo_sparse"));
        return true;
      default:
        return false;
    }
  });
  return names;
}

AssetFileDef read_asset(ProtoReader message) {
  AssetFileDef asset;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        for (const auto& [suffix, tensor] : read_tensor_info(value.message("tensor_info")))
          asset.tensor_name = tensor;
        return true;
      case bytes_field(2):
        asset.filename = value.text();
        return true;
      default:
        return false;
    }
  });
  return asset;
}

// Assets as written by TensorFlow 1's builder: messages of type Any, each with an AssetFileDef.
void read_asset_list(ProtoReader list, MetaGraph& graph) {
  list.for_each_field([&](uint32_t field, ProtoReader& value) {
    if (field != bytes_field(1)) return false;
    value.message("value").for_each_field([&](uint32_t any_field, ProtoReader& any) {
      if (any_field != bytes_field(2)) return false;
      graph.assets.push_back(read_asset(any.message("value")));
      return true;
    });
    return true;
  });
}

void read_collection(ProtoReader message, const std::string& collection, MetaGraph& graph) {
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        graph.nodes[collection] = read_strings(value.message("node_list"));
        return true;
      case bytes_field(2):
        add_messages(collection, message.place(), read_strings(value.message("bytes_list")), graph);
        return true;
      case bytes_field(3):
        graph.numbers[collection] = read_numbers(value.message("int64_list"));
        return true;
      case bytes_field(5):
        if (collection != kAssetsCollection) return false;
        read_asset_list(value.message("any_list"), graph);
        return true;
      default:
        return false;
    }
  });
}

void read_meta_info(ProtoReader message, MetaGraph& graph) {
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(4):
        graph.tags.push_back(value.text());
        return true;
      case bytes_field(5):
        graph.tensorflow_version = value.text();
        return true;
      default:
        return false;
    }
  });
}

// Reads an entry of a map from names to messages, with `read`.
template <typename Read>
void read_entry(const ProtoReader& entry, const std::string& place, Read read) {
  const internal::MapEntry found = internal::read_map_entry(entry);
  read(found.key, ProtoReader(found.value, fmt::format("{}[\"{}\"]", place, found.key)));
}

void add_tensors(ProtoReader entry, const std::string& place,
                 std::map<std::string, std::string, std::less<>>& tensors) {
  read_entry(entry, place, [&](const std::string& name, const ProtoReader& info) {
    for (const auto& [suffix, tensor] : read_tensor_info(info)) tensors[name + suffix] = tensor;
  });
}

SignatureDef read_signature(ProtoReader message) {
  SignatureDef signature;
  message.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        add_tensors(value.message("inputs"), message.place() + ".inputs", signature.inputs);
        return true;
      case bytes_field(2):
        add_tensors(value.message("outputs"), message.place() + ".outputs", signature.outputs);
        return true;
      case bytes_field(3):
        signature.method_name = value.text();
        return true;
      default:
        return false;
    }
  });
  return signature;
}

// Fields of a MetaGraphDef and of a GraphDef, with which their text form begins.
constexpr std::array<std::string_view, 10> kFields = {
    "meta_info_def",  "graph_def", "saver_def", "collection_def", "signature_def",
    "asset_file_def", "node",      "library",   "versions",       "object_graph_def"};

}  // namespace

// In binary form the length of a field may look like a space, but no such name follows.
void internal::check_is_binary(std::string_view bytes, const std::string& name) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t begin = std::min(bytes.find_first_not_of(kSpaces), bytes.size());
  const std::string_view rest = bytes.substr(begin);
  const bool is_text = std::ranges::any_of(kFields, [&](std::string_view field) {
    if (!rest.starts_with(field)) return false;
    const size_t next = rest.find_first_not_of(kSpaces, field.size());
    return next != std::string_view::npos && (rest[next] == '{' || rest[next] == ':');
  });
  if (is_text)
    throw UnimplementedError(fmt::format(
        "{}: this is a graph in text form, which is not supported: export it in binary form "
        "(as_text=False)",
        name));
}

std::string internal::read_graph_file(FileSystem& files, const std::string& path) {
  constexpr uint64_t kMaxMessageBytes = (uint64_t{1} << 31) - 1;
  return crochet::internal::read_untrusted_file(files, path, kMaxMessageBytes);
}

MetaGraph parse_meta_graph(std::string_view bytes, const std::string& name) {
  internal::check_is_binary(bytes, name);
  MetaGraph graph;
  ProtoReader file(bytes, name);
  file.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        read_meta_info(value.message("meta_info_def"), graph);
        return true;
      case bytes_field(2):
        graph.graph_def = value.text();
        return true;
      case bytes_field(3):
        graph.saver = read_saver(value.message("saver_def"));
        return true;
      case bytes_field(4):
        read_entry(value.message("collection_def"), name + ": collection_def",
                   [&](const std::string& collection, const ProtoReader& definition) {
                     read_collection(definition, collection, graph);
                   });
        return true;
      case bytes_field(5):
        read_entry(value.message("signature_def"), name + ": signature_def",
                   [&](const std::string& key, const ProtoReader& signature) {
                     graph.signatures[key] = read_signature(signature);
                   });
        return true;
      case bytes_field(6):
        graph.assets.push_back(read_asset(value.message("asset_file_def")));
        return true;
      default:
        return false;
    }
  });
  if (graph.graph_def.empty())
    throw InvalidArgumentError(fmt::format(
        "{}: the MetaGraphDef has no graph_def; a GraphDef alone is read by import_graph_def",
        name));
  return graph;
}

}  // namespace crochet::inline v0::tensorflow
