// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/external_bundle.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/bundle/internal/bundle_index.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/bundle/merge_bundles.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

std::string read_index(FileSystem& files, const std::string& prefix) {
  const std::string path = index_filename(prefix);
  if (!files.exists(path))
    throw UnseenFilesError(fmt::format(
        "{}: the saving operations have ended, but there is no such file: they write where they "
        "run, so all machines must share the directory",
        path));
  return read_untrusted_file(files, path, kMaxIndexBytes);
}

void remove_parts(FileSystem& files, const std::string& directory) {
  for (const std::string& name : files.list(directory)) files.remove(join_path(directory, name));
  files.remove(directory);
}

}  // namespace

ExternalBundle::ExternalBundle(std::shared_ptr<Directory> files, std::string final_prefix)
    : files_(std::move(files)),
      final_prefix_(std::move(final_prefix)),
      directory_(directory_of(final_prefix_)),
      prefix_(temporary_filename(final_prefix_)) {}

ExternalBundle::~ExternalBundle() {
  if (owner_.is_here()) remove_rest();
}

void ExternalBundle::open() {
  const std::string bytes = read_index(*files_, prefix_);
  const BundleIndex index = decode_bundle_index(bytes, index_filename(prefix_));
  const std::set<int> used = used_shards(index);
  num_shards_ = index.header.num_shards;
  num_bytes_ = bytes.size();
  index_crc32c_ = mask_crc32c(crc32c(bytes));
  staged_.emplace(*files_, final_prefix_);
  for (int shard = 0; shard < num_shards_; ++shard) {
    const std::string path = data_filename(prefix_, shard, num_shards_);
    if (files_->exists(path)) {
      num_bytes_ += files_->file_size(path);
      staged_->adopt(path, data_filename(final_prefix_, shard, num_shards_), is_synced_);
    } else if (used.contains(shard)) {
      throw UnseenFilesError(fmt::format(
          "{}: there is no such file, but its index needs it: all machines must share the "
          "directory",
          path));
    }
  }
  staged_->adopt(index_filename(prefix_), index_filename(final_prefix_), is_synced_);
}

void ExternalBundle::throw_if_failed() const {
  if (error_) std::rethrow_exception(error_);
}

void ExternalBundle::add(const std::vector<NamedTensor>& tensors) {
  if (tensors.empty() || !former_prefixes_.empty()) return;  // Done by an earlier attempt.
  sync();                                                    // The merge renames the files.
  try {
    merge(tensors);
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
}

void ExternalBundle::merge(const std::vector<NamedTensor>& tensors) {
  former_prefixes_ = {prefix_, temporary_filename(final_prefix_)};
  BundleWriter writer(*files_, former_prefixes_.back());
  for (const auto& [name, tensor] : tensors) writer.add(name, tensor);
  writer.finish();
  prefix_ = temporary_filename(final_prefix_);
  merge_bundles(*files_, former_prefixes_, prefix_);
  open();
}

// After a failed sync the content of the disk is unknown, even if a second one succeeds.
void ExternalBundle::sync() {
  throw_if_failed();
  if (is_synced_) return;
  try {
    staged_->sync();
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
  is_synced_ = true;
}

// Finds the files by name: their number is unknown if the operations have failed.
void ExternalBundle::remove_rest() noexcept {
  if (!files_) return;
  try {
    std::vector<std::string> rests = former_prefixes_;
    rests.push_back(prefix_);
    if (!files_->exists(directory_)) return;
    for (const std::string& name : files_->list(directory_))
      for (const std::string& rest : rests) {
        const std::string path = join_path(directory_, name);
        if (name.starts_with(base_name(rest) + ".")) files_->remove(path);
        if (name == base_name(rest) + std::string(kPartsSuffix)) remove_parts(*files_, path);
      }
  } catch (const std::exception& error) {
    log(Severity::kWarning, error.what());
  }
}

}  // namespace crochet::inline v0::internal
