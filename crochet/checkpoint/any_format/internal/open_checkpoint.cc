// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/open_checkpoint.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/internal/file_format.h"
#include "crochet/checkpoint/bundle/internal/bundle_data.h"
#include "crochet/checkpoint/bundle/internal/bundle_index.h"
#include "crochet/checkpoint/format/internal/file_kind.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_data.h"
#include "crochet/checkpoint/torch/internal/torch_data.h"
#include "crochet/checkpoint/torch/internal/torch_index.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

OpenCheckpoint open_safetensors(FileSystem& files, const std::string& path) {
  SafetensorsIndex opened = read_safetensors(files, path);
  const bool has_checksums = std::ranges::all_of(
      opened.files, [](const SafetensorsFile& file) { return file.crcs.has_value(); });
  return {.format = CheckpointFormat::kSafetensors,
          .tensors = StoredTensors(std::move(opened.tensors)),
          .data = safetensors_data(std::move(opened.files), std::move(opened.open)),
          .metadata = std::move(opened.metadata),
          .has_checksums = has_checksums,
          .unreadable = std::move(opened.unreadable),
          .aliases = std::move(opened.aliases)};
}

OpenCheckpoint open_torch(FileSystem& files, const std::string& path) {
  TorchIndex opened = read_torch(files, path);
  OpenCheckpoint checkpoint{.format = CheckpointFormat::kTorch,
                            .tensors = StoredTensors(std::move(opened.tensors)),
                            .data = {},
                            .has_checksums = opened.has_checksums,
                            .unreadable = std::move(opened.unreadable)};
  checkpoint.data = torch_data(std::move(opened));
  return checkpoint;
}

OpenCheckpoint open_bundle(FileSystem& files, const std::string& prefix) {
  BundleIndex index = read_bundle_index(files, index_filename(prefix));
  return {.format = CheckpointFormat::kTensorBundle,
          .tensors = std::move(index.entries),
          .data = bundle_data(files, prefix, index.header)};
}

[[noreturn]] void throw_no_prefix(FileSystem& files, const std::string& file) {
  const std::string name = base_name(file);
  if (const auto part = parse_checkpoint_filename(name))
    throw NotFoundError(fmt::format("{} is only a file of a checkpoint; its prefix is {}", file,
                                    join_path(directory_of(file), part->base)));
  check_kind(files, file, "a checkpoint");
  throw UnimplementedError(fmt::format(
      "{} is a file and there is no {}: TensorFlow's V1 format is not supported; rewrite the "
      "checkpoint with TensorFlow",
      file, index_filename(file)));
}

}  // namespace

OpenCheckpoint open_checkpoint(FileSystem& files, const std::string& prefix) {
  if (files.exists(index_filename(prefix))) return open_bundle(files, prefix);
  for (const std::string& path : {safetensors_filename(prefix), safetensors_index_filename(prefix)})
    if (files.exists(path)) return open_safetensors(files, path);
  if (const auto format = format_of_file(files, prefix))
    return *format == CheckpointFormat::kTorch ? open_torch(files, prefix)
                                               : open_safetensors(files, prefix);
  if (files.exists(prefix) && !is_directory(files, prefix)) throw_no_prefix(files, prefix);
  return open_bundle(files, prefix);  // Throws that it does not exist.
}

}  // namespace crochet::inline v0::internal
