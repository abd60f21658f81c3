// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/safetensors_index.h"

#include <algorithm>
#include <set>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/layout/slice_key.h"
#include "crochet/io/crc32c.h"
#include "crochet/io/path.h"
#include "crochet/io/untrusted_file.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0::internal {
namespace {

uint64_t take_length(const ReadableFile& file, const std::string& path) {
  const uint64_t size = file.size();
  if (size < kSafetensorsLengthBytes)
    throw DataLossError(
        fmt::format("{}: found {} bytes, expected at least {} for the header's length", path, size,
                    kSafetensorsLengthBytes));
  std::string bytes(kSafetensorsLengthBytes, '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  uint64_t length = 0;
  for (size_t i = kSafetensorsLengthBytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  const uint64_t most = std::min(kMaxSafetensorsHeaderBytes, size - kSafetensorsLengthBytes);
  if (length > most)
    throw DataLossError(
        fmt::format("{}: the header has {} bytes, expected at most {} in a file of {}", path,
                    length, most, size));
  return length;
}

std::string read_head(const ReadableFile& file, const std::string& path) {
  std::string bytes(kSafetensorsLengthBytes + take_length(file, path), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::string_view note(const Metadata& metadata, std::string_view key, const std::string& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    throw DataLossError(
        fmt::format("{}: the metadata has \"{}*\" but no \"{}\"", path, kNotePrefix, key));
  return found->second;
}

std::vector<uint32_t> checksums(const SafetensorsHeader& header, const std::string& path) {
  auto crcs = decode_checksums(note(header.metadata, kChecksumsKey, path), header.tensors.size());
  if (!crcs)
    throw DataLossError(
        fmt::format("{}: the metadata \"{}\" is not a list of checksums of {} tensors", path,
                    kChecksumsKey, header.tensors.size()));
  return *std::move(crcs);
}

// Adds the content of the files to the index, one after another.
class Merge {
 public:
  explicit Merge(SafetensorsIndex& to) : to_(to) {}

  void add(SafetensorsFile file) {
    const auto shard = static_cast<int32_t>(to_.files.size());
    for (size_t i = 0; i < file.header.tensors.size(); ++i) {
      const SafetensorsTensor& tensor = file.header.tensors[i];
      StoredTensor entry = entry_of(tensor, file);
      entry.shard = shard;
      if (file.crcs) entry.masked_crc32c = mask_crc32c((*file.crcs)[i]);
      place(tensor, std::move(entry), file);
    }
    for (const auto& [key, value] : file.header.metadata)
      if (!key.starts_with(kNotePrefix)) to_.metadata.emplace(key, value);
    check_notes(file);
    to_.open->put(shard, file.path, std::exchange(file.file, nullptr));
    to_.files.push_back(std::move(file));
  }

 private:
  static const std::string* note_of(std::string_view prefix, const SafetensorsTensor& tensor,
                                    const SafetensorsFile& file) {
    if (file.num_notes == 0) return nullptr;
    const auto found = file.header.metadata.find(fmt::format("{}{}", prefix, tensor.name));
    return found == file.header.metadata.end() ? nullptr : &found->second;
  }

  [[noreturn]] static void fail(const SafetensorsTensor& tensor, std::string_view note,
                                const SafetensorsFile& file) {
    throw DataLossError(fmt::format("{}: the metadata has {} for {}, which is {} {}", file.path,
                                    shown(note), shown(tensor.name), tensor.type->name,
                                    tensor.shape));
  }

  // Sets the type and shape that the note assigns to the tensor's bytes.
  static void apply_type(const std::string& text, const SafetensorsTensor& tensor,
                         const SafetensorsFile& file, StoredTensor& entry) {
    const auto type = decode_stored_type(text);
    if (!type || entry.dtype != DType::kUint8 || safetensors_type_of(type->dtype) != nullptr)
      fail(tensor, text, file);
    const auto stored = tensor.shape.dimensions();
    if (type->dtype == DType::kString) {
      if (stored.size() != 1) fail(tensor, text, file);
    } else {
      const auto expected = type->shape.dimensions();
      const auto size = static_cast<int64_t>(element_size(type->dtype));
      if (size == 0 || stored.size() != expected.size() + 1 || stored.back() != size ||
          !std::ranges::equal(expected, stored.first(expected.size())))
        fail(tensor, text, file);
    }
    entry.dtype = type->dtype;
    entry.shape = type->shape;
  }

  static StoredTensor entry_of(const SafetensorsTensor& tensor, const SafetensorsFile& file) {
    StoredTensor entry{.dtype = tensor.type->dtype, .shape = tensor.shape};
    entry.offset = static_cast<int64_t>(file.data_offset + tensor.begin);
    entry.size = static_cast<int64_t>(tensor.end - tensor.begin);
    if (const std::string* const text = note_of(kDtypePrefix, tensor, file))
      apply_type(*text, tensor, file, entry);
    return entry;
  }

  void place(const SafetensorsTensor& tensor, StoredTensor entry, const SafetensorsFile& file) {
    std::string key = tensor.name;
    if (const std::string* const text = note_of(kSlicePrefix, tensor, file)) {
      const auto note = decode_slice_note(*text);
      if (!note || note->key.front() == '\0') fail(tensor, *text, file);
      add_slice(*note, entry, tensor, file);
      key = slice_key(note->key, note->slice);
    } else if (key.front() == '\0') {
      throw DataLossError(
          fmt::format("{}: the name of a tensor starts with a zero byte", file.path));
    }
    if (!to_.tensors.emplace(std::move(key), std::move(entry)).second)
      throw DataLossError(fmt::format("{}: {} occurs twice", file.path, shown(tensor.name)));
  }

  void add_slice(const SliceNote& note, const StoredTensor& entry, const SafetensorsTensor& tensor,
                 const SafetensorsFile& file) {
    const auto [whole, is_first] = to_.tensors.try_emplace(
        note.key, StoredTensor{.dtype = entry.dtype, .shape = note.full_shape});
    const bool is_whole_tensor = !is_first && whole->second.slices.empty();
    if (is_whole_tensor || whole->second.dtype != entry.dtype ||
        whole->second.shape != note.full_shape)
      fail(tensor, encode(note), file);
    whole->second.slices.push_back(note.slice);
  }

  // Each note must belong to a tensor of the file.
  static void check_notes(const SafetensorsFile& file) {
    if (file.num_notes == 0) return;
    std::set<std::string_view> names;
    for (const SafetensorsTensor& tensor : file.header.tensors) names.insert(tensor.name);
    for (const auto& [key, value] : file.header.metadata)
      for (const std::string_view prefix : {kDtypePrefix, kSlicePrefix})
        if (key.starts_with(prefix) && !names.contains(std::string_view(key).substr(prefix.size())))
          throw DataLossError(fmt::format("{}: the metadata has {}, but there is no such tensor",
                                          file.path, shown(key)));
  }

  SafetensorsIndex& to_;
};

SafetensorsFile open_shard(FileSystem& files, const std::string& path, const std::string& index) {
  try {
    return open_safetensors_file(files, path);
  } catch (const NotFoundError&) {
    throw DataLossError(fmt::format("{}: there is no such file, {} needs it", path, index));
  }
}

void check_shard(const SafetensorsFile& file, const ShardIndex& index, const std::string& path) {
  const std::string name = base_name(file.path);
  for (const SafetensorsTensor& tensor : file.header.tensors) {
    const auto found = index.weight_map.find(tensor.name);
    if (found == index.weight_map.end() || found->second != name)
      throw DataLossError(fmt::format(
          "{} has {}, but {} {}", file.path, shown(tensor.name), path,
          found == index.weight_map.end() ? "does not have it" : "has it in " + found->second));
  }
  if (index.header_crcs.empty()) return;
  const auto expected = index.header_crcs.find(name);
  if (expected == index.header_crcs.end() || !file.crcs || file.header_crc != expected->second)
    throw DataLossError(fmt::format(
        "{}: crc32c of the header is {}, but in {} it is {}", file.path,
        file.crcs ? fmt::format("{:08x}", file.header_crc) : "missing", path,
        expected == index.header_crcs.end() ? "missing" : fmt::format("{:08x}", expected->second)));
}

void add_shards(FileSystem& files, const std::string& path, Merge& merge) {
  const ShardIndex index =
      decode_shard_index(read_untrusted_file(files, path, kMaxSafetensorsHeaderBytes), path);
  std::set<std::string> names;
  for (const auto& [tensor, name] : index.weight_map) names.insert(name);
  for (const auto& [name, crc] : index.header_crcs) names.insert(name);
  size_t found = 0;
  for (const std::string& name : names) {
    SafetensorsFile file = open_shard(files, join_path(directory_of(path), name), path);
    check_shard(file, index, path);
    found += file.header.tensors.size();
    merge.add(std::move(file));
  }
  if (found != index.weight_map.size())
    throw DataLossError(fmt::format("{} names {} tensors, but its files have {}", path,
                                    index.weight_map.size(), found));
}

}  // namespace

std::string read_safetensors_head(FileSystem& files, const std::string& path) {
  return read_head(*open_untrusted_file(files, path), path);
}

SafetensorsFile open_safetensors_file(FileSystem& files, const std::string& path) {
  SafetensorsFile opened{.path = path, .file = open_untrusted_file(files, path), .header = {}};
  const std::string bytes = read_head(*opened.file, path);
  opened.data_offset = bytes.size();
  opened.header = decode_safetensors_header(std::string_view(bytes).substr(kSafetensorsLengthBytes),
                                            opened.file->size() - opened.data_offset, path);
  if (!has_notes(opened.header.metadata)) return opened;
  note(opened.header.metadata, kHeaderChecksumKey, path);
  opened.header_crc = verified_checksum(bytes, kHeaderChecksumKey, path);
  opened.crcs = checksums(opened.header, path);
  opened.num_notes =
      static_cast<size_t>(std::ranges::count_if(opened.header.metadata, [](const auto& item) {
        return item.first.starts_with(kDtypePrefix) || item.first.starts_with(kSlicePrefix);
      }));
  return opened;
}

SafetensorsIndex read_safetensors(FileSystem& files, const std::string& path) {
  return with_bounded_memory(path, [&] {
    SafetensorsIndex index{.files = {},
                           .open = std::make_unique<OpenFiles>(files, path),
                           .tensors = {},
                           .metadata = {}};
    Merge merge(index);
    if (path.ends_with(".json"))
      add_shards(files, path, merge);
    else
      merge.add(open_safetensors_file(files, path));
    return index;
  });
}

}  // namespace crochet::inline v0::internal
