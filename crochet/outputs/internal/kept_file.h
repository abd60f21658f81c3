// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/session/session.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// A copy of a file as it is between two steps, for one save.
class KeptFile final : public PendingCopies {
 public:
  // `temporary` is the path of the copy until the checkpoint has its name, and `name` that of the
  // file in checkpoints. Shares the file's bytes, if the file system can; otherwise the file must
  // not change before copy() returns.
  KeptFile(FileSystem& files, std::string path, std::string temporary, std::string name);
  ~KeptFile() override;

  // As file_copy.h describes. Has its values once copy() has returned.
  const Tensor& description() const { return description_; }

  // Copies, unless that is done. Thread-safe. Throws the file system's error, also in later calls.
  void copy();

  void wait() override { copy(); }
  // Gives the checkpoint its copy.
  void make_durable(const std::string& checkpoint) override;

 private:
  FileSystem& files_;  // Not owned; outlives this.
  const std::string path_;
  const std::string temporary_;
  const std::string name_;
  using Description = std::array<int64_t, 2>;
  Description* const numbers_;  // Owned by the tensor.
  const Tensor description_;

  std::mutex mutex_;  // Guards what follows.
  bool is_done_ = false;
  bool is_missing_ = false;
  std::exception_ptr error_;
};

}  // namespace crochet::inline v0::internal
