// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_legacy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/escape.h"
#include "crochet/checkpoint/format/internal/file_kind.h"
#include "crochet/checkpoint/torch/internal/pickle.h"
#include "crochet/checkpoint/torch/internal/torch_functions.h"
#include "crochet/checkpoint/torch/internal/torch_types.h"
#include "crochet/checkpoint/torch/internal/torch_values.h"

namespace crochet::inline v0::internal {
namespace {

using Kind = PickleValue::Kind;

// LONG1 of 10 bytes, after the protocol, and since protocol 4 after a frame.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kVersion = 1001;
constexpr uint64_t kFirstReadBytes = uint64_t{1} << 20;

std::string read_start(const ReadableFile& file, uint64_t size) {
  std::string bytes(std::min(size, file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

struct Pickles {
  Pickle version, system, values, keys;
  uint64_t num_bytes;
};

// Requires: the bytes outlive the result. Throws: PickleCutShort if there are more.
Pickles parse_pickles(std::string_view bytes, const std::string& path) {
  size_t at = 0;
  const auto next = [&](std::string_view what) {
    Pickle pickle = parse_first_pickle(
        bytes.substr(at), fmt::format("{}: the pickle of the {} at offset {}", path, what, at));
    at += pickle.num_bytes;
    return pickle;
  };
  next("magic number");
  Pickle version = next("version"), system = next("system");
  Pickle values = next("values"), keys = next("storages");
  return {std::move(version), std::move(system), std::move(values), std::move(keys), at};
}

// The value of a key of a dict; null if it has none.
const PickleValue* value_of(const Pickle& pickle, std::string_view key) {
  const PickleValue& dict = pickle.values[pickle.root];
  if (dict.kind != Kind::kDict) return nullptr;
  for (size_t i = 0; i < dict.items.size(); i += 2)
    if (pickle.item(dict, i).text == key) return &pickle.item(dict, i + 1);
  return nullptr;
}

// The storages that the values refer to, by key, and their sizes in bytes.
std::map<std::string_view, uint64_t> storage_sizes(const Pickle& values, const std::string& path) {
  std::map<std::string_view, uint64_t> sizes;
  for (const PickleValue& value : values.values) {
    if (value.kind != Kind::kPersistent) continue;
    const PickleValue& id = values.item(value, 0);
    if (id.kind != Kind::kTuple || id.items.size() < 5 || values.item(id, 0).text != "storage")
      continue;
    const GlobalName storage_class = values.global_name(values.item(id, 1));
    const TorchType* const type = find_torch_storage(storage_class);
    if (type == nullptr && !is_untyped_storage(storage_class))
      throw UnimplementedError(
          fmt::format("{}: byte {} of the values: found a storage of the "
                      "class {}, expected one of torch",
                      path, value.position, python_name(storage_class)));
    uint64_t size = 0;
    const PickleValue& count = values.item(id, 4);
    if (count.kind != Kind::kInt || count.integer < 0 ||
        __builtin_mul_overflow(static_cast<uint64_t>(count.integer),
                               type == nullptr ? size_t{1} : type->size, &size))
      throw DataLossError(fmt::format("{}: byte {} of the values: found a storage without a size",
                                      path, value.position));
    sizes.emplace(values.item(id, 2).text, size);
  }
  return sizes;
}

// Finds the storages, which follow the pickles in the order of the keys.
void add_storages(const ReadableFile& file, const Pickles& pickles, TorchIndex& index) {
  const auto sizes = storage_sizes(pickles.values, index.path);
  uint64_t offset = pickles.num_bytes;
  const PickleValue& keys = pickles.keys.values[pickles.keys.root];
  for (size_t i = 0; i < keys.items.size(); ++i) {
    const std::string_view key = pickles.keys.item(keys, i).text;
    const auto size = sizes.find(key);
    const std::string name = fmt::format("storage {}", escape_name(key.substr(0, 80)));
    if (size == sizes.end())
      throw DataLossError(fmt::format("{}: no value refers to the {}", index.path, name));
    const uint64_t left = file.size() - std::min(file.size(), offset);
    if (left < sizeof(uint64_t) || left - sizeof(uint64_t) < size->second)
      throw DataLossError(fmt::format("{}: the {} has {} bytes at offset {}, the file ends at {}",
                                      index.path, name, size->second, offset, file.size()));
    offset += sizeof(uint64_t);
    index.storages_by_key.emplace(key, static_cast<int32_t>(index.storages.size()));
    index.storages.push_back(
        {name, {.offset = offset, .size = size->second, .crc32 = 0, .is_plain = true}});
    offset += size->second;
  }
}

void add_all(const ReadableFile& file, const Pickles& pickles, TorchIndex& index) {
  const PickleValue& version = pickles.version.values[pickles.version.root];
  if (version.kind != Kind::kInt || version.integer != kVersion)
    throw UnimplementedError(
        fmt::format("{}: found another version than {}", index.path, kVersion));
  const PickleValue* const is_little = value_of(pickles.system, "little_endian");
  if (is_little == nullptr || is_little->kind != Kind::kBool || is_little->integer == 0)
    throw UnimplementedError(
        fmt::format("{}: found a big-endian file, expected \"little_endian\"", index.path));
  add_storages(file, pickles, index);
  add_torch_values(pickles.values, "the values", file.size(), index);
}

}  // namespace

bool is_legacy_torch_file(const ReadableFile& file) {
  const std::string start = first_bytes(file);
  const size_t magic = start.find(kMagic);
  constexpr size_t kProtocolBytes = 2, kFrameBytes = 9;
  return start.starts_with('\x80') &&
         (magic == kProtocolBytes || magic == kProtocolBytes + kFrameBytes);
}

void read_legacy_torch_file(const ReadableFile& file, TorchIndex& index) {
  const uint64_t most = std::min(file.size(), kMaxPickleBytes);
  for (uint64_t size = std::min(most, kFirstReadBytes); true; size = std::min(most, 2 * size)) {
    const std::string bytes = read_start(file, size);
    std::optional<Pickles> pickles;
    try {
      pickles = parse_pickles(bytes, index.path);
    } catch (const PickleCutShort&) {
      if (size == most) throw;
      continue;
    }
    return add_all(file, *pickles, index);
  }
}

}  // namespace crochet::inline v0::internal
