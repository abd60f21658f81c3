// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_kind.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_start.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/untrusted_file.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kExpected = "a safetensors file";

// The path of a file that an index names.
std::string path_of_shard(const std::string& index, const std::string& name) {
  return join_path(directory_of(index), name);
}

// Why a tensor cannot be in a file of this name; unset for a file in the directory of the index, or
// in a folder of it.
std::optional<std::string> path_problem(const std::string& name) {
  const size_t slash = name.find('/');
  const bool has_folder = slash != std::string::npos;
  const auto is_plain = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." &&
           part.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
  };
  const bool is_valid = has_folder
                            ? is_plain(name.substr(0, slash)) && is_plain(name.substr(slash + 1))
                            : is_plain(name);
  if (is_valid) return std::nullopt;
  return fmt::format("is in the file {}, expected one beside the index or in a folder there",
                     shown(name));
}

std::string read_head(const ReadableFile& file, const std::string& path) {
  std::string bytes(kSafetensorsLengthBytes + read_header_length(file, path), '\0');
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
  // `shards` is null for a single file. Requires: it outlives this.
  explicit Merge(SafetensorsIndex& to, const ShardIndex* shards = nullptr)
      : to_(to), shards_(shards) {}

  void add(SafetensorsFile file) {
    const auto shard = static_cast<int32_t>(to_.files.size());
    for (size_t i = 0; i < file.header.tensors.size(); ++i) {
      const SafetensorsTensor& tensor = file.header.tensors[i];
      if (tensor.type == nullptr || is_slice_key(tensor.name)) {
        add_unreadable(tensor);
        continue;
      }
      StoredTensor entry = entry_of(tensor, file);
      entry.shard = shard;
      if (file.crcs) entry.masked_crc32c = mask_crc32c((*file.crcs)[i]);
      place(tensor, std::move(entry), file);
    }
    for (const auto& [key, value] : file.header.metadata)
      if (!is_note(key)) to_.metadata.emplace(key, value);
    check_notes(file);
    to_.open->put(shard, file.path, std::exchange(file.file, nullptr));
    to_.files.push_back(std::move(file));
  }

  // Adds the second names of tensors that the metadata has, as {"lm_head.weight": "wte.weight"}.
  void add_aliases() {
    for (const auto& [alias, name] : to_.metadata) {
      const auto found = to_.tensors.find(name);
      const bool is_new = !to_.tensors.contains(alias) && !to_.unreadable.contains(alias);
      // "pt" may be the name of a tensor, but {"format": "pt"} is in nearly all files.
      if (found == to_.tensors.end() || !is_new || !found->second.slices.empty() ||
          is_slice_key(alias) || is_slice_key(name) || alias == "format")
        continue;
      to_.aliases.emplace(alias, name);
    }
    for (const auto& [alias, name] : to_.aliases)
      to_.tensors.emplace(alias, StoredTensor(to_.tensors.find(name)->second));
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
      if (!note || is_slice_key(note->key)) fail(tensor, *text, file);
      add_slice(*note, entry, tensor, file);
      key = slice_key(note->key, note->slice);
    }
    const auto [known, is_new] = to_.tensors.try_emplace(key, entry);
    if (is_new) return;
    if (shards_ == nullptr || file.crcs)
      throw DataLossError(fmt::format("{}: {} occurs twice", file.path, shown(tensor.name)));
    choose(key, known->second, std::move(entry), file.path);
  }

  // Of two files that have a tensor, the index decides.
  void choose(const std::string& name, StoredTensor& known, StoredTensor entry,
              const std::string& path) {
    const auto mapped = shards_->weight_map.find(name);
    const auto is_mapped = [&](const std::string& file) {
      return mapped != shards_->weight_map.end() && path_of_shard(to_.path, mapped->second) == file;
    };
    const std::string& known_path = to_.files[static_cast<size_t>(known.shard)].path;
    if (is_mapped(path)) {
      known = std::move(entry);
      to_.unreadable.erase(name);
    } else if (!is_mapped(known_path)) {
      to_.unreadable.insert_or_assign(
          name, UnreadableValue{.why = fmt::format("is in both {} and {}, and the index does not "
                                                   "decide",
                                                   known_path, path)});
    }
  }

  void add_unreadable(const SafetensorsTensor& tensor) {
    to_.unreadable.emplace(
        tensor.name,
        UnreadableValue{.why = tensor.type == nullptr
                                   ? fmt::format("has the type {}, which crochet does not know",
                                                 shown(tensor.unknown_type))
                                   : "has a name that begins with a zero byte"});
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
  const ShardIndex* const shards_;
};

