// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The index of a checkpoint in several safetensors files.
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/base/parse_json.h"
#include "crochet/checkpoint/safetensors/safetensors_index.h"

namespace crochet::inline v0::internal {
namespace {

using nlohmann::json;

constexpr std::string_view kIndexChecksumKey = "crochet.index_crc32c";

std::string file_checksum_key(std::string_view name) {
  return fmt::format("{}.{}", kHeaderChecksumKey, name);
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

// Receives the parts in order: two objects, all of whose values are scalars.
class IndexHandler final : public JsonHandler {
 public:
  explicit IndexHandler(std::string_view file) : JsonHandler(file) {}

  std::optional<Metadata> weight_map;
  std::optional<Metadata> metadata;  // Strings only.

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(int64_t) override { return other(); }
  bool number_unsigned(uint64_t) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }

  bool string(std::string& value) override {
    if (object_ == nullptr) fail("a string");
    if (!object_->emplace(key_, std::move(value)).second)
      throw DataLossError(fmt::format("{}: {} occurs twice", document(), shown(key_)));
    return true;
  }

  bool start_object(size_t) override {
    if (depth_ == 0) return ++depth_ == 1;
    if (depth_ > 1) fail("an object");
    std::optional<Metadata>& object = key_ == "weight_map" ? weight_map : metadata;
    if (object || (key_ != "weight_map" && key_ != "metadata"))
      throw DataLossError(
          fmt::format("{}: found an object {}, expected one weight_map and one metadata",
                      document(), shown(key_)));
    object_ = &object.emplace();
    ++depth_;
    return true;
  }
  bool end_object() override {
    object_ = nullptr;
    --depth_;
    return true;
  }

  bool start_array(size_t) override { fail("an array"); }
  bool end_array() override { return true; }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }

 private:
  bool other() const {
    if (object_ == nullptr || object_ != &*metadata) fail("something else");
    return true;
  }
  [[noreturn]] void fail(std::string_view found) const {
    throw DataLossError(fmt::format("{}: {} is {}, expected {}", document(), shown(key_), found,
                                    depth_ < 2 ? "an object" : "a string"));
  }

  int depth_ = 0;
  std::string key_;
  Metadata* object_ = nullptr;  // The object being read.
};

void take_checksums(const Metadata& metadata, std::string_view text, std::string_view file,
                    ShardIndex& index) {
  if (!has_notes(metadata)) return;
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
  json metadata = {{"total_size", index.total_size}};
  for (const auto& [name, crc] : index.header_crcs)
    metadata[file_checksum_key(name)] = encode_checksums(std::vector{crc});
  if (!index.header_crcs.empty()) metadata[kIndexChecksumKey] = "00000000";
  const json whole = {{"metadata", metadata}, {"weight_map", index.weight_map}};
  std::string text = whole.dump() + '\n';
  if (!index.header_crcs.empty()) put_checksum(text, kIndexChecksumKey);
  return text;
}

ShardIndex decode_shard_index(std::string_view text, std::string_view file) {
  IndexHandler handler(file);
  parse_json(text, handler);
  if (!handler.weight_map) throw DataLossError(fmt::format("{}: there is no \"weight_map\"", file));
  ShardIndex index;
  if (handler.metadata) take_checksums(*handler.metadata, text, file, index);
  index.weight_map = *std::move(handler.weight_map);
  for (const auto& [tensor, name] : index.weight_map)
    if (!is_plain_name(name))
      throw DataLossError(
          fmt::format("{}: {} is in the file {}, expected a name without a directory", file,
                      shown(tensor), shown(name)));
  for (const auto& [name, crc] : index.header_crcs)
    if (!is_plain_name(name))
      throw DataLossError(fmt::format(
          "{}: a checksum is of {}, expected a name without a directory", file, shown(name)));
  return index;
}

}  // namespace crochet::inline v0::internal
