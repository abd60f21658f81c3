// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspection.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "crochet/checkpoint/bundle/bundle_index.h"
#include "crochet/checkpoint/file/index_file.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::tool {
namespace {

// Data files must be at least as long as the entries of the index require.
void check_data_files(FileSystem& files, const std::string& prefix,
                      std::vector<std::string>& damage) {
  const internal::BundleIndex index = internal::read_bundle_index(files, index_filename(prefix));
  std::map<int, uint64_t> ends;
  for (const auto& [name, entry] : index.entries)
    if (entry.slices.empty()) {
      uint64_t& end = ends[entry.shard];
      end = std::max(end, static_cast<uint64_t>(entry.offset) + static_cast<uint64_t>(entry.size));
    }
  for (const auto& [shard, end] : ends) {
    const std::string path = data_filename(prefix, shard, index.header.num_shards);
    const uint64_t size = files.exists(path) ? files.file_size(path) : 0;
    if (!files.exists(path))
      damage.push_back(fmt::format("{}: there is no such file", path));
    else if (size < end)
      damage.push_back(fmt::format("{}: found {} bytes, expected at least {}", path, size, end));
  }
}

void check_sidecar(FileSystem& files, const internal::FoundCheckpoint& checkpoint,
                   std::vector<std::string>& damage) {
  if (!checkpoint.sidecar) return;
  const uint32_t expected = checkpoint.sidecar->index_crc32c;
  if (expected != 0) {
    const std::string path = find_index(files, checkpoint.prefix).value_or(checkpoint.prefix);
    const uint32_t crc = internal::crc32c_of_index_file(files, path);
    if (crc != expected)
      damage.push_back(fmt::format(
          "{}: found masked crc32c {:08x}, expected {:08x} from the sidecar", path, crc, expected));
  }
  // There may be more bytes: files of a replaced checkpoint of the same name.
  const uint64_t size = checkpoint.sidecar->size_bytes;
  if (checkpoint.size_bytes < size)
    damage.push_back(fmt::format("{}: found files of {} bytes, expected {} from the sidecar",
                                 checkpoint.prefix, checkpoint.size_bytes, size));
}

// Reads part by part, so that the parts of a partitioned tensor are not in memory together.
void read_all_of(const CheckpointReader& reader, const std::string& name) {
  const std::vector<TensorSlice>& slices = reader.slices(name);
  if (slices.empty()) reader.read(name);
  for (const TensorSlice& slice : slices) reader.read_slice(name, slice);
}

void list_damaged_tensors(const CheckpointReader& reader, std::vector<std::string>& damage) {
  for (const auto& [name, info] : reader.tensors()) {
    try {
      read_all_of(reader, name);
    } catch (const UnimplementedError&) {
      // A variant: only its location can be checked.
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      damage.emplace_back(error.what());
    }
  }
}

// The first pass, in little memory, finds sound checkpoints; a second one names all damage.
void check_tensors(const CheckpointReader& reader, std::vector<std::string>& damage) {
  try {
    reader.verify();
  } catch (const Error& error) {
    if (!is_damage(error)) throw;
    const size_t num_before = damage.size();
    list_damaged_tensors(reader, damage);
    // The damage is in bytes that belong to no tensor.
    if (damage.size() == num_before) damage.emplace_back(error.what());
  }
}

// Smaller tensors are read as they are verified.
constexpr size_t kMinMappedBytes = size_t{1} << 20;

bool is_large(const CheckpointReader& reader, const std::string& name) {
  const auto found = reader.tensors().find(name);
  if (found == reader.tensors().end()) return false;
  const auto& [dtype, shape, num_slices] = found->second;
  return num_slices == 0 && element_size(dtype) > 0 &&
         static_cast<uint64_t>(shape.num_elements()) >= kMinMappedBytes / element_size(dtype);
}

// The elements are pages of the file, which the system loads and drops as needed.
Tensor verified_map(const CheckpointReader& reader, const std::string& name) {
  reader.verify(name);
  return reader.map(name);
}

}  // namespace

bool is_damage(const Error& error) {
  using enum Code;
  const Code code = error.code();
  return code == kDataLoss || code == kInvalidArgument || code == kNotFound ||
         code == kUnimplemented;
}

Inspection inspect(FileSystem& files, const internal::FoundCheckpoint& checkpoint, Depth depth) {
  Inspection found;
  try {
    check_sidecar(files, checkpoint, found.damage);
    if (checkpoint.format == CheckpointFormat::kTensorBundle)
      check_data_files(files, checkpoint.prefix, found.damage);
    const CheckpointReader reader(checkpoint.prefix, files);
    found.has_checksums = reader.has_checksums();
    if (depth == Depth::kEverything) check_tensors(reader, found.damage);
  } catch (const Error& error) {
    if (!is_damage(error)) throw;
    found.damage.emplace_back(error.what());
  }
  // Indexes are removed first: while there is one, a missing file is damage.
  found.is_gone = !found.damage.empty() && !internal::format_of(files, checkpoint.prefix);
  if (found.is_gone) found.damage.clear();
  return found;
}

ReadResult read_if_sound(const CheckpointReader& reader, const std::string& name) {
  try {
    return {.tensor = is_large(reader, name) ? verified_map(reader, name) : reader.read(name)};
  } catch (const UnimplementedError& error) {
    return {.problem = error.what()};
  } catch (const Error& error) {
    if (!is_damage(error)) throw;
    return {.problem = error.what(), .is_damaged = true};
  }
}

}  // namespace crochet::tool
