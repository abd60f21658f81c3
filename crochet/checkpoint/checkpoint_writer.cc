// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_writer.h"

#include <utility>

#include "crochet/checkpoint/bundle_writer.h"
#include "crochet/checkpoint/safetensors_writer.h"

namespace crochet {

const char* checkpoint_format_name(CheckpointFormat format) {
  return format == CheckpointFormat::kSafetensors ? "safetensors" : "tensor_bundle";
}

std::unique_ptr<CheckpointWriter> new_checkpoint_writer(CheckpointFormat format, FileSystem& files,
                                                        std::string prefix, int num_shards) {
  if (format == CheckpointFormat::kSafetensors)
    return std::make_unique<SafetensorsWriter>(files, std::move(prefix),
                                               SafetensorsWriterOptions{.num_shards = num_shards});
  return std::make_unique<BundleWriter>(files, std::move(prefix),
                                        BundleWriterOptions{.num_shards = num_shards});
}

}  // namespace crochet
