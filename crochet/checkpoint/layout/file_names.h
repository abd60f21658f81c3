// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crochet {

// A checkpoint `<prefix>` as a tensor bundle is these files, side by side:
//
//   <prefix>.index                  a table (bundle/table_reader.h): "" -> header, name -> entry
//   <prefix>.data-00000-of-00001    the tensors' bytes, in one or several shards
std::string index_filename(std::string_view prefix);
std::string data_filename(std::string_view prefix, int shard, int num_shards);

// In the safetensors format it is one file, or several and an index:
//
//   <prefix>.safetensors
//
//   <prefix>.safetensors.index.json         tensor -> file
//   <prefix>-00001-of-00002.safetensors     the tensors' bytes, in shards 0, 1, ...
std::string safetensors_filename(std::string_view prefix);
std::string safetensors_index_filename(std::string_view prefix);
std::string safetensors_shard_filename(std::string_view prefix, int shard, int num_shards);

// In both, what is known of it without opening it: `<prefix>.json`.
std::string sidecar_filename(std::string_view prefix);

}  // namespace crochet

namespace crochet::internal {

// The numbers in the names of data files have five digits.
inline constexpr int kMaxShards = 99'999;

// What an index file may have: 100 bytes or so for each of ten million tensors.
inline constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30;

// The file that makes it a checkpoint is one of these, in the order in which readers look for them.
std::vector<std::string> index_filenames(std::string_view prefix);

// After a prefix, the directory in which TensorFlow's sharded savers write their parts.
inline constexpr std::string_view kPartsSuffix = "_temp";

// What a file's name says of the checkpoint it belongs to.
enum class CheckpointPart {
  kIndex,
  kData,
  kSidecar,
  kMetaGraph,
  kTemporary,
  kTemporaryDirectory,  // With temporary files in it.
};

struct CheckpointFilename {
  CheckpointPart part;
  std::string_view base;  // The last part of the prefix: "model.ckpt-100".
  // Of a data file: the digits behind "-of-".
  std::string_view num_shards = {};
};

// Takes apart the name (without a directory) of a checkpoint's file:
//
//   <base>.index, <base>.safetensors, <base>.safetensors.index.json
//   <base>.data-<5 digits or more>-of-<5 digits or more>
//   <base>-<5 digits or more>-of-<5 digits or more>.safetensors
//   <base>.json
//   <base>.meta
//   one of the first three lines and .tempstate<digits>, one of the last two and .tmp<32 hex>
//   one of the first two lines with .tempstate<digits> behind <base>
//   <base>.tempstate<digits>_temp, a directory
//
// The first line's are kIndex: the checkpoint is there if one of them is.
// Nothing for any other name.
std::optional<CheckpointFilename> parse_checkpoint_filename(std::string_view name);

// The step in `<basename>-<step>`; nothing for another name or a step beyond int64.
std::optional<int64_t> parse_step(std::string_view base, std::string_view basename);
// The step in `<anything>-<step>`.
std::optional<int64_t> step_of_prefix(std::string_view prefix);

// True for "<latest_filename>.tmp<32 hex>", which replacing the state file leaves.
bool is_temporary_state(std::string_view name, std::string_view latest_filename);

// "<name>.tempstate<digits>", with a number that nobody else has.
std::string temporary_filename(const std::string& name);

}  // namespace crochet::internal
