// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"

namespace crochet::inline v0 {

std::unique_ptr<CheckpointWriter> new_checkpoint_writer(CheckpointFormat format, FileSystem& files,
                                                        std::string prefix,
                                                        NewCheckpointOptions options) {
  prefix = files.fixed_path(prefix);
  if (format == CheckpointFormat::kTorch)
    throw InvalidArgumentError(prefix + ": files of torch can be read, not written");
  if (format != CheckpointFormat::kTensorBundle && !options.linked_files.empty())
    throw InvalidArgumentError(prefix + ": only tensor bundles can link files");
  if (format == CheckpointFormat::kSafetensors)
    return std::make_unique<internal::SafetensorsWriter>(
        files, std::move(prefix),
        internal::SafetensorsWriterOptions{.num_shards = options.num_shards});
  return std::make_unique<internal::BundleWriter>(
      files, std::move(prefix),
      internal::BundleWriterOptions{.num_shards = options.num_shards,
                                    .expected_bytes = std::move(options.expected_bytes),
                                    .linked_files = std::move(options.linked_files)});
}

}  // namespace crochet::inline v0
