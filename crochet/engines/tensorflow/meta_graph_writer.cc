// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/meta_graph_writer.h"

#include <optional>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "crochet/engines/tensorflow/proto_reader.h"

namespace crochet::inline v0::tensorflow {
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

// `known`: the existing list.
void add_collection(protozero::pbf_writer& graph, const std::string& name, const Items& items,
                    std::string known = {}) {
  protozero::pbf_writer list(known);
  for (const std::string& item : items.all) list.add_string(1, item);
  protozero::pbf_writer entry(graph, kCollection);
  entry.add_string(1, name);
  protozero::pbf_writer collection(entry, 2);
  collection.add_message(items.kind, known);
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

// Writes a collection with its items from `added`, which are removed from there. Writes nothing
// and returns false if there are none. `field`: an entry of the map with its tag.
bool add_extended(protozero::pbf_writer& graph, std::string_view field, Collections& added) {
  protozero::pbf_reader reader(field.data(), field.size());
  reader.next();
  const protozero::data_view view = reader.get_view();
  const auto entry = internal::read_map_entry({internal::view_of(view), "collection_def"});
  const auto found = added.find(entry.key);
  if (found == added.end()) return false;
  const Items items = std::move(found->second);
  added.erase(found);
  std::optional<std::string> known = list_in(entry.value, items.kind);
  if (known) add_collection(graph, entry.key, items, *std::move(known));
  return known.has_value();
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
  for (const auto& [name, items] : collections_of(graph)) add_collection(message, name, items);
  return bytes;
}

std::string extend(std::string_view bytes, const MetaGraph& more) {
  Collections added = collections_of(more);
  std::string result;
  protozero::pbf_writer message(result);
  protozero::pbf_reader file(bytes.data(), bytes.size());
  try {
    const char* begin = bytes.data();
    while (file.next()) {
      const uint32_t field = file.tag_and_type();
      file.skip();
      const std::string_view whole(begin, static_cast<size_t>(file.data().data() - begin));
      begin = file.data().data();
      const bool is_replaced =
          field == internal::bytes_field(kGraphDef) ||
          (field == internal::bytes_field(kCollection) && add_extended(message, whole, added));
      if (!is_replaced) result.append(whole);
    }
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("damaged or not a MetaGraphDef: {}", error.what()));
  }
  message.add_string(kGraphDef, more.graph_def);
  for (const auto& [name, items] : added) add_collection(message, name, items);
  return result;
}

}  // namespace crochet::inline v0::tensorflow