SafetensorsFile open_shard(FileSystem& files, const std::string& path, const std::string& index) {
  try {
    return open_safetensors_file(files, path);
  } catch (const NotFoundError&) {
    throw MissingFileError(fmt::format("{}: there is no such file, {} needs it", path, index));
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

// The index of crochet's own describes exactly what the files have.
void add_own_shards(FileSystem& files, const std::string& path, const ShardIndex& index,
                    Merge& merge) {
  std::set<std::string> names;
  for (const auto& [tensor, name] : index.weight_map) names.insert(name);
  for (const auto& [name, crc] : index.header_crcs) names.insert(name);
  size_t found = 0;
  for (const std::string& name : names) {
    if (const auto problem = path_problem(name))
      throw DataLossError(fmt::format("{}: a tensor {}", path, *problem));
    SafetensorsFile file = open_shard(files, path_of_shard(path, name), path);
    check_shard(file, index, path);
    found += file.header.tensors.size();
    merge.add(std::move(file));
  }
  if (found != index.weight_map.size())
    throw DataLossError(fmt::format("{} names {} tensors, but its files have {}", path,
                                    index.weight_map.size(), found));
}

// Opens a file of another writer's index; otherwise sets the reason why its tensors are unreadable.
std::optional<SafetensorsFile> try_open_shard(FileSystem& files, const std::string& path,
                                              const std::string& name, UnreadableValue& problem) {
  if (const auto wrong_path = path_problem(name)) {
    problem = {Code::kUnimplemented, *wrong_path};
    return std::nullopt;
  }
  try {
    return open_safetensors_file(files, path_of_shard(path, name));
  } catch (const NotFoundError&) {
    problem = {Code::kNotFound, fmt::format("is in {}, which is missing", name)};
  } catch (const Error& error) {
    if (error.code() != Code::kDataLoss && error.code() != Code::kUnimplemented) throw;
    problem = {error.code(), fmt::format("is in a file that cannot be read: {}", error.what())};
  }
  return std::nullopt;
}

void add_shards(FileSystem& files, const ShardIndex& index, Merge& merge, SafetensorsIndex& to) {
  std::map<std::string, UnreadableValue> problems;
  for (const auto& [tensor, name] : index.weight_map) problems[name];
  for (auto& [name, problem] : problems)
    if (auto file = try_open_shard(files, to.path, name, problem)) merge.add(*std::move(file));
  for (const auto& [tensor, name] : index.weight_map) {
    if (to.tensors.contains(tensor) || to.unreadable.contains(tensor)) continue;
    const UnreadableValue& problem = problems[name];
    to.unreadable.emplace(
        tensor, problem.why.empty()
                    ? UnreadableValue{Code::kNotFound,
                                      fmt::format("is not in {}, where the index has it", name)}
                    : problem);
  }
}

SafetensorsIndex read_several(FileSystem& files, const std::string& path, SafetensorsIndex index) {
  const ShardIndex shards =
      decode_shard_index(read_untrusted_file(files, path, kMaxSafetensorsHeaderBytes), path);
  Merge merge(index, &shards);
  if (shards.header_crcs.empty())
    add_shards(files, shards, merge, index);
  else
    add_own_shards(files, path, shards, merge);
  merge.add_aliases();
  return index;
}

SafetensorsIndex read_one(FileSystem& files, const std::string& path, SafetensorsIndex index) {
  Merge merge(index);
  merge.add(open_safetensors_file(files, path));
  merge.add_aliases();
  return index;
}

}  // namespace

std::string read_safetensors_head(FileSystem& files, const std::string& path) {
  return read_head(*open_untrusted_file(files, path), path);
}

namespace {

SafetensorsFile open_with_header(FileSystem& files, const std::string& path) {
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

}  // namespace

SafetensorsFile open_safetensors_file(FileSystem& files, const std::string& path) {
  return read_as(kExpected, files, path, [&] { return open_with_header(files, path); });
}

SafetensorsIndex read_safetensors(FileSystem& files, const std::string& path) {
  return read_as(kExpected, files, path, [&] {
    return with_bounded_memory(path, [&] {
      SafetensorsIndex index{.path = path, .open = std::make_unique<OpenFiles>(files, path)};
      const bool is_index = is_json_file(*open_untrusted_file(files, path));
      return is_index ? read_several(files, path, std::move(index))
                      : read_one(files, path, std::move(index));
    });
  });
}

}  // namespace crochet::inline v0::internal
