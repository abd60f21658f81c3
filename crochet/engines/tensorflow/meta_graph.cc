// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/meta_graph.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/internal/proto_reader.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::bytes_at;
using internal::flag_at;
using internal::message_at;
using internal::number_at;
using internal::numbers_at;
using internal::ProtoReader;
using internal::text_at;
using internal::texts_at;

constexpr std::string_view kAssetsCollection = "saved_model_assets";

SaveSlice read_slice(ProtoReader message) {
  SaveSlice slice;
  message.read(text_at(1, slice.full_name), numbers_at(2, slice.full_shape),
               numbers_at(3, slice.offset), numbers_at(4, slice.shape));
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
  message.read(
      text_at(1, variable.variable_name), text_at(2, variable.initializer_name),
      text_at(3, variable.snapshot_name),
      message_at(4, "save_slice_info_def",
                 [&](ProtoReader slice) { variable.slice = read_slice(std::move(slice)); }),
      flag_at(5, variable.is_resource), text_at(6, variable.initial_value_name),
      flag_at(7, variable.trainable));
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
  message.read(text_at(1, saver.filename_tensor_name), text_at(2, saver.save_tensor_name),
               text_at(3, saver.restore_op_name), number_at(4, saver.max_to_keep),
               flag_at(5, saver.sharded), number_at(7, saver.version));
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
  message.read(text_at(1, runner.queue_name), texts_at(2, runner.enqueue_op_names),
               text_at(3, runner.close_op_name), text_at(4, runner.cancel_op_name),
               numbers_at(5, codes));
  for (const int64_t code : codes)
    runner.queue_closed_exception_types.push_back(code_of(code, message.place()));
  return runner;
}

void add_messages(const std::string& collection, const std::string& place,
                  std::vector<std::string> messages, MetaGraph& graph) {
  const bool are_variables = internal::holds_variables(collection);
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

TensorNames read_tensor_info(ProtoReader message) {
  TensorNames names;
  const auto add = [&](const char* suffix) {
    return [&names, suffix](ProtoReader& value) { names.emplace_back(suffix, value.text()); };
  };
  message.read(bytes_at(1, add("")), message_at(4, "coo_sparse", [&](ProtoReader sparse) {
                 sparse.read(bytes_at(1, add("/values")), bytes_at(2, add("/indices")),
                             bytes_at(3, add("/dense_shape")));
               }));
  return names;
}

AssetFileDef read_asset(ProtoReader message) {
  AssetFileDef asset;
  message.read(message_at(1, "tensor_info",
                          [&](ProtoReader info) {
                            for (const auto& [suffix, tensor] : read_tensor_info(std::move(info)))
                              asset.tensor_name = tensor;
                          }),
               text_at(2, asset.filename));
  return asset;
}

// Assets as written by TensorFlow 1's builder: messages of type Any, each with an AssetFileDef.
void read_asset_list(ProtoReader list, MetaGraph& graph) {
  list.read(message_at(1, "value", [&](ProtoReader any) {
    any.read(message_at(2, "value", [&](ProtoReader asset) {
      graph.assets.push_back(read_asset(std::move(asset)));
    }));
  }));
}

void read_collection(ProtoReader message, const std::string& collection, MetaGraph& graph) {
  message.read(
      message_at(1, "node_list",
                 [&](ProtoReader list) { list.read(texts_at(1, graph.nodes[collection])); }),
      message_at(2, "bytes_list",
                 [&](ProtoReader list) {
                   std::vector<std::string> messages;
                   list.read(texts_at(1, messages));
                   add_messages(collection, message.place(), std::move(messages), graph);
                 }),
      message_at(3, "int64_list",
                 [&](ProtoReader list) { list.read(numbers_at(1, graph.numbers[collection])); }),
      message_at(5, "any_list", [&](ProtoReader list) {
        if (collection == kAssetsCollection) read_asset_list(std::move(list), graph);
      }));
}

// Reads the field `number`, a map at `place`, with `read(key, message)` for each entry.
template <typename Read>
auto map_at(uint32_t number, std::string place, Read read) {
  return bytes_at(number, [place, read](ProtoReader& value) {
    const internal::MapEntry found = internal::read_map_entry({value.view(), place});
    read(found.key, ProtoReader(found.value, fmt::format("{}[\"{}\"]", place, found.key)));
  });
}

SignatureDef read_signature(ProtoReader message) {
  SignatureDef signature;
  const auto add_to = [](std::map<std::string, std::string, std::less<>>& tensors) {
    return [&tensors](const std::string& name, const ProtoReader& info) {
      for (const auto& [suffix, tensor] : read_tensor_info(info)) tensors[name + suffix] = tensor;
    };
  };
  message.read(map_at(1, message.place() + ".inputs", add_to(signature.inputs)),
               map_at(2, message.place() + ".outputs", add_to(signature.outputs)),
               text_at(3, signature.method_name));
  return signature;
}

// Fields of a MetaGraphDef and of a GraphDef, with which their text form begins.
constexpr std::array<std::string_view, 10> kFields = {
    "meta_info_def",  "graph_def", "saver_def", "collection_def", "signature_def",
    "asset_file_def", "node",      "library",   "versions",       "object_graph_def"};

}  // namespace

bool internal::holds_variables(std::string_view collection) {
  constexpr std::array<std::string_view, 6> kCollections = {
      "global_step",         "variables",       "local_variables",
      "trainable_variables", "model_variables", "metric_variables"};
  return std::ranges::find(kCollections, collection) != kCollections.end();
}

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

std::string internal::read_graph_file(FileSystem* files, const std::string& path) {
  constexpr uint64_t kMaxMessageBytes = (uint64_t{1} << 31) - 1;
  return crochet::internal::read_untrusted_file(FileSystem::or_posix(files), path,
                                                kMaxMessageBytes);
}

MetaGraph parse_meta_graph(std::string_view bytes, const std::string& name) {
  internal::check_is_binary(bytes, name);
  MetaGraph graph;
  ProtoReader(bytes, name)
      .read(message_at(1, "meta_info_def",
                       [&](ProtoReader info) {
                         info.read(texts_at(4, graph.tags), text_at(5, graph.tensorflow_version));
                       }),
            text_at(2, graph.graph_def),
            message_at(3, "saver_def",
                       [&](ProtoReader saver) { graph.saver = read_saver(std::move(saver)); }),
            map_at(4, name + ": collection_def",
                   [&](const std::string& collection, const ProtoReader& definition) {
                     read_collection(definition, collection, graph);
                   }),
            map_at(5, name + ": signature_def",
                   [&](const std::string& key, const ProtoReader& signature) {
                     graph.signatures[key] = read_signature(signature);
                   }),
            message_at(6, "asset_file_def", [&](ProtoReader asset) {
              graph.assets.push_back(read_asset(std::move(asset)));
            }));
  if (graph.graph_def.empty())
    throw InvalidArgumentError(fmt::format(
        "{}: the MetaGraphDef has no graph_def; a GraphDef alone is read by import_graph_def",
        name));
  return graph;
}

}  // namespace crochet::inline v0::tensorflow
