// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/file_format.h"

#include "crochet/base/error.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_start.h"
#include "crochet/checkpoint/torch/internal/torch_index.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {

std::optional<CheckpointFormat> format_of_file(FileSystem& files, const std::string& path) {
  if (!files.exists(path) || is_directory(files, path)) return std::nullopt;
  try {
    const auto file = open_untrusted_file(files, path);
    if (is_torch_file(*file)) return CheckpointFormat::kTorch;
    if (is_safetensors_file(*file)) return CheckpointFormat::kSafetensors;
  } catch (const NotFoundError&) {
    return std::nullopt;  // Removed meanwhile.
  } catch (const DataLossError&) {
  }
  if (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json"))
    return CheckpointFormat::kSafetensors;
  if (path.ends_with(".pt") || path.ends_with(".pth")) return CheckpointFormat::kTorch;
  return std::nullopt;
}

}  // namespace crochet::inline v0::internal
