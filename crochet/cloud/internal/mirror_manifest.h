// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crochet::inline v0::cloud::internal {

// The size of an object with a part of a file, but for the last one.
inline constexpr uint64_t kPartBytes = uint64_t{64} << 20;

// A file of a checkpoint, in parts of kPartBytes.
struct MirroredFile {
  std::string name = {};
  uint64_t size = 0;
  std::vector<uint32_t> crc32c = {};  // Of each part.

  size_t num_parts() const { return (size + kPartBytes - 1) / kPartBytes; }
  uint64_t size_of_part(size_t part) const {
    return part + 1 < num_parts() ? kPartBytes : size - part * kPartBytes;
  }

  friend bool operator==(const MirroredFile&, const MirroredFile&) = default;
};

// What a copy of a checkpoint consists of. Without this a copy does not exist.
struct MirrorManifest {
  std::string checkpoint = {};  // "model.ckpt-100".
  // When it was saved, in seconds since 1970-01-01 UTC.
  double unix_time = 0;
  // Retention does not remove it.
  bool is_pinned = false;
  std::vector<MirroredFile> files = {};  // The index, which makes files a checkpoint, comes last.

  uint64_t num_bytes() const;

  friend bool operator==(const MirrorManifest&, const MirrorManifest&) = default;
};

// About 40 TiB of parts.
inline constexpr size_t kMaxManifestBytes = size_t{8} << 20;

std::string to_text(const MirrorManifest& manifest);
// `name` is for messages. Throws: DataLossError for any text but a manifest of a checkpoint with
// this name, such as one whose files have names that lead elsewhere; UnimplementedError for one of
// a later version.
MirrorManifest parse_manifest(std::string_view text, const std::string& checkpoint,
                              const std::string& name);

}  // namespace crochet::inline v0::cloud::internal
