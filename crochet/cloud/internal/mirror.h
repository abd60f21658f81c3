// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/cloud/internal/mirror_manifest.h"
#include "crochet/cloud/internal/object_store.h"
#include "crochet/cloud/internal/s3_access.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::cloud::internal {

// A file to copy.
struct SourceFile {
  std::string name;
  std::shared_ptr<const ReadableFile> file;
};

// Copies of checkpoints in a bucket, beneath a prefix:
//
//   <prefix>/<checkpoint>/<upload>/<file>.<part>      the bytes, 64 MiB each, from part 0 on
//   <prefix>/<checkpoint>/<upload>/manifest.json      last: the copy exists from now on
//
// An upload has a name of its own, "20261130T152623.123Z-0123456789abcdef", so that no two writers
// ever put the same part; a checkpoint saved again under its name is another upload, which
// supersedes the first. A manifest never replaces another. A run that removes an upload that looks
// abandoned first puts an empty manifest, so that its writer, if it is still there, cannot finish
// it. Objects with other keys are never touched.
//
// A manifest never names what is not there: it comes after all parts, and goes before any.
//
// Thread-safe.
class Mirror {
 public:
  // A copy that exists.
  struct Copy {
    std::string upload;  // "<checkpoint>/<upload>".
    std::shared_ptr<const MirrorManifest> manifest;
  };

  // Requires: `store` and `clock` outlive this.
  Mirror(ObjectStore& store, S3Place place, Clock& clock);

  const S3Place& place() const { return place_; }
  // Of one checkpoint.
  std::string url_of(const std::string& checkpoint) const;

  // One for each checkpoint, in the order in which they were saved. One whose manifest is damaged
  // is left out, with a warning. Throws: as ObjectStore's functions.
  std::vector<Copy> list(const std::stop_token& stop);

  // Copies a checkpoint, with `num_parallel` objects on their way at once. Throws: as ObjectStore's
  // functions; what reading the files throws; AbortedError if another writer has removed the parts,
  // or if it has taken too long.
  void add(const MirrorManifest& described, std::span<const SourceFile> files, int num_parallel,
           const std::stop_token& stop);

  // Removes what interrupted uploads and removals have left, and superseded copies; then all copies
  // but the newest `max_to_keep`, if that is positive, and pinned ones. Another writer that is
  // uploading here at this moment has its upload removed, and fails. Requires: this object is not
  // uploading. Returns the copies that are left. Throws: as ObjectStore's functions.
  std::vector<Copy> tidy(int max_to_keep, const std::stop_token& stop);

  // Fills all of `into` with the bytes of a file from `offset` on. Throws: as ObjectStore::get().
  void read(const Copy& copy, const MirroredFile& file, uint64_t offset, std::span<std::byte> into,
            const std::stop_token& stop);

 private:
  // What there is beneath "<checkpoint>/<upload>/".
  struct Upload {
    std::string checkpoint;
    std::vector<std::string> parts;        // Keys.
    std::optional<StoredObject> manifest;  // An empty one withdraws the upload.
  };
  struct Uploads {
    std::map<std::string, Upload> by_name = {};  // "<checkpoint>/<upload>".
    double time = 0;                             // By the store's clock.
  };

  std::string key_of(const std::string& name) const;
  std::string manifest_key(const std::string& upload) const;
  static std::string part_name(const std::string& upload, const std::string& file, size_t part);

  Uploads find_uploads(const std::stop_token& stop);
  std::vector<Copy> copies_among(const Uploads& uploads, const std::stop_token& stop);
  // Null if it is damaged, or has just been removed.
  std::shared_ptr<const MirrorManifest> manifest_of(const std::string& upload,
                                                    const std::string& checkpoint,
                                                    const std::stop_token& stop);
  void remove_parts(const Upload& upload, const std::stop_token& stop);
  void remove_unfinished(const std::string& name, const Upload& upload, double now,
                         const std::stop_token& stop);
  void put_parts(const std::string& upload, MirrorManifest& manifest,
                 std::span<const SourceFile> files, int num_parallel, const std::stop_token& stop);
  void put_manifest(const std::string& upload, const std::string& text,
                    const std::stop_token& stop);

  ObjectStore& store_;  // Not owned, like the clock.
  const S3Place place_;
  Clock& clock_;

  std::mutex mutex_;
  // By upload: they never change. Null for a damaged one, of which a warning was logged.
  std::map<std::string, std::shared_ptr<const MirrorManifest>> manifests_;
};

}  // namespace crochet::inline v0::cloud::internal
