// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The index of a checkpoint in several safetensors files.
#include <optional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/json_text.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_index.h"

namespace crochet::inline v0::internal {
namespace {

std::string file_checksum_key(std::string_view name) {
  return fmt::format("{}.{}", kHeaderChecksumKey, name);
}

// Receives the parts in order; takes the strings in two objects, and ignores all else.
class IndexHandler final : public JsonHandler {
 public:
  explicit IndexHandler(std::string_view file) : JsonHandler(file) {}

  std::optional<Metadata> weight_map;
  Metadata metadata;  // Strings only.

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(int64_t) override { return other(); }
  bool number_unsigned(uint64_t) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }

  bool string(std::string& value) override {
    if (Metadata* const object = current()) object->insert_or_assign(key_, std::move(value));
    return true;
  }

  bool start_object(size_t) override {
    other();
    if (++depth_ == 2 && key_ == "weight_map") weight_map.emplace();
    if (depth_ == 2) object_ = key_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    other();
    if (++depth_ == 2) object_.clear();
    return true;
  }
  bool end_array() override { return end_object(); }
  bool key(std::string& name) override {
    if (depth_ <= 2) key_ = std::move(name);
    return true;
  }

 private:
  // The object that gets a value; null for values of others.
  Metadata* current() {
    if (depth_ != 2) return nullptr;
    if (object_ == "weight_map") return &*weight_map;
    return object_ == "metadata" ? &metadata : nullptr;
  }
  // A tensor in something else than a file is in no file.
  bool other() {
    if (depth_ == 2 && object_ == "weight_map") weight_map->insert_or_assign(key_, "");
    return true;
  }

  int depth_ = 0;
  std::string key_;     // The last one of the whole, or of an object in it.
  std::string object_;  // The name of the last object or array in the whole.
};

void take_checksums(const Metadata& metadata, std::string_view text, std::string_view file,
                    ShardIndex& index) {
  // A damaged key must not make it an index without checksums.
  if (!has_notes(metadata) && text.find(kIndexChecksumKey) == std::string_view::npos) return;
  verified_checksum(text, kIndexChecksumKey, file);
  const std::string prefix = file_checksum_key("");
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with(prefix)) continue;
    const auto crc = decode_checksums(value, 1);
    if (!crc)
      throw DataLossError(
          fmt::format("{}: \"{}\" is \"{}\", expected 8 hex digits", file, key, value));
    index.header_crcs.emplace(key.substr(prefix.size()), crc->front());
  }
}

}  // namespace

std::string encode(const ShardIndex& index) {
  JsonText whole;
  whole.begin_object();
  whole.key("metadata");
  whole.begin_object();
  for (const auto& [name, crc] : index.header_crcs)
    whole.member(file_checksum_key(name), encode_checksums(std::vector{crc}));
  if (!index.header_crcs.empty()) whole.member(kIndexChecksumKey, "00000000");
  whole.member("total_size", static_cast<int64_t>(index.total_size));
  whole.end_object();
  whole.key("weight_map");
  whole.begin_object();
  for (const auto& [name, file] : index.weight_map) whole.member(name, file);
  whole.end_object();
  whole.end_object();
  std::string text = whole.take() + '\n';
  if (!index.header_crcs.empty()) put_checksum(text, kIndexChecksumKey);
  return text;
}

ShardIndex decode_shard_index(std::string_view text, std::string_view file) {
  IndexHandler handler(file);
  parse_json(text, handler);
  if (!handler.weight_map)
    throw DataLossError(
        fmt::format("{}: found JSON without a \"weight_map\": {}", file, shown(text)));
  ShardIndex index;
  take_checksums(handler.metadata, text, file, index);
  index.weight_map = *std::move(handler.weight_map);
  return index;
}

}  // namespace crochet::inline v0::internal
