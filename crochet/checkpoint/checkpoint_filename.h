// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace crochet::internal {

// What a file's name says of the checkpoint it belongs to.
enum class CheckpointPart { kIndex, kData, kSidecar, kMetaGraph, kTemporary };

struct CheckpointFilename {
  CheckpointPart part;
  std::string_view base;  // The last part of the prefix: "model.ckpt-100".
  // Of a data file: the digits behind "-of-".
  std::string_view num_shards = {};
};

// Takes apart the name (without a directory) of a checkpoint's file:
//
//   <base>.index
//   <base>.data-<5 digits or more>-of-<5 digits or more>
//   <base>.json
//   <base>.meta
//   one of the first two and .tempstate<digits>, one of the last two and .tmp<32 hex>
//
// Nothing for any other name.
std::optional<CheckpointFilename> parse_checkpoint_filename(std::string_view name);

// The step in `<basename>-<step>`; nothing for another name or a step beyond int64.
std::optional<int64_t> parse_step(std::string_view base, std::string_view basename);

// True for "checkpoint.tmp<32 hex>", which replacing the state file leaves.
bool is_temporary_state(std::string_view name);

}  // namespace crochet::internal
