// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/index_file.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/bundle_index.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_index.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {

std::optional<std::string> find_index(FileSystem& files, const std::string& prefix) {
  for (std::string& path : index_filenames(prefix))
    if (files.exists(path)) return std::move(path);
  return std::nullopt;
}

uint32_t index_crc32c_of(FileSystem& files, const std::string& prefix) {
  const auto path = find_index(files, prefix);
  if (!path) throw NotFoundError(fmt::format("{}: there is no such checkpoint", prefix));
  return crc32c_of_index_file(files, *path);
}

uint32_t crc32c_of_index_file(FileSystem& files, const std::string& path) {
  const bool has_data = path.ends_with(".safetensors");
  return mask_crc32c(crc32c(has_data ? read_safetensors_head(files, path)
                                     : read_untrusted_file(files, path, kMaxIndexBytes)));
}

std::optional<int> num_shards_of(FileSystem& files, const std::string& prefix) {
  try {
    return read_bundle_index(files, index_filename(prefix)).header.num_shards;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace crochet::inline v0::internal
