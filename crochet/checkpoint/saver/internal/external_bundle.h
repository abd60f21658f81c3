// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/checkpoint/format/internal/staged_files.h"
#include "crochet/io/file_system.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// The operations have written their files where this process does not see them: in no directory
// would it see more.
class UnseenFilesError : public FailedPreconditionError {
 public:
  using FailedPreconditionError::FailedPreconditionError;
};

// A tensor bundle written by others, under a temporary name until it is published as a
// checkpoint: "<prefix>.tempstate<number>".
//
//   ExternalBundle stored(files.open_directory("runs/x"), "runs/x/model.ckpt-100");
//   operations.save(session, stored.prefix());
//   stored.open();
//   stored.sync();
//   stored.publish();
//
// Unpublished files are removed by the destructor. Not thread-safe.
class ExternalBundle {
 public:
  // `files` is its directory; null if it can only fail().
  ExternalBundle(std::shared_ptr<Directory> files, std::string final_prefix);
  // Never throws.
  ~ExternalBundle();
  ExternalBundle(const ExternalBundle&) = delete;
  ExternalBundle& operator=(const ExternalBundle&) = delete;

  // The prefix to write to.
  const std::string& prefix() const { return prefix_; }
  // The prefix of the published checkpoint.
  const std::string& final_prefix() const { return final_prefix_; }

  // Checks the written files. Throws: FailedPreconditionError if any are missing; DataLossError for
  // a damaged index.
  void open();
  // Called before if all of its files are durable already: then sync() has nothing to do.
  void set_synced() { is_synced_ = true; }
  // Called instead if it was not written; records the reason.
  void fail(std::exception_ptr error) { error_ = std::move(error); }
  const std::exception_ptr& error() const { return error_; }
  bool failed() const { return error_ != nullptr; }
  void throw_if_failed() const;

  // Adds tensors, in another data file. Requires: open(). Throws: what the file system throws,
  // after which it has failed; InvalidArgumentError for a name that it already contains.
  void add(const std::vector<NamedTensor>& tensors);

  // Returns once all bytes would survive a power cut. After an error it has failed.
  void sync();
  // Gives the files their final names. After an error it may be called again. Requires: sync().
  void publish() { staged_->publish(); }
  // True once the first file may have its final name.
  bool is_being_published() const { return staged_ && staged_->is_being_published(); }

  // The size of data and index. Requires: open().
  uint64_t num_bytes() const { return num_bytes_; }
  // The masked crc32c of the index file's bytes. Requires: open().
  uint32_t index_crc32c() const { return index_crc32c_; }
  int num_shards() const { return num_shards_; }

 private:
  void merge(const std::vector<NamedTensor>& tensors);
  void remove_rest() noexcept;

  const ProcessOwner owner_;  // Of the files.
  const std::shared_ptr<Directory> files_;
  const std::string final_prefix_;
  const std::string directory_;
  std::string prefix_;
  std::vector<std::string> former_prefixes_;  // Of the merged bundles.
  std::exception_ptr error_;
  int num_shards_ = 0;
  uint64_t num_bytes_ = 0;
  uint32_t index_crc32c_ = 0;
  bool is_synced_ = false;
  std::optional<StagedFiles> staged_;  // Set by open().
};

}  // namespace crochet::inline v0::internal
