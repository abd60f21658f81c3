// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/meta_graph_writer.h"

#include <optional>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/internal/graph_def_fields.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// The fields of a MetaGraphDef and of the messages in it.
constexpr uint32_t kMetaInfo = 1;
constexpr uint32_t kGraphDef = 2;
constexpr uint32_t kCollection = 4;
constexpr uint32_t kTensorFlowVersion = 5;
constexpr uint32_t kNodeList = 1;
constexpr uint32_t kBytesList = 2;

std::string serialize(const VariableDef& variable) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(1, variable.variable_name);
  message.add_string(2, variable.initializer_name);
  message.add_string(3, variable.snapshot_name);
  message.add_bool(5, variable.is_resource);
  message.add_string(6, variable.initial_value_name);
  message.add_bool(7, variable.trainable);
  return bytes;
}

// A collection: names of operations and tensors, or messages.
struct Items {
  uint32_t kind = 0;
  std::vector<std::string> all = {};
};
using Collections = std::map<std::string, Items, std::less<>>;

Collections collections_of(const MetaGraph& graph) {
  Collections collections;
  for (const auto& [name, nodes] : graph.nodes)
    collections[name] = {.kind = kNodeList, .all = nodes};
  for (const auto& [name, variables] : graph.variables) {
    Items items = {.kind = kBytesList};
    for (const VariableDef& variable : variables) items.all.push_back(serialize(variable));
    collections[name] = std::move(items);
  }
  return collections;
}

// The entry of the map with a collection. `known`: the existing list.
std::string entry_of(const std::string& name, const Items& items, std::string known = {}) {
  protozero::pbf_writer list(known);
  for (const std::string& item : items.all) list.add_string(1, item);
  std::string collection;
  protozero::pbf_writer(collection).add_message(items.kind, known);
  std::string bytes;
  protozero::pbf_writer entry(bytes);
  entry.add_string(1, name);
  entry.add_message(2, collection);
  return bytes;
}

// The list in a collection; unset if it is of another kind.
std::optional<std::string> list_in(std::string_view collection, uint32_t kind) {
  std::optional<std::string> list = std::string();
  internal::ProtoReader(collection, "collection_def")
      .for_each_field([&](uint32_t field, internal::ProtoReader& value) {
        if (field != internal::bytes_field(kind)) {
          list.reset();
          return false;
        }
        if (list) list->append(value.view());
        return list.has_value();
      });
  return list;
}

// The entry of a collection with its items from `added`, which are removed from there.
std::string extended(std::string_view bytes, Collections& added) {
  const auto entry = internal::read_map_entry({bytes, "collection_def"});
  const auto items = added.extract(entry.key);
  if (!items) return std::string(bytes);
  std::optional<std::string> known = list_in(entry.value, items.mapped().kind);
  return known ? entry_of(entry.key, items.mapped(), *std::move(known)) : std::string(bytes);
}

}  // namespace

std::string serialize(const MetaGraph& graph) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  {
    protozero::pbf_writer info(message, kMetaInfo);
    info.add_string(kTensorFlowVersion, graph.tensorflow_version);
  }
  message.add_string(kGraphDef, graph.graph_def);
  for (const auto& [name, items] : collections_of(graph))
    message.add_message(kCollection, entry_of(name, items));
  return bytes;
}

std::string extend(std::string_view bytes, const MetaGraph& more) {
  Collections added = collections_of(more);
  std::string result;
  try {
    const std::string rest =
        internal::copy_message(bytes, kGraphDef, [](std::string_view) { return std::nullopt; });
    result = internal::copy_message(rest, kCollection,
                                    [&](std::string_view entry) { return extended(entry, added); });
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("damaged or not a MetaGraphDef: {}", error.what()));
  }
  protozero::pbf_writer message(result);
  message.add_string(kGraphDef, more.graph_def);
  for (const auto& [name, items] : added) message.add_message(kCollection, entry_of(name, items));
  return result;
}

}  // namespace crochet::inline v0::tensorflow::internal
