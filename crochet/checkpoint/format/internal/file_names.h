// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// A checkpoint `<prefix>` in the tensor bundle format consists of these files in one directory:
//
//   <prefix>.index                  a table (bundle/table_reader.h): "" -> header, name -> entry
//   <prefix>.data-00000-of-00001    the tensors' bytes, in one or several shards
std::string index_filename(std::string_view prefix);
std::string data_filename(std::string_view prefix, int shard, int num_shards);

// In the safetensors format it is one file, or several files with an index:
//
//   <prefix>.safetensors
//
//   <prefix>.safetensors.index.json         tensor -> file
//   <prefix>-00001-of-00002.safetensors     the tensors' bytes, in shards 0, 1, ...
std::string safetensors_filename(std::string_view prefix);
std::string safetensors_index_filename(std::string_view prefix);
std::string safetensors_shard_filename(std::string_view prefix, int shard, int num_shards);

// In both formats, the copy of a file that the program writes itself: `<prefix>.file-<name>`, with
// "%" and "/" of the name as "%25" and "%2F".
std::string attached_filename(std::string_view prefix, std::string_view name);

// In both formats, information about the checkpoint without opening it: `<prefix>.json`.
std::string sidecar_filename(std::string_view prefix);

// The numbers in the names of data files have five digits.
inline constexpr int kMaxShards = 99'999;

// The limit of an index file: about 100 bytes for each of ten million tensors.
inline constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30;

// The possible names of the index, which makes files a checkpoint, in the order in which readers
// look for them.
std::vector<std::string> index_filenames(std::string_view prefix);

// Instead of the index of a rank's part of a checkpoint, which the rank could not write: a text
// with the reason. `prefix` is "<base>.tempstate<digits>".
std::string failed_part_filename(std::string_view prefix);

// Suffix of a prefix: the directory in which TensorFlow's sharded savers write their parts.
inline constexpr std::string_view kPartsSuffix = "_temp";

// The role of a file in its checkpoint, according to its name.
enum class FileRole {
  kIndex,
  kData,
  kAttached,
  kSidecar,
  kMetaGraph,
  kTemporary,
  kTemporaryDirectory,  // Contains temporary files.
};

struct CheckpointFilename {
  FileRole role;
  std::string_view base;  // The last part of the prefix: "model.ckpt-100".
  // For a data file: the digits after "-of-".
  std::string_view num_shards = {};
};

// Parses the name (without a directory) of a checkpoint's file:
//
//   <base>.index, <base>.safetensors, <base>.safetensors.index.json
//   <base>.data-<5 digits or more>-of-<5 digits or more>
//   <base>-<5 digits or more>-of-<5 digits or more>.safetensors
//   <base>.file-<any text>, if <base> ends with -<digits>
//   <base>.json
//   <base>.meta
//   one of the first three lines followed by .tempstate<digits>
//   one of the last two lines followed by .tmp<32 hex>
//   one of the first two lines with .tempstate<digits> after <base>
//   <base>.tempstate<digits>.failed, also followed by .tmp<32 hex>
//   <base>.tempstate<digits>_temp, a directory
//
// Names on the first line are kIndex: the checkpoint exists if one of them does.
// Unset for any other name.
CROCHET_EXPORT std::optional<CheckpointFilename> parse_checkpoint_filename(std::string_view name);

// The step in `<basename>-<step>`; unset for another name or a step beyond int64.
CROCHET_EXPORT std::optional<int64_t> parse_step(std::string_view base, std::string_view basename);
// The step in `<anything>-<step>`.
CROCHET_EXPORT std::optional<int64_t> step_of_prefix(std::string_view prefix);

// True for "<latest_filename>.tmp<32 hex>", which an interrupted replacement of the state file
// leaves.
bool is_temporary_state(std::string_view name, std::string_view latest_filename);

// "<name>.tempstate<digits>", with a unique number.
CROCHET_EXPORT std::string temporary_filename(const std::string& name);

}  // namespace crochet::inline v0::internal
